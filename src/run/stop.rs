//! How a run is brought to its end: TERM to the group, grace, KILL to the program and then to everything, and who would
//! not die.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::proctree;
use super::spec::Leftover;
use super::sys;

/// Why the harness stops a run that has not ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    Timeout,
    Inactive,
    Flood,
    Interrupted,
}

/// Where a run is on its way to the end.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    Running,
    /// TERM was sent.
    Asked {
        why: Why,
        kill_at: Instant,
    },
    /// KILL was sent to the program; those that watch it from outside may still write out what they saw.
    ClientKilled {
        why: Why,
        kill_at: Instant,
    },
    /// KILL was sent to the group.
    Killed {
        why: Why,
        give_up_at: Instant,
    },
}

impl Stage {
    pub fn why(&self) -> Option<(Why, bool)> {
        match *self {
            Stage::Running => None,
            Stage::Asked { why, .. } => Some((why, false)),
            Stage::ClientKilled { why, .. } | Stage::Killed { why, .. } => Some((why, true)),
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match *self {
            Stage::Running => None,
            Stage::Asked { kill_at, .. } | Stage::ClientKilled { kill_at, .. } => Some(kill_at),
            Stage::Killed { give_up_at, .. } => Some(give_up_at),
        }
    }
}

/// TERM to the leader's group. The leader is unreaped, so the id is still its own.
pub fn ask(leader: u32) {
    let _ = killpg(pid_of(leader), Signal::SIGTERM);
}

/// KILL to the run's processes save its `wrappers`: the leader, and each the only child of the one before it.
pub fn kill_watched(leader: u32, wrappers: usize, token: &str) {
    let mut watching = vec![leader];
    while watching.len() < wrappers {
        // One that is gone, or not begun: then what there is below the other is the program.
        let Some(inner) = watching.last().copied().and_then(proctree::only_child) else { break };
        watching.push(inner);
    }
    // What ignores TERM below a process that died of it is below the leader no longer.
    let orphans = proctree::leftovers(leader, token).into_iter().map(|process| process.pid);
    for pid in proctree::with_descendants(leader).into_iter().chain(orphans) {
        if !watching.contains(&pid) {
            let _ = kill(pid_of(pid), Signal::SIGKILL);
        }
    }
}

/// KILL to the leader's group and to every descendant that left it.
pub fn kill_all(leader: u32) {
    // Descendants first: once the leader is gone the tree is torn.
    let below = proctree::with_descendants(leader);
    let _ = killpg(pid_of(leader), Signal::SIGKILL);
    for pid in below {
        if pid != leader {
            let _ = kill(pid_of(pid), Signal::SIGKILL);
        }
    }
}

/// Ends and reaps processes that outlived the leader. Returns those that are still alive after `patience`.
pub fn end_leftovers(leftovers: &[Leftover], patience: Duration) -> Vec<Leftover> {
    for process in leftovers {
        let _ = kill(pid_of(process.pid), Signal::SIGKILL);
    }
    let until = Instant::now() + patience;
    loop {
        let alive: Vec<Leftover> = leftovers
            .iter()
            .filter(|process| {
                // Orphans are ours to reap (subreaper); others answer ECHILD.
                !matches!(sys::reap(process.pid), Ok(Some(_))) && proctree::is_alive(process.pid)
            })
            .cloned()
            .collect();
        if alive.is_empty() || Instant::now() >= until {
            return alive;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(pid as i32)
}
