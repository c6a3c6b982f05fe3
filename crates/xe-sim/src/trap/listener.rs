//! The supervisor's end of the notification channel, without unsafe code.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::sys;

/// For so long after it was seen a thread id is taken to mean the same thread, if there is one. It is given again only after
/// all others have been: tens of thousands of new threads.
pub(super) const TRUSTED: Duration = Duration::from_millis(1);

/// `ERESTARTSYS` and friends never reach a client; this is what an interrupted request answers.
pub(super) const EINTR: i32 = libc::EINTR;

/// One trapped system call.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// The kernel's cookie; a reply to a call whose thread died is refused.
    pub id: u64,
    /// Thread id in our pid namespace; 0 if the thread lives outside it.
    pub tid: u32,
    pub nr: i64,
    pub args: [u64; 6],
    pub foreign: bool,
}

impl Call {
    /// Argument `i` as the kernel reads an `int`.
    pub(super) fn int(&self, i: usize) -> i32 {
        self.args.get(i).map_or(0, |a| *a as i32)
    }

    pub(super) fn ptr(&self, i: usize) -> u64 {
        self.args.get(i).copied().unwrap_or(0)
    }
}

/// How a call was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Yes,
    /// The caller got an errno in place of a descriptor.
    Refused,
    /// The caller died in the meantime.
    CallerGone,
}

pub(super) struct Listener {
    fd: OwnedFd,
    /// Id of the call being served, for validity checks after remote reads; 0 = none.
    current: Cell<u64>,
    /// When it was found to be valid: when it was taken, at first.
    checked: Cell<Option<Instant>>,
    wakes_here: Cell<bool>,
}

impl Listener {
    pub(super) fn new(fd: OwnedFd) -> Listener {
        let listener =
            Listener { fd, current: Cell::new(0), checked: Cell::new(None), wakes_here: Cell::new(false) };
        listener.wake_here(true);
        listener
    }

    /// `true`: replies wake the client on this CPU, which is quickest if we sleep next. `false`: on another one, if there is
    /// one, so that both can go on.
    pub(super) fn wake_here(&self, here: bool) {
        if self.wakes_here.replace(here) != here {
            // Where the kernel does not know it, replies are only slower.
            let _ = sys::notif_wake_here(self.fd(), here);
        }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Takes a waiting call; call it after poll said that there is one. `None`: its thread died before.
    pub(super) fn receive(&self) -> io::Result<Option<Call>> {
        let Some(n) = sys::notif_recv(self.fd())? else { return Ok(None) };
        self.current.set(n.id);
        self.checked.set(Some(Instant::now()));
        Ok(Some(Call {
            id: n.id,
            tid: n.pid,
            nr: n.data.nr.into(),
            args: n.data.args,
            foreign: super::filter::is_foreign(&n.data),
        }))
    }

    /// No call is being served any more (it was answered or parked).
    pub(super) fn done(&self) {
        self.current.set(0);
    }

    pub(super) fn is_valid(&self, id: u64) -> bool {
        sys::notif_id_valid(self.fd(), id)
    }

    /// Whether the call being served still waits. True when none is: then there is no caller whose thread id could
    /// have been given to someone else.
    pub(super) fn current_is_valid(&self) -> bool {
        let id = self.current.get();
        if id == 0 || self.checked.get().is_some_and(|when| when.elapsed() < TRUSTED) {
            return true;
        }
        let valid = self.is_valid(id);
        self.checked.set(valid.then(Instant::now));
        valid
    }

    pub(super) fn reply(&self, id: u64, result: Result<i64, i32>) -> io::Result<Sent> {
        let (val, error) = match result {
            Ok(val) => (val, 0),
            Err(errno) => (0, -errno),
        };
        self.send(&libc::seccomp_notif_resp { id, val, error, flags: 0 })
    }

    /// Lets the kernel perform the call as if it had not been trapped.
    pub(super) fn pass_on(&self, id: u64) -> io::Result<Sent> {
        let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
        self.send(&libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
    }

    /// Answers with a new descriptor in the caller's table, a copy of `fd`.
    pub(super) fn reply_fd(&self, id: u64, fd: BorrowedFd<'_>, close_on_exec: bool) -> io::Result<Sent> {
        match sys::notif_addfd_send(self.fd(), id, fd, close_on_exec) {
            Ok(_) => Ok(Sent::Yes),
            Err(e) => match e.raw_os_error() {
                Some(libc::ENOENT | libc::ESRCH) => Ok(Sent::CallerGone),
                // The caller's descriptor table is full, say: its errno, not ours, and it got no descriptor.
                errno => {
                    self.reply(id, Err(errno.unwrap_or(libc::EIO)))?;
                    Ok(Sent::Refused)
                }
            },
        }
    }

    fn send(&self, resp: &libc::seccomp_notif_resp) -> io::Result<Sent> {
        match sys::notif_send(self.fd(), resp) {
            Ok(()) => Ok(Sent::Yes),
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT)) => Ok(Sent::CallerGone),
            // The call was answered or interrupted before (no WAIT_KILLABLE_RECV on old kernels).
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINPROGRESS)) => Ok(Sent::CallerGone),
            Err(e) => Err(e),
        }
    }
}
