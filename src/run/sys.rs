//! The system calls that std and nix do not offer safely: the steps between fork and exec, pidfd, wait4, prctl.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::spec::Usage;

pub fn monotonic_ns() -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid timespec for the duration of the call.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    debug_assert_eq!(rc, 0, "CLOCK_MONOTONIC exists on every Linux");
    (ts.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(ts.tv_nsec as u64)
}

/// What the child does to itself before exec.
#[derive(Clone, Copy, Debug)]
pub struct ChildSetup {
    /// The descriptor that the program inherits.
    pub result_fd: RawFd,
    pub core: u64,
    pub file_size: Option<u64>,
}

/// Makes `command`'s child the leader of a session of its own, dying with this process, under the given limits.
pub fn prepare_child(command: &mut Command, setup: ChildSetup) {
    let parent = std::process::id();
    // SAFETY: the closure runs between fork and exec of a threaded process: it only makes system calls, which are
    // async-signal-safe, allocates nothing and takes no lock.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() < 0 {
                return Err(io::Error::last_os_error());
            }
            // The leader must not outlive a killed harness. The parent may have died before this call took effect.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            set_limit(libc::RLIMIT_CORE, setup.core)?;
            if let Some(bytes) = setup.file_size {
                set_limit(libc::RLIMIT_FSIZE, bytes)?;
            }
            // Only here, in the child, does the descriptor lose its close-on-exec flag: a run that another thread
            // starts at this moment never sees it.
            if libc::fcntl(setup.result_fd, libc::F_SETFD, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

fn set_limit(which: libc::__rlimit_resource_t, bytes: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid rlimit for the duration of the call.
    if unsafe { libc::getrlimit(which, &mut now) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The hard limit may already be lower; raising it would need privilege.
    let wanted = bytes.min(now.rlim_max);
    let limit = libc::rlimit { rlim_cur: wanted, rlim_max: now.rlim_max };
    // SAFETY: `limit` is a valid rlimit for the duration of the call.
    if unsafe { libc::setrlimit(which, &limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A descriptor that becomes readable when `pid` (an unreaped child) has ended.
pub fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open(2) takes a pid and flags, no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal { signal: i32, core_dumped: bool },
}

/// True when `pidfd`'s process has ended. It stays unreaped, so its process group id cannot be given to another.
pub fn has_ended(pidfd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: an all-zero siginfo_t is a valid value of this plain C struct.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is writable for the duration of the call.
    let rc = unsafe { libc::waitid(libc::P_PIDFD, pidfd.as_raw_fd() as libc::id_t, &mut info, options) };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid filled the SIGCHLD part, or left zeros when nothing had ended.
    Ok(unsafe { info.si_pid() } != 0)
}

/// Reaps `pid` if it has ended.
pub fn reap(pid: u32) -> io::Result<Option<(Ended, Usage)>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of this plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `status` and `usage` are writable for the duration of the call.
    let rc = unsafe { libc::wait4(pid as libc::pid_t, &mut status, libc::WNOHANG, &mut usage) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    if rc == 0 {
        return Ok(None);
    }
    let ended = if libc::WIFSIGNALED(status) {
        Ended::Signal { signal: libc::WTERMSIG(status), core_dumped: libc::WCOREDUMP(status) }
    } else {
        Ended::Code(libc::WEXITSTATUS(status))
    };
    let usage = Usage {
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        max_rss_bytes: (usage.ru_maxrss as u64).saturating_mul(1024),
    };
    Ok(Some((ended, usage)))
}

fn duration(t: libc::timeval) -> Duration {
    Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64)
}

/// Orphans of this process's descendants become its children, so that they can be found and reaped.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes a flag, no memory.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Sets the close-on-exec flag of an inherited descriptor, whose number is all that is known of it.
pub fn close_on_exec(fd: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFD takes a flag, no memory; a number that is no open descriptor gives EBADF.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
