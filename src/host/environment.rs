//! The machine as it goes into a results manifest. No host name and no user name: results are shared.

use serde::{Deserialize, Serialize};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::{RenderNode, devices};

/// What a result depends on, as far as the machine goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `uname -r`.
    pub kernel: Option<String>,
    /// `Debian 12`.
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
}

/// Asks the machine. What it does not say is `None`, never a guess.
pub fn environment() -> Environment {
    let mut environment = Environment {
        kernel: System::kernel_version().ok(),
        distribution: match (System::name().ok(), System::os_version().ok()) {
            (Some(name), Some(version)) => Some(format!("{name} {version}")),
            (name, _) => name,
        },
        architecture: std::env::consts::ARCH.to_owned(),
        cpu: cpu_model(),
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_total: 0,
        memory_available: 0,
        glibc: crate::driver::host_glibc().map(|version| version.to_string()),
        devices: devices(),
    };
    let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    if let Ok(system) = System::new_with_specifics(what) {
        environment.memory_total = system.total_memory();
        environment.memory_available = system.available_memory();
    }
    environment
}

/// Reading one line is cheaper than sysinfo's survey of every core.
fn cpu_model() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn says_what_the_machine_says() {
        let found = super::environment();
        let uname = nix::sys::utsname::uname().expect("uname");
        assert_eq!(found.kernel.as_deref(), uname.release().to_str());
        assert!(found.memory_total >= found.memory_available && found.memory_available > 0);
        assert!(found.cores >= 1);
        let text = serde_json::to_string(&found).expect("json");
        let host = uname.nodename().to_str().unwrap_or_default();
        assert!(host.len() < 4 || !text.contains(host), "{text}");
    }
}
