//! What the supervisor waits for besides calls: signals, the end of the command, the ends of processes.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::client::ProcessId;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Signal,
    ClientEnded,
    Gone(ProcessId),
}

impl Other {
    /// Above all process ids.
    const SIGNAL: u64 = 1 << 32;
    const CLIENT_ENDED: u64 = 2 << 32;

    fn token(self) -> u64 {
        match self {
            Other::Signal => Other::SIGNAL,
            Other::ClientEnded => Other::CLIENT_ENDED,
            Other::Gone(process) => process.0.into(),
        }
    }

    fn of_token(token: u64) -> Option<Other> {
        match token {
            Other::SIGNAL => Some(Other::Signal),
            Other::CLIENT_ENDED => Some(Other::ClientEnded),
            process => u32::try_from(process).ok().map(|process| Other::Gone(ProcessId(process))),
        }
    }
}

/// All of them behind one descriptor: each call ends a poll, and what a poll costs grows with its descriptors.
pub(super) struct Others(Epoll);

impl Others {
    pub(super) fn new() -> io::Result<Others> {
        Ok(Others(Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?))
    }

    /// `fd` is readable from then on that it has come; closing it ends the watch.
    pub(super) fn watch(&self, other: Other, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.0.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, other.token()))?)
    }

    /// Not to be told again of what stays readable.
    pub(super) fn forget(&self, fd: BorrowedFd<'_>) {
        // An error: it was not watched.
        let _ = self.0.delete(fd);
    }

    /// Readable if something has come.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }

    /// What has come, some of it if it is much: then there is more the next time.
    pub(super) fn come(&self) -> io::Result<Vec<Other>> {
        let mut events = [EpollEvent::empty(); 16];
        let n = self.0.wait(&mut events, EpollTimeout::ZERO)?;
        Ok(events.iter().take(n).filter_map(|event| Other::of_token(event.data())).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_is_told_however_many_there_are_and_not_again_once_it_is_closed() {
        let others = Others::new().unwrap();
        let mut watched: BTreeMap<u32, _> =
            (0..20).map(|process| (process, std::io::pipe().unwrap())).collect();
        for (process, (end, _)) in &watched {
            others.watch(Other::Gone(ProcessId(*process)), end.as_fd()).unwrap();
        }
        assert_eq!(others.come().unwrap(), []);
        for (_, other_end) in watched.values_mut() {
            other_end.write_all(b"x").unwrap();
        }
        while !watched.is_empty() {
            let come = others.come().unwrap();
            assert!(!come.is_empty(), "{} were not told", watched.len());
            for other in come {
                let Other::Gone(process) = other else { panic!("{other:?}") };
                assert!(watched.remove(&process.0).is_some(), "{process:?} was told before");
            }
        }
        assert_eq!(others.come().unwrap(), []);
    }

    #[test]
    fn what_is_forgotten_may_stay_readable() {
        let (others, (end, mut other_end)) = (Others::new().unwrap(), std::io::pipe().unwrap());
        others.watch(Other::ClientEnded, end.as_fd()).unwrap();
        other_end.write_all(b"x").unwrap();
        assert_eq!(others.come().unwrap(), [Other::ClientEnded]);
        others.forget(end.as_fd());
        assert_eq!(others.come().unwrap(), []);
    }
}
