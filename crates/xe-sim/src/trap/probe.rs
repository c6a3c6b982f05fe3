//! Can a device be simulated on this machine? Asked by trying, with a child that does nothing.

use std::io;
use std::os::fd::AsFd;

use super::{filter, sys};

/// What the host offers; each reason is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSupport {
    /// `Err`: why no listener can be installed.
    pub listener: Result<(), String>,
    /// Reading a child's memory.
    pub child_memory: Result<(), String>,
    /// kcmp(2), to tell open files apart.
    pub kcmp: Result<(), String>,
    /// Waits that only fatal signals interrupt (Linux 5.19).
    pub killable_waits: bool,
    /// Looking up one mapping of a process without reading all of `/proc/PID/maps` (PROCMAP_QUERY, Linux 6.11).
    pub map_queries: bool,
}

impl HostSupport {
    /// The first reason why nothing can be simulated.
    pub fn usable(&self) -> Result<(), String> {
        self.listener.clone()?;
        self.child_memory.clone()?;
        self.kcmp.clone()
    }
}

/// Tries everything in short-lived children.
pub fn probe_host() -> HostSupport {
    HostSupport {
        listener: try_listener(),
        child_memory: try_child_memory(),
        kcmp: try_kcmp(),
        // Known only beside NEW_LISTENER.
        killable_waits: sys::filter_flag_known(
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
        ),
        map_queries: std::fs::File::open("/proc/self/maps")
            .is_ok_and(|maps| sys::procmap_query(maps.as_fd(), 0, sys::Among::All).is_ok()),
    }
}

fn try_listener() -> Result<(), String> {
    let code = filter::program();
    let status = in_child(|| match sys::install_filter(&code) {
        Ok(_) => 0,
        Err(e) => e.raw_os_error().and_then(|e| u8::try_from(e).ok()).unwrap_or(255),
    });
    match status {
        Ok(0) => Ok(()),
        Ok(errno) => Err(format!(
            "no seccomp listener: {} (Linux 5.14 or later, and no sandbox that forbids seccomp)",
            io::Error::from_raw_os_error(errno.into())
        )),
        Err(e) => Err(format!("no seccomp listener: {e}")),
    }
}

fn try_child_memory() -> Result<(), String> {
    static WITNESS: u64 = 0x5eed_0003_5eed_0003;
    let refuse = |e: io::Error| {
        format!(
            "process_vm_readv on a child: {e} (kernel.yama.ptrace_scope must not be 3; CAP_SYS_PTRACE helps)"
        )
    };
    let pid = sys::fork_and(|| {
        std::thread::sleep(std::time::Duration::from_secs(2));
        0
    })
    .map_err(refuse)?;
    let mut seen = [0u8; 8];
    let address = std::ptr::from_ref(&WITNESS) as u64;
    let result = sys::read_remote(pid, address, &mut seen);
    end(pid);
    match result {
        Ok(8) if u64::from_ne_bytes(seen) == WITNESS => Ok(()),
        Ok(_) => Err(refuse(io::Error::from_raw_os_error(libc::EFAULT))),
        Err(e) => Err(refuse(e)),
    }
}

fn try_kcmp() -> Result<(), String> {
    let refuse = |e: io::Error| {
        format!("kcmp: {e} (a kernel with CONFIG_KCMP is needed; every kernel with xe has it)")
    };
    let file = std::fs::File::open("/proc/self/exe").map_err(refuse)?;
    let me = std::process::id();
    use std::os::fd::AsRawFd as _;
    match sys::same_file(me, file.as_raw_fd(), me, file.as_fd()) {
        Ok(true) => Ok(()),
        Ok(false) => Err("kcmp does not know a file from itself".to_owned()),
        Err(e) => Err(refuse(e)),
    }
}

/// Exit status of a child that runs `f`.
fn in_child(f: impl FnOnce() -> u8) -> io::Result<u8> {
    use nix::sys::wait::{WaitStatus, waitpid};
    let pid = sys::fork_and(f)?;
    match waitpid(nix::unistd::Pid::from_raw(pid as i32), None)? {
        WaitStatus::Exited(_, code) => Ok(code as u8),
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

fn end(pid: u32) {
    let pid = nix::unistd::Pid::from_raw(pid as i32);
    let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    let _ = nix::sys::wait::waitpid(pid, None);
}
