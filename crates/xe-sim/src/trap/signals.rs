//! Signals that end the supervisor's client rather than the supervisor.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpgid, getpgrp};

/// SIGTERM, SIGINT and SIGHUP of the calling thread, read from a descriptor as long as this lives.
pub(super) struct Signals {
    fd: SignalFd,
    former: SigSet,
}

impl Signals {
    pub(super) fn take() -> io::Result<Signals> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            mask.add(signal);
        }
        let fd = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let mut former = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&mask), Some(&mut former))?;
        Ok(Signals { fd, former })
    }

    /// The thread's mask before, which the client gets.
    pub(super) fn former_mask(&self) -> &SigSet {
        &self.former
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Whether one has come that was not passed on yet; for other threads, too.
    pub(super) fn waiting(&self) -> io::Result<impl Fn() -> bool + Send + Sync + 'static> {
        let fd = self.fd.as_fd().try_clone_to_owned()?;
        Ok(move || {
            let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
        })
    }

    /// Sends what has come to the client. A signal that the terminal sent to the whole foreground group has reached
    /// a client of our own group already.
    pub(super) fn pass_on(&mut self, client: u32) {
        let client = Pid::from_raw(client as i32);
        while let Ok(Some(info)) = self.fd.read_signal() {
            let from_terminal = info.ssi_code == libc::SI_KERNEL;
            if from_terminal && getpgid(Some(client)) == Ok(getpgrp()) {
                continue;
            }
            if let Ok(signal) = Signal::try_from(info.ssi_signo as i32) {
                // It may just have ended.
                let _ = kill(client, signal);
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.former), None);
    }
}
