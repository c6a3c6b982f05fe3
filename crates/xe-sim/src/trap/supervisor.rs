//! The loop that answers trapped calls. One thread: a wait never blocks it, its reply is parked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::courtesy::{Courtesy, LastCaller};
use super::files::Files;
use super::listener::Listener;
use super::others::{Other, Others};
use super::pace::Pace;
use super::remote::{self, Processes, RemoteMem, Shared};
use super::signals::Signals;
use super::spawn::Client;
use super::tree::Tree;
use super::{SimOutcome, sys};
use crate::arena::Arena;
use crate::client::{ClientExit, ProcessId, WaitId};
use crate::device::{Device, Next};
use crate::fault::FaultPlan;
use crate::profile::Profile;
use crate::trace::TraceSink;

/// After the command's own end, how long other processes under the filter are waited for.
const LINGER: Duration = Duration::from_secs(2);
/// Parked callers are asked this often whether a signal waits for them or they died.
const PARKED_TICK: Duration = Duration::from_millis(5);

/// Trace lines are handed on when nothing has happened for this long: a write for every request would double its cost.
const FLUSH_AFTER: Duration = Duration::from_millis(10);

/// With the device open, this often it is checked whether a file has been closed without anything else happening.
const SWEEP_TICK: Duration = Duration::from_millis(250);

/// A call whose reply waits for the device.
pub(super) struct Parked {
    pub call: u64,
    pub tid: u32,
}

pub(super) struct Supervisor {
    pub(super) shared: Rc<Shared>,
    pub(super) device: Device,
    pub(super) files: Files,
    pub(super) tree: Tree,
    pub(super) parked: HashMap<WaitId, Parked>,
    pub(super) told_foreign: bool,
    pub(super) last_caller: LastCaller,
    client: Client,
    signals: Signals,
    others: Rc<Others>,
    /// How the command ended, and when.
    ended: Option<(ClientExit, Instant)>,
    pace: Pace,
    /// When parked callers were last looked at, and when files last were.
    last_tick: Instant,
    last_sweep: Instant,
}

enum Turn {
    GoOn,
    Finished,
}

/// What a poll brought.
struct Seen {
    listener: PollFlags,
    /// Something of [`Others`].
    other: bool,
}

impl Supervisor {
    pub(super) fn new(
        profile: &'static Profile,
        arena: Arena,
        trace: TraceSink,
        faults: FaultPlan,
        tree: Tree,
        client: Client,
        signals: Signals,
    ) -> io::Result<Supervisor> {
        let files = Files::new(arena.fd())?;
        let listener = Listener::new(client.listener.try_clone()?);
        let others = Rc::new(Others::new()?);
        others.watch(Other::Signal, signals.fd())?;
        others.watch(Other::ClientEnded, client.pidfd.as_fd())?;
        let shared = Rc::new(Shared {
            listener,
            processes: RefCell::new(Processes::new(Rc::clone(&others))),
            device_file: files.arena(),
        });
        let memory = Box::new(RemoteMem(Rc::clone(&shared)));
        let mut device = Device::new(profile, arena, memory, trace, faults);
        let last_caller = LastCaller::default();
        device.attend(Courtesy::new(last_caller.clone(), signals.waiting()?));
        let now = Instant::now();
        Ok(Supervisor {
            shared,
            device,
            files,
            tree,
            parked: HashMap::new(),
            told_foreign: false,
            last_caller,
            client,
            signals,
            others,
            ended: None,
            pace: Pace::new(now),
            last_tick: now,
            last_sweep: now,
        })
    }

    /// Serves until the client is gone.
    pub(super) fn run(mut self) -> io::Result<SimOutcome> {
        // A sleep of 20 µs is not to become 70.
        let slack = sys::timer_slack();
        sys::set_timer_slack(1);
        let served = self.serve_all();
        sys::set_timer_slack(slack);
        served?;
        let exit = self.ended.map_or(ClientExit::default(), |(exit, _)| exit);
        let summary = self.device.finish(exit);
        Ok(SimOutcome { exit, summary, trace_trouble: self.device.trace_trouble() })
    }

    fn serve_all(&mut self) -> io::Result<()> {
        loop {
            let progress = self.device.advance();
            for (wait, result) in progress.finished {
                self.end_wait(wait, result.map_err(|e| e.0))?;
            }
            let now = Instant::now();
            if progress.advanced {
                self.pace.happened(now);
            }
            // What watches memory goes on while the client runs, if there is a processor for each.
            self.shared.listener.wake_here(progress.next != Next::Poll || self.pace.crowded(now));
            let timeout = self.timeout(progress.next, now);
            if let Turn::Finished = self.turn(timeout)? {
                return Ok(());
            }
        }
    }

    /// How long the poll may sleep; `None`: until something comes.
    fn timeout(&mut self, next: Next, now: Instant) -> Option<Duration> {
        let mut timeout = match next {
            Next::Idle => None,
            Next::At(when) => Some(when.saturating_duration_since(now)),
            Next::Poll => Some(self.pace.sleep(now, std::thread::yield_now)),
        };
        let mut at_most = |limit: Duration| timeout = Some(timeout.map_or(limit, |t| t.min(limit)));
        if !self.parked.is_empty() {
            at_most(PARKED_TICK);
        }
        if !self.files.is_empty() {
            at_most(SWEEP_TICK);
        }
        if self.device.trace_waits() {
            at_most(FLUSH_AFTER);
        }
        if let Some((_, when)) = self.ended {
            at_most(LINGER.saturating_sub(now.duration_since(when)));
        }
        timeout
    }

    /// One poll and what it brought.
    fn turn(&mut self, timeout: Option<Duration>) -> io::Result<Turn> {
        let shared = Rc::clone(&self.shared);
        let seen = self.poll(&shared, timeout)?;
        if seen.listener.contains(PollFlags::POLLIN) {
            self.pace.happened(Instant::now());
            if let Some(call) = shared.listener.receive()? {
                self.serve(&call)?;
                shared.listener.done();
            }
        }
        if seen.other {
            for other in self.others.come()? {
                match other {
                    Other::Signal => self.signals.pass_on(self.client.pid),
                    Other::Gone(process) => self.forget(process),
                    Other::ClientEnded => self.client_ended(),
                }
            }
        }
        self.tick()?;
        let nobody_left = seen.listener.contains(PollFlags::POLLHUP);
        let lingered = self.ended.is_some_and(|(_, when)| when.elapsed() >= LINGER);
        Ok(if self.ended.is_some() && (nobody_left || lingered) { Turn::Finished } else { Turn::GoOn })
    }

    fn poll(&self, shared: &Shared, timeout: Option<Duration>) -> io::Result<Seen> {
        let mut fds = [
            PollFd::new(shared.listener.fd(), PollFlags::POLLIN),
            PollFd::new(self.others.fd(), PollFlags::POLLIN),
        ];
        match ppoll(&mut fds, timeout.map(TimeSpec::from), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let [listener, other] = fds.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
        Ok(Seen { listener, other: other.contains(PollFlags::POLLIN) })
    }

    /// What is looked at by time.
    fn tick(&mut self) -> io::Result<()> {
        if !self.parked.is_empty() && self.last_tick.elapsed() >= PARKED_TICK {
            self.look_at_parked()?;
            self.last_tick = Instant::now();
        }
        let idle = self.pace.idle(Instant::now());
        if idle >= FLUSH_AFTER && self.device.trace_waits() {
            self.device.flush_trace();
        }
        // Not in the middle of traffic: after a sweep the next request is slower.
        let quiet = idle >= SWEEP_TICK && self.last_sweep.elapsed() >= SWEEP_TICK;
        if quiet && !self.files.is_empty() {
            self.close_unused();
        }
        Ok(())
    }

    fn client_ended(&mut self) {
        if let Some(exit) = self.reap() {
            self.others.forget(self.client.pidfd.as_fd());
            self.ended = Some((exit, Instant::now()));
        }
    }

    fn reap(&self) -> Option<ClientExit> {
        match waitpid(Pid::from_raw(self.client.pid as i32), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => Some(ClientExit { code: Some(code), signal: None }),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Some(ClientExit { code: None, signal: Some(signal as i32) })
            }
            Ok(_) => None,
            // Someone else has reaped it: how it ended is not known.
            Err(_) => Some(ClientExit::default()),
        }
    }

    fn forget(&mut self, process: ProcessId) {
        self.shared.processes.borrow_mut().forget(process);
        self.close_unused();
        self.device.process_gone(process);
    }

    /// Closes the files whose last descriptor and mapping is gone.
    pub(super) fn close_unused(&mut self) {
        self.last_sweep = Instant::now();
        for file in self.files.sweep() {
            self.device.close(file);
        }
    }

    fn end_wait(&mut self, wait: WaitId, result: Result<i64, i32>) -> io::Result<()> {
        if let Some(parked) = self.parked.remove(&wait) {
            self.shared.listener.reply(parked.call, result)?;
        }
        Ok(())
    }

    /// A parked caller that died is forgotten; one that a signal waits for gets EINTR, so that it can act on it.
    fn look_at_parked(&mut self) -> io::Result<()> {
        let listener = &self.shared.listener;
        let over: Vec<WaitId> = self
            .parked
            .iter()
            .filter(|(_, p)| !listener.is_valid(p.call) || remote::signal_waits(p.tid))
            .map(|(wait, _)| *wait)
            .collect();
        for wait in over {
            self.device.cancel_wait(wait);
            self.end_wait(wait, Err(super::listener::EINTR))?;
        }
        Ok(())
    }
}
