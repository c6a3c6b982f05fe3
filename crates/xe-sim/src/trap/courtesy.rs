//! While a dispatch is executed, the thread that waits for it gives way.
//!
//! A driver waits for a fence by looking at it without a pause. Where several simulations share the processors, that takes
//! time from the very dispatch that is waited for. What else the thread would do then is little: its next request waits,
//! too.

use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::sys;
use crate::client::Caller;
use crate::device::Attendant;

const NICEST: i32 = 19;

/// The thread whose request came last.
#[derive(Clone, Default)]
pub(super) struct LastCaller(Arc<AtomicU64>);

impl LastCaller {
    pub(super) fn is(&self, caller: &Caller) {
        self.0.store(u64::from(caller.process.0) << 32 | u64::from(caller.thread), Ordering::Relaxed);
    }

    /// Ids of its process and its own, if it still is.
    fn ids(&self) -> Option<(u32, u32)> {
        let both = self.0.load(Ordering::Relaxed);
        let (process, thread) = ((both >> 32) as u32, both as u32);
        (thread != 0 && sys::is_thread_of(process, thread)).then_some((process, thread))
    }
}

/// Who gives way, and what is put back.
struct GivesWay {
    process: u32,
    thread: u32,
    /// Its own niceness.
    own: i32,
    /// Threads of the process before: one that it starts meanwhile is as nice as it is then.
    threads: u64,
}

impl GivesWay {
    fn put_back(self) {
        // An error: it has ended.
        let _ = sys::set_niceness(self.thread, self.own);
        if threads(self.process) == self.threads {
            return;
        }
        for thread in tasks(self.process) {
            if sys::niceness(thread).is_ok_and(|nice| nice == NICEST) {
                let _ = sys::set_niceness(thread, self.own);
            }
        }
    }
}

/// A directory has a link for each of those in it, and two of its own.
fn threads(process: u32) -> u64 {
    std::fs::metadata(format!("/proc/{process}/task")).map_or(0, |task| task.nlink())
}

fn tasks(process: u32) -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(super) struct Courtesy<E> {
    caller: LastCaller,
    ended: E,
    /// Niceness can be taken back: that is a privilege. A client that stays nice would starve on a busy machine.
    may: bool,
    gives_way: Mutex<Option<GivesWay>>,
}

impl<E: Fn() -> bool + Send + Sync> Courtesy<E> {
    pub(super) fn new(caller: LastCaller, ended: E) -> Courtesy<E> {
        Courtesy { caller, ended, may: may_take_back(), gives_way: Mutex::new(None) }
    }
}

/// Tried on a thread of our own.
fn may_take_back() -> bool {
    let attempt = || {
        let own = sys::niceness(0)?;
        sys::set_niceness(0, own + 1)?;
        sys::set_niceness(0, own)
    };
    std::thread::spawn(attempt).join().is_ok_and(|done| done.is_ok())
}

impl<E: Fn() -> bool + Send + Sync> Attendant for Courtesy<E> {
    fn ended(&self) -> bool {
        (self.ended)()
    }

    fn begins(&self) {
        if !self.may {
            return;
        }
        let Some((process, thread)) = self.caller.ids() else { return };
        let threads = threads(process);
        if let Ok(own) = sys::niceness(thread)
            && sys::set_niceness(thread, NICEST).is_ok()
        {
            let gives_way = GivesWay { process, thread, own, threads };
            *self.gives_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(gives_way);
        }
    }

    fn is_over(&self) {
        if let Some(gives_way) = self.gives_way.lock().unwrap_or_else(PoisonError::into_inner).take() {
            gives_way.put_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{FileId, ProcessId};

    #[test]
    fn the_caller_gives_way_as_long_as_a_dispatch_is_executed() {
        let last = LastCaller::default();
        let courtesy = Courtesy::new(last.clone(), || false);
        courtesy.begins();
        assert!(courtesy.gives_way.lock().unwrap().is_none(), "nobody has asked for anything");
        courtesy.is_over();
        let (tell, told) = std::sync::mpsc::channel();
        let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
        let me = || nix::unistd::gettid().as_raw() as u32;
        let caller = std::thread::spawn(move || {
            tell.send(me()).unwrap();
            goes_on.recv().unwrap();
            let tell_own = tell.clone();
            let (end, ends) = std::sync::mpsc::channel::<()>();
            let started = std::thread::spawn(move || {
                tell_own.send(me()).unwrap();
                let _ = ends.recv();
            });
            let _ = goes_on.recv();
            drop(end);
            started.join().unwrap();
        });
        let thread = told.recv().unwrap();
        last.is(&Caller { file: FileId(1), process: ProcessId(std::process::id()), thread });
        let own = sys::niceness(thread).unwrap();
        courtesy.begins();
        // Without the privilege nothing changes.
        let expected = if may_take_back() { 19 } else { own };
        assert_eq!(sys::niceness(thread).unwrap(), expected);
        assert_eq!(sys::niceness(0).unwrap(), own, "not the whole process");
        go_on.send(()).unwrap();
        let started = told.recv().unwrap();
        assert_eq!(sys::niceness(started).unwrap(), expected, "as the one that starts it");
        courtesy.is_over();
        assert_eq!(sys::niceness(thread).unwrap(), own);
        assert_eq!(sys::niceness(started).unwrap(), own);
        drop(go_on);
        caller.join().unwrap();
    }
}
