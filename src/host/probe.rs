//! What the kernel lets this process do: tried, where trying is harmless.

use std::io::{IoSliceMut, Read};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// Can a simulated device be served on this machine at all? `Err`: why not, in words for the user.
///
/// The checks of the trap layer, without installing a filter: user notification with an atomic descriptor reply
/// (SECCOMP_ADDFD_FLAG_SEND, Linux 5.14) and reading a child's memory.
pub fn simulation_possible() -> Result<(), String> {
    seccomp_user_notification()?;
    child_memory()
}

/// SECCOMP_RET_USER_NOTIF is offered, and the kernel is 5.14 or newer.
pub fn seccomp_user_notification() -> Result<(), String> {
    let file = "/proc/sys/kernel/seccomp/actions_avail";
    let actions = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    if !actions.split_whitespace().any(|action| action == "user_notif") {
        return Err("the kernel offers no user notification (CONFIG_SECCOMP_FILTER)".to_owned());
    }
    let (major, minor) = kernel_version().ok_or("the kernel's version is not to be read")?;
    if (major, minor) < (5, 14) {
        return Err(format!("Linux {major}.{minor}; 5.14 is the first with all that is needed"));
    }
    Ok(())
}

fn kernel_version() -> Option<(u32, u32)> {
    let uname = nix::sys::utsname::uname().ok()?;
    let mut parts = uname.release().to_str()?.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Reads some bytes of a child's memory with process_vm_readv, as the simulated device does with its client.
pub fn child_memory() -> Result<(), String> {
    // `cat` waits for its standard input, so it lives until we are done.
    let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| format!("no child could be started: {error}"))?;
    let result = read_from(child.id());
    drop(child.stdin.take());
    // It ends by itself at the end of its input; its status says nothing of interest.
    let _ = child.wait();
    result
}

fn read_from(pid: u32) -> Result<(), String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))
        .map_err(|error| format!("a child's /proc/PID/maps: {error}"))?;
    let start = maps
        .lines()
        .filter(|line| line.split_whitespace().nth(1).is_some_and(|rights| rights.starts_with('r')))
        .find_map(|line| usize::from_str_radix(line.split_once('-')?.0, 16).ok())
        .ok_or("a child's /proc/PID/maps shows no readable memory")?;
    let mut bytes = [0_u8; 16];
    let remote = [RemoteIoVec { base: start, len: bytes.len() }];
    let pid = i32::try_from(pid).map_err(|error| error.to_string())?;
    process_vm_readv(Pid::from_raw(pid), &mut [IoSliceMut::new(&mut bytes)], &remote)
        .map(drop)
        .map_err(|error| format!("a child's memory cannot be read: {}", error.desc()))
}

/// kcmp tells whether two descriptors are one open file: tried on a descriptor and its duplicate.
pub fn kcmp() -> Result<(), String> {
    let blocked = || "kcmp is not available (CONFIG_KCMP, or a sandbox)".to_owned();
    let file = std::fs::File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
    let same = file.try_clone().map_err(|error| error.to_string())?;
    let other = std::fs::File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
    let compare = |file: &std::fs::File, other: &std::fs::File| {
        super::sys::same_open_file(file.as_raw_fd(), other.as_raw_fd()).ok_or_else(blocked)
    };
    match (compare(&file, &same)?, compare(&file, &other)?) {
        (true, false) => Ok(()),
        _ => Err("kcmp gives wrong answers here".to_owned()),
    }
}

/// Is the kernel log open to this user?
pub fn kernel_log() -> Result<(), String> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::File::options();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
    let mut file = file.map_err(|error| format!("/dev/kmsg: {error}"))?;
    let mut line = vec![0_u8; 8192];
    match file.read(&mut line) {
        Ok(_) => Ok(()),
        // An empty log, or a record that was overwritten while we read: readable all the same.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EPIPE)) => Ok(()),
        Err(error) => Err(format!("/dev/kmsg: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_cannot_be_read() {
        // Larger than any pid_max (4,194,304).
        assert!(read_from(u32::MAX / 4).is_err());
    }

    #[test]
    fn kernel_version_is_read() {
        let (major, _) = kernel_version().expect("version");
        assert!(major >= 3);
    }
}
