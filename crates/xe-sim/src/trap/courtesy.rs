//! While a dispatch is executed, the thread that waits for it gives way.
//!
//! A driver waits for a fence by looking at it without a pause. Where several simulations share the processors, that takes
//! time from the very dispatch that is waited for. What else the thread would do then is little: its next request waits,
//! too.

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

    /// Its id, if it still is.
    fn thread(&self) -> Option<u32> {
        let both = self.0.load(Ordering::Relaxed);
        let (process, thread) = ((both >> 32) as u32, both as u32);
        (thread != 0 && sys::is_thread_of(process, thread)).then_some(thread)
    }
}

pub(super) struct Courtesy<E> {
    caller: LastCaller,
    ended: E,
    /// Niceness can be taken back: that is a privilege. A client that stays nice would starve on a busy machine.
    may: bool,
    /// Who gives way, and its own niceness.
    gives_way: Mutex<Option<(u32, i32)>>,
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
        let Some(thread) = self.caller.thread() else { return };
        if let Ok(own) = sys::niceness(thread)
            && sys::set_niceness(thread, NICEST).is_ok()
        {
            *self.gives_way.lock().unwrap_or_else(PoisonError::into_inner) = Some((thread, own));
        }
    }

    fn is_over(&self) {
        if let Some((thread, own)) = self.gives_way.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // An error: it has ended.
            let _ = sys::set_niceness(thread, own);
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
        let caller = std::thread::spawn(move || {
            tell.send(nix::unistd::gettid().as_raw() as u32).unwrap();
            let _ = goes_on.recv();
        });
        let thread = told.recv().unwrap();
        last.is(&Caller { file: FileId(1), process: ProcessId(std::process::id()), thread });
        let own = sys::niceness(thread).unwrap();
        courtesy.begins();
        // Without the privilege nothing changes.
        let expected = if may_take_back() { 19 } else { own };
        assert_eq!(sys::niceness(thread).unwrap(), expected);
        assert_eq!(sys::niceness(0).unwrap(), own, "not the whole process");
        courtesy.is_over();
        assert_eq!(sys::niceness(thread).unwrap(), own);
        drop(go_on);
        caller.join().unwrap();
    }
}
