//! Runs one [`RunSpec`] to its end: one loop that polls the leader, the pipes, the clock and the stop request.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, Instant, SystemTime};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::model::verdict::RunEnd;

use super::cancel::Cancel;
use crate::model::repro::HANDSHAKE_PHASE;

use super::maps::{self, NoMaps};
use super::spawn::{Spawned, spawn};
use super::spec::{Leftover, MapsSnapshot, RawRun, ResultBytes, RunSpec, Usage};
use super::stop::{self, Stage, Why};
use super::{proctree, sys};

/// How long KILL may take before a process is reported as one that would not die (uninterruptible sleep).
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// How long the simulated device and strace have to write out what they saw, once the program they watched was killed.
const WRITE_OUT: Duration = Duration::from_secs(5);

/// Runs `spec` and returns when its leader has ended and everything that came of it is gone or reported.
///
/// Must be called from a thread that lives until it returns: the child's death signal is tied to the thread.
pub fn execute(spec: &RunSpec, cancel: &Cancel) -> RawRun {
    static SUBREAPER: Once = Once::new();
    // Without it (never seen to fail) orphans in a session of their own would go to init, unseen.
    SUBREAPER.call_once(|| {
        let _ = sys::become_subreaper();
    });
    let started = SystemTime::now();
    let started_ns = sys::monotonic_ns();
    let clock = Instant::now();
    let spawned = match spawn(spec) {
        Ok(spawned) => spawned,
        Err(e) => {
            return RawRun::spawn_failed(
                spec,
                e.error.raw_os_error().unwrap_or(0),
                format!("{}: {}", e.what, e.error),
            );
        }
    };
    let mut watch = Watch {
        spec,
        cancel,
        clock,
        run: spawned,
        stage: Stage::Running,
        activity: Activity::new(spec.trace.as_deref()),
        phases: Vec::new(),
        maps: Vec::new(),
        maps_problem: None,
    };
    watch.until_leader_ends();
    let (leaked, survivors, reaped) = watch.wind_up();
    let ended_ns = sys::monotonic_ns();
    let after = clock.elapsed();
    let end = watch.end(reaped.map(|(ended, _)| ended), after);
    let Spawned { stdout, stderr, result, .. } = watch.run;
    RawRun {
        end,
        started,
        started_ns,
        ended_ns,
        wall: after,
        usage: reaped.map(|(_, usage)| usage),
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        result: ResultBytes { bytes: result.bytes, overflow: result.overflow },
        maps_problem: if watch.maps.is_empty() { watch.maps_problem } else { None },
        maps: watch.maps,
        trace: spec.trace.clone(),
        strace: spec.strace.clone(),
        kernel_log: None,
        xe_trace: None,
        leaked,
        survivors,
    }
}

/// Last sign of life: output, or growth of the device trace.
struct Activity<'a> {
    at: Instant,
    trace: Option<&'a Path>,
    trace_len: u64,
}

impl<'a> Activity<'a> {
    fn new(trace: Option<&'a Path>) -> Self {
        Activity { at: Instant::now(), trace, trace_len: 0 }
    }

    fn look_at_trace(&mut self) {
        let len = self.trace.and_then(|path| fs::metadata(path).ok()).map_or(0, |m| m.len());
        if len != self.trace_len {
            self.trace_len = len;
            self.at = Instant::now();
        }
    }
}

struct Watch<'a> {
    spec: &'a RunSpec,
    cancel: &'a Cancel,
    clock: Instant,
    run: Spawned,
    stage: Stage,
    activity: Activity<'a>,
    /// Phases whose marker was seen, in order.
    phases: Vec<String>,
    maps: Vec<MapsSnapshot>,
    maps_problem: Option<String>,
}

impl Watch<'_> {
    fn until_leader_ends(&mut self) {
        loop {
            self.check_clock();
            let leader_ended = self.wait(self.next_wake(), true);
            self.drain();
            if leader_ended && sys::has_ended(self.run.pidfd.as_fd()).unwrap_or(true) {
                return;
            }
            if let Stage::Killed { give_up_at, .. } = self.stage
                && Instant::now() >= give_up_at
            {
                return;
            }
        }
    }

    /// Moves the stage forward as time and requests ask for.
    fn check_clock(&mut self) {
        let now = Instant::now();
        match self.stage {
            Stage::Running => {
                if let Some(why) = self.reason_to_stop(now) {
                    // The last chance to prove which driver it was that hangs.
                    self.take_maps("stop");
                    stop::ask(self.run.pid);
                    self.stage = Stage::Asked { why, kill_at: now + self.spec.limits.grace };
                }
            }
            Stage::Asked { why, kill_at } => {
                if now >= kill_at || self.cancel.hurry() {
                    let wrappers =
                        usize::from(self.spec.trace.is_some()) + usize::from(self.spec.strace.is_some());
                    self.stage = if wrappers == 0 || self.cancel.hurry() {
                        self.kill(why)
                    } else {
                        stop::kill_watched(self.run.pid, wrappers, &self.spec.token);
                        Stage::ClientKilled { why, kill_at: now + WRITE_OUT }
                    };
                }
            }
            Stage::ClientKilled { why, kill_at } => {
                if now >= kill_at || self.cancel.hurry() {
                    self.stage = self.kill(why);
                }
            }
            Stage::Killed { .. } => {}
        }
    }

    fn kill(&self, why: Why) -> Stage {
        stop::kill_all(self.run.pid);
        Stage::Killed { why, give_up_at: Instant::now() + KILL_PATIENCE }
    }

    fn reason_to_stop(&mut self, now: Instant) -> Option<Why> {
        if self.cancel.asked() {
            return Some(Why::Interrupted);
        }
        if self.run.stdout.bytes() + self.run.stderr.bytes() > self.spec.limits.output_cap {
            return Some(Why::Flood);
        }
        if now.duration_since(self.clock) >= self.spec.limits.timeout {
            return Some(Why::Timeout);
        }
        let limit = self.spec.limits.inactivity?;
        self.activity.look_at_trace();
        (self.activity.at + limit <= now).then_some(Why::Inactive)
    }

    fn next_wake(&self) -> Duration {
        let now = Instant::now();
        let at = self.stage.deadline().unwrap_or_else(|| {
            let end = self.clock + self.spec.limits.timeout;
            match self.spec.limits.inactivity {
                // A quarter of the limit bounds how late growth of the trace is noticed.
                Some(limit) => end.min(self.activity.at + limit).min(now + limit / 4),
                None => end,
            }
        });
        at.saturating_duration_since(now)
    }

    /// Waits for something to happen. True if the leader has ended.
    fn wait(&self, at_most: Duration, with_cancel: bool) -> bool {
        let mut fds = vec![PollFd::new(self.run.pidfd.as_fd(), PollFlags::POLLIN)];
        for fd in [self.run.stdout.fd(), self.run.stderr.fd(), self.run.result.fd()].into_iter().flatten() {
            fds.push(PollFd::new(fd, PollFlags::POLLIN));
        }
        // Level-triggered: once asked it would wake every turn, so it is watched only while it can change something.
        let ignore = match self.stage {
            Stage::Running => false,
            Stage::Asked { .. } | Stage::ClientKilled { .. } => self.cancel.asked() && !self.cancel.hurry(),
            Stage::Killed { .. } => true,
        };
        if with_cancel && !ignore {
            fds.push(PollFd::new(self.cancel.fd(), PollFlags::POLLIN));
        }
        // Rounded up: waking a moment early would spin.
        let mut millis = at_most.as_millis().saturating_add(1).min(60_000);
        if ignore {
            // A second request for haste makes no new edge.
            millis = millis.min(100);
        }
        let timeout = PollTimeout::try_from(millis as i32).unwrap_or(PollTimeout::MAX);
        // EINTR is a wake like any other.
        let _ = poll(&mut fds, timeout);
        fds.first().and_then(|fd| fd.any()).unwrap_or(false)
    }

    fn drain(&mut self) -> bool {
        let mut seen = Vec::new();
        let a = self.run.stdout.turn(&mut seen);
        let b = self.run.stderr.turn(&mut seen);
        let c = self.run.result.turn();
        if a || b || c {
            self.activity.at = Instant::now();
        }
        for phase in seen {
            // Each marker comes on both streams.
            if !self.phases.contains(&phase) {
                self.phases.push(phase.clone());
                if phase != "set_up" {
                    self.take_maps(&phase);
                }
                if phase == HANDSHAKE_PHASE {
                    self.run.result.let_go_on();
                }
            }
        }
        a || b || c
    }

    fn take_maps(&mut self, when: &str) {
        let Some(library) = self.spec.client_library.as_deref() else { return };
        match maps::snapshot(self.run.pid, library, when) {
            Ok(snapshot) => self.maps.push(snapshot),
            Err(NoMaps::NotLoaded) => {
                self.maps_problem
                    .get_or_insert(format!("no process of the run had {library} mapped at \"{when}\""));
            }
            Err(NoMaps::Refused { pid, why }) => {
                self.maps_problem = Some(format!("/proc/{pid}/maps: {why}"));
            }
        }
    }

    fn pipes_open(&self) -> bool {
        self.run.stdout.is_open() || self.run.stderr.is_open() || self.run.result.is_open()
    }

    /// After the leader's end: the rest of the output, whoever is still there, and the leader's status.
    fn wind_up(&mut self) -> (Vec<Leftover>, Vec<Leftover>, Option<(sys::Ended, Usage)>) {
        let until = Instant::now() + self.spec.limits.drain;
        // What the leader wrote is in the pipes by now; only another holder can keep them open.
        while self.pipes_open() && !self.cancel.hurry() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.wait_pipes(left);
            self.drain();
        }
        // The unreaped leader still holds its process group id: nobody else can be hit.
        let leaked = proctree::leftovers(self.run.pid, &self.spec.token);
        let survivors = if leaked.is_empty() {
            Vec::new()
        } else {
            stop::kill_all(self.run.pid);
            stop::end_leftovers(&leaked, KILL_PATIENCE)
        };
        self.drain();
        self.run.stdout.abandon();
        self.run.stderr.abandon();
        self.run.result.abandon();
        let reaped = sys::reap(self.run.pid).ok().flatten();
        let mut survivors = survivors;
        if reaped.is_none() {
            survivors.push(Leftover { pid: self.run.pid, name: "leader".into() });
        }
        (leaked, survivors, reaped)
    }

    fn wait_pipes(&self, at_most: Duration) {
        let mut fds: Vec<PollFd<'_>> = [self.run.stdout.fd(), self.run.stderr.fd(), self.run.result.fd()]
            .into_iter()
            .flatten()
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let millis = at_most.as_millis().saturating_add(1).min(60_000) as i32;
        let _ = poll(&mut fds, PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX));
    }

    fn end(&self, ended: Option<sys::Ended>, after: Duration) -> RunEnd {
        match (self.stage.why(), ended) {
            (Some((Why::Timeout, killed)), _) => RunEnd::TimedOut { after, killed },
            (Some((Why::Inactive, killed)), _) => RunEnd::Inactive { after, killed },
            (Some((Why::Flood, _)), _) => {
                RunEnd::OutputFlood { bytes: self.run.stdout.bytes() + self.run.stderr.bytes() }
            }
            (Some((Why::Interrupted, _)), _) => RunEnd::Interrupted,
            (None, Some(sys::Ended::Code(code))) => RunEnd::Exited { code },
            (None, Some(sys::Ended::Signal { signal, core_dumped })) => {
                RunEnd::Signaled { signal, core_dumped }
            }
            // Somebody else reaped our child: its status is lost.
            (None, None) => {
                RunEnd::SpawnFailed { errno: libc::ECHILD, what: "the run's exit status was lost".into() }
            }
        }
    }
}
