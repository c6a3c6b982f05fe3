//! The rows of `repro-matrix doctor` that speak of the machine itself.

use std::path::Path;
use std::process::Command;

use serde::Serialize;
use xe_sim::trap::HostSupport;

use super::{Environment, RenderNode, probe};
use crate::driver;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Works, with less.
    Degraded,
    Missing,
}

/// One row: a feature, what was found, what it is for and what to type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub feature: &'static str,
    pub state: State,
    pub found: String,
    pub purpose: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
}

impl Check {
    pub fn new(feature: &'static str, state: State, found: impl Into<String>, purpose: &'static str) -> Self {
        Check { feature, state, found: found.into(), purpose, action: None }
    }

    pub fn or_type(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }

    /// `Ok` needs no action, so `action` is dropped there.
    fn of(
        feature: &'static str,
        result: Result<(), String>,
        good: &str,
        otherwise: State,
        purpose: &'static str,
        action: &str,
    ) -> Self {
        match result {
            Ok(()) => Check::new(feature, State::Ok, good, purpose),
            Err(why) => Check::new(feature, otherwise, why, purpose).or_type(action),
        }
    }
}

/// A card that a run could use now.
pub fn usable_card(devices: &[RenderNode]) -> bool {
    devices.iter().any(|device| device.usable_driver() && device.accessible())
}

pub fn card(devices: &[RenderNode]) -> Check {
    const PURPOSE: &str = "runs on real silicon (--device pci:…); without one, the simulated A770 is used";
    let named = |device: &RenderNode| {
        let driver = device.driver.as_deref().unwrap_or("no driver");
        format!("{} [8086:{:04x}] {driver}", device.pci_address, device.device_id)
    };
    let all = devices.iter().map(named).collect::<Vec<_>>().join(", ");
    let check = |state, found: String| Check::new("Intel render node", state, found, PURPOSE);
    if devices.is_empty() {
        return check(State::Degraded, "none: --device auto means sim:a770".to_owned())
            .or_type("nothing; or plug in a card and: modprobe xe");
    }
    if usable_card(devices) {
        return check(State::Ok, all);
    }
    match devices.iter().find(|device| device.usable_driver()) {
        Some(device) => check(State::Degraded, format!("{all}, not open to this user"))
            .or_type(format!("sudo usermod -aG render $USER, then log in again ({})", device.node.display())),
        None => check(State::Degraded, all).or_type("modprobe xe (the device needs xe or i915)"),
    }
}

/// The three things that a simulated device needs of the kernel, each tried by the trap layer.
pub fn simulation(support: &HostSupport) -> [Check; 3] {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.map(|scope| format!(" (ptrace_scope {})", scope.trim())).unwrap_or_default();
    [
        Check::of(
            "seccomp notify",
            support.listener.clone(),
            "a listener was installed",
            State::Missing,
            "the simulated device's system calls",
            "a kernel ≥ 5.14; in a container: --security-opt seccomp=unconfined",
        ),
        Check::of(
            "process_vm_readv",
            support.child_memory.clone(),
            &format!("a child's memory was read{scope}"),
            State::Missing,
            "user pointers of the simulated device's clients",
            "sysctl kernel.yama.ptrace_scope=1; in a container: --cap-add SYS_PTRACE",
        ),
        Check::of(
            "kcmp",
            support.kcmp.clone(),
            "open files can be told apart",
            State::Missing,
            "device descriptors that a client duplicated or passed on",
            "a kernel with CONFIG_KCMP; in a container: --cap-add SYS_PTRACE",
        ),
    ]
}

pub fn strace() -> Check {
    const PURPOSE: &str = "the strace observer: ioctls counted by another witness";
    const FIRST_WITH_XE: (u32, u32) = (6, 8);
    let check = |state, found: String| Check::new("strace", state, found, PURPOSE);
    let Ok(output) = Command::new("strace").arg("-V").output() else {
        return check(State::Missing, "not installed".to_owned()).or_type("apt-get install strace");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = strace_version(&text);
    match version {
        Some(version) if version >= FIRST_WITH_XE => check(State::Ok, format!("{}.{}", version.0, version.1)),
        Some((major, minor)) => check(
            State::Degraded,
            format!("{major}.{minor} prints xe ioctls as numbers; they are translated"),
        )
        .or_type("nothing; or install strace ≥ 6.8"),
        None => check(State::Degraded, "of an unknown version".to_owned()).or_type("strace -V"),
    }
}

/// `strace -- version 6.1`.
fn strace_version(text: &str) -> Option<(u32, u32)> {
    let rest = text.lines().next()?.split_once("version ")?.1;
    let mut parts = rest.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub fn kernel_log() -> Check {
    Check::of(
        "kernel log",
        probe::kernel_log(),
        "/dev/kmsg is readable",
        State::Degraded,
        "the kernel-log observer: resets, faults, timeouts of a real card",
        "run as root, or: sudo sysctl kernel.dmesg_restrict=0",
    )
}

pub fn drop_caches() -> Check {
    use nix::unistd::{AccessFlags, access};
    let result = access("/proc/sys/vm/drop_caches", AccessFlags::W_OK)
        .map_err(|_| "not writable: fadvise on the clean file is used, and checked by mincore".to_owned());
    Check::of(
        "drop_caches",
        result,
        "writable",
        State::Degraded,
        "arms with a cold page cache",
        "nothing; or run as root",
    )
}

pub fn shared_memory() -> Check {
    const PURPOSE: &str = "arms whose source lies on tmpfs";
    const WANTED: u64 = 512 << 20;
    match driver_free(Path::new("/dev/shm")) {
        Some(free) if free >= WANTED => {
            Check::new("/dev/shm", State::Ok, format!("{} free", size(free)), PURPOSE)
        }
        Some(free) => Check::new("/dev/shm", State::Degraded, format!("{} free", size(free)), PURPOSE)
            .or_type("mount -o remount,size=1G /dev/shm; in a container: --shm-size 1g"),
        None => Check::new("/dev/shm", State::Missing, "no such file system", PURPOSE)
            .or_type("mount -t tmpfs tmpfs /dev/shm"),
    }
}

pub fn disk(directory: &Path) -> Check {
    const PURPOSE: &str = "driver builds (320 MB each), compiled variants, results";
    const WANTED: u64 = 2 << 30;
    const LEAST: u64 = 512 << 20;
    let free = driver_free(directory).unwrap_or(0);
    let state = match free {
        free if free >= WANTED => State::Ok,
        free if free >= LEAST => State::Degraded,
        _ => State::Missing,
    };
    let check = Check::new("disk", state, format!("{} free", size(free)), PURPOSE);
    if state == State::Ok {
        check
    } else {
        check.or_type("export REPRO_MATRIX_DATA=/a/directory/on/a/larger/disk")
    }
}

pub fn memory(environment: &Environment) -> Check {
    const PURPOSE: &str = "the simulated device's memory, copies and builds";
    const WANTED: u64 = 4 << 30;
    const LEAST: u64 = 3 << 29; // 1.5 GiB
    let available = environment.memory_available;
    let found = format!("{} of {} available", size(available), size(environment.memory_total));
    let state = match available {
        available if available >= WANTED => State::Ok,
        available if available >= LEAST => State::Degraded,
        _ => State::Missing,
    };
    let check = Check::new("memory", state, found, PURPOSE);
    if state == State::Ok {
        check
    } else {
        check.or_type("close something, or run single arms (see run --help)")
    }
}

pub fn cores(environment: &Environment) -> Check {
    const PURPOSE: &str =
        "parallel builds; direct submission needs a core for the driver and one for the device";
    let found = environment.cores.to_string();
    match environment.cores {
        0 | 1 => Check::new("cores", State::Degraded, found, PURPOSE).or_type("nothing; runs take longer"),
        _ => Check::new("cores", State::Ok, found, PURPOSE),
    }
}

fn driver_free(path: &Path) -> Option<u64> {
    driver::free_bytes(path).filter(|_| path.exists() || path.is_absolute() && !path.starts_with("/dev"))
}

fn size(bytes: u64) -> String {
    // Bytes of a machine are far below 2^52.
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strace_versions() {
        assert_eq!(strace_version("strace -- version 6.1\nCopyright"), Some((6, 1)));
        assert_eq!(strace_version("strace -- version 6.13.0.5.abc\n"), Some((6, 13)));
        assert_eq!(strace_version("busybox"), None);
        assert!(Some((6, 13)) > Some((6, 8)) && Some((6, 1)) < Some((6, 8)));
    }

    #[test]
    fn a_card_is_judged_by_driver_and_rights() {
        let node = |driver: Option<&str>, node: &str| RenderNode {
            node: node.into(),
            pci_address: "0000:09:00.0".to_owned(),
            device_id: 0x56a0,
            driver: driver.map(str::to_owned),
        };
        assert_eq!(card(&[node(Some("xe"), "/dev/null")]).state, State::Ok);
        let closed = card(&[node(Some("xe"), "/nonexistent")]);
        assert!(closed.state == State::Degraded && closed.action.is_some_and(|a| a.contains("render")));
        let unbound = card(&[node(Some("vfio-pci"), "/dev/null")]);
        assert!(unbound.state == State::Degraded && unbound.found.contains("vfio-pci"));
        assert!(card(&[]).found.contains("sim:a770"));
    }
}
