//! What the kernel lets this process do: tried, where trying is harmless.

use std::io::Read;

/// Can a simulated device be served on this machine at all? `Err`: why not, in words for the user.
pub fn simulation_possible() -> Result<(), String> {
    xe_sim::trap::probe_host().usable()
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
