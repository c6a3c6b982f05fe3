//! One switch that stops everything: set by SIGINT or SIGTERM, seen by every wait.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Shared stop request. Once asked it stays so. Asked twice means: do not wait for a graceful end.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    asked: AtomicU8,
    /// Readable for ever once asked: the byte is never read, so any number of polls wake.
    read: OwnedFd,
    write: OwnedFd,
}

impl Cancel {
    pub fn new() -> io::Result<Self> {
        let flags = nix::fcntl::OFlag::O_CLOEXEC | nix::fcntl::OFlag::O_NONBLOCK;
        let (read, write) = nix::unistd::pipe2(flags)?;
        Ok(Cancel(Arc::new(Inner { asked: AtomicU8::new(0), read, write })))
    }

    /// Asks for the stop; the second call asks for haste.
    pub fn ask(&self) {
        let before = self.0.asked.fetch_add(1, Ordering::SeqCst);
        if before < 2 {
            // A full pipe is as readable as one byte.
            let _ = nix::unistd::write(&self.0.write, b"!");
        }
        if before > 100 {
            self.0.asked.store(2, Ordering::SeqCst);
        }
    }

    pub fn asked(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) > 0
    }

    pub fn hurry(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst) > 1
    }

    /// Readable once the stop was asked for.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.read.as_fd()
    }

    /// Asks on SIGINT and SIGTERM, for the rest of the process's life.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut signals =
            signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])?;
        let cancel = self.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for _ in signals.forever() {
                cancel.ask();
            }
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    #[test]
    fn asked_wakes_every_poll_and_stays() {
        let cancel = Cancel::new().unwrap();
        let ready = |c: &Cancel| {
            let mut fds = [PollFd::new(c.fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
        };
        assert!(!ready(&cancel) && !cancel.asked());
        cancel.ask();
        assert!(ready(&cancel) && ready(&cancel.clone()) && cancel.asked() && !cancel.hurry());
        cancel.ask();
        assert!(cancel.hurry());
    }
}
