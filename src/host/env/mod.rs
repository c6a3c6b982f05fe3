//! The machine as it goes into a results manifest and into `repro-matrix env`: what the vendor's bug form asks for. No host
//! name and no user name: results are shared. What the machine does not say is `None` or empty, never a guess.

mod files;
mod pci;
pub mod show;

use std::path::Path;

use serde::{Deserialize, Serialize};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::mask::mask;
use super::{RenderNode, devices};

pub use pci::PciDetail;

/// What a result depends on, as far as the machine goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Names the machine and says nothing of its owner: a hash. Equal = the same machine.
    pub machine: String,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// /proc/cmdline, masked.
    pub cmdline: Option<String>,
    /// xe and i915 as /proc/modules has them: "xe 4530176 3". Empty = neither is loaded (or both are built in).
    pub modules: Vec<String>,
    /// /proc/sys/kernel/tainted.
    pub tainted: Option<u64>,
    /// `Debian GNU/Linux 12 (bookworm)`, with the build id where the distribution has one.
    pub distribution: Option<String>,
    pub architecture: String,
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes.
    pub memory_total: u64,
    /// Bytes that could be used without swapping, at the time of asking.
    pub memory_available: u64,
    pub glibc: Option<String>,
    pub devices: Vec<RenderNode>,
    /// More of the same devices, by PCI address.
    pub pci: Vec<PciDetail>,
    /// /dev/dri and /dev/dri/by-path, one entry a line. Empty = there is no such directory.
    pub dri: Vec<String>,
    /// `lspci -vvv -k` of the Intel devices, masked; absent without lspci or without a device.
    pub lspci: Option<String>,
    /// Variables of this process that reach a driver or a runtime (a run inherits none of them).
    pub variables: Vec<(String, String)>,
    /// First line of `icpx --version`; absent where there is none on the PATH.
    pub compiler: Option<String>,
    /// What is installed of the driver's parts outside the store: store paths on NixOS, else "package version".
    pub packages: Vec<String>,
}

/// Asks the machine.
pub fn environment() -> Environment {
    environment_of(Path::new("/"))
}

/// The same with files from below `root`: what programs and the running kernel say is still this machine's.
fn environment_of(root: &Path) -> Environment {
    let devices = if root == Path::new("/") { devices() } else { super::devices_below(&root.join("sys")) };
    let mut environment = Environment {
        machine: String::new(),
        kernel: System::kernel_version().ok(),
        cmdline: files::text(&root.join("proc/cmdline")).map(|text| mask(&text)),
        modules: files::modules(&root.join("proc/modules")),
        tainted: files::text(&root.join("proc/sys/kernel/tainted")).and_then(|text| text.parse().ok()),
        distribution: files::distribution(root),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu: files::cpu_model(&root.join("proc/cpuinfo")),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_total: 0,
        memory_available: 0,
        glibc: crate::driver::host_glibc().map(|version| version.to_string()),
        pci: devices.iter().map(|node| pci::detail(&root.join("sys"), &node.pci_address)).collect(),
        dri: files::dri(&root.join("dev/dri")),
        lspci: pci::lspci(Path::new("lspci"), &devices).map(|text| mask(&text)),
        devices,
        variables: files::variables(std::env::vars()),
        compiler: files::compiler(),
        packages: files::packages(root),
    };
    let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    if let Ok(system) = System::new_with_specifics(what) {
        environment.memory_total = system.total_memory();
        environment.memory_available = system.available_memory();
    }
    environment.machine = machine(root, &environment);
    environment
}

/// A hash of the machine's own id and its hardware; with the tool's name in it, so that it is no other program's hash.
fn machine(root: &Path, environment: &Environment) -> String {
    let id = files::text(&root.join("etc/machine-id")).unwrap_or_default();
    let hardware: Vec<String> =
        environment.devices.iter().map(|node| format!("{} {:x}", node.pci_address, node.device_id)).collect();
    let text = format!(
        "repro-matrix {id} {:?} {} {} {hardware:?}",
        environment.cpu,
        environment.cores,
        // What a kernel keeps for itself changes with every update: whole GiB.
        environment.memory_total >> 30
    );
    let hash = crate::driver::sha256(text.as_bytes());
    hash.get(..8).unwrap_or(&hash).to_owned()
}

#[cfg(test)]
mod tests;
