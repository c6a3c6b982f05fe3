//! What the machine can do, as far as it decides which arms can be run. Facts are passed in; what is not known excludes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::matrix::units::Size;
use crate::model::arm::{Arm, FrontEnd, Medium, NotObserved, Observer, SourceKind, Workload};

/// Facts about this machine. `None` or an absent entry: not known, and no reason to leave anything out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// What `auto` stands for: true = the simulated device.
    pub auto_is_simulated: Option<bool>,
    /// Bytes that processes can still take.
    pub memory_available: Option<u64>,
    /// Free bytes where files of `medium = "tmpfs"` are put.
    pub tmpfs_room: Option<u64>,
    /// Free bytes where files of `medium = "disk"` are put.
    pub disk_room: Option<u64>,
    /// Device, as an arm names it → bytes of its memory.
    pub device_memory: BTreeMap<String, u64>,
    /// Instruments that this machine lacks, each with the reason.
    pub missing_observers: BTreeMap<Observer, String>,
    /// Front ends that cannot be built here, each with the reason.
    pub missing_front_ends: BTreeMap<FrontEnd, String>,
    /// Names in the driver store; `default` is always accepted.
    pub drivers: Option<BTreeSet<String>>,
    /// SYCL runtimes that can be used here: versions, `icpx`, and `default` where there is one of them.
    pub runtimes: Option<BTreeSet<String>>,
    /// Names of the simulated device's profiles.
    pub profiles: Option<BTreeSet<String>>,
    /// Cards that the driver can use: `pci:0000:09:00.0`.
    pub cards: Option<BTreeSet<String>>,
}

impl HostFacts {
    /// What can be read without running anything: free memory and room, strace, the kernel's log. What depends on the
    /// chosen device and on the driver store is the caller's to add (`cmd::plan::facts`).
    pub fn probe() -> HostFacts {
        let mut facts = HostFacts {
            memory_available: memory_available(),
            tmpfs_room: room(Path::new("/dev/shm")),
            disk_room: room(&std::env::temp_dir()),
            ..HostFacts::default()
        };
        if crate::driver::find_in_path(Path::new("strace")).is_none() {
            for observer in [Observer::Strace, Observer::StraceSummary] {
                facts.missing_observers.insert(observer, "strace is not in PATH".to_owned());
            }
        }
        if let Err(reason) = crate::host::kernel_log() {
            facts.missing_observers.insert(Observer::KernelLog, reason);
        }
        facts
    }

    fn simulated(&self, arm: &Arm) -> Option<bool> {
        match arm.device.as_str() {
            "auto" => self.auto_is_simulated,
            device => Some(device.starts_with("sim:")),
        }
    }

    /// Keeps the arm or says why this machine cannot run it. An observer that goes with the other kind of device is taken from
    /// the arm, which says so: it loses nothing else.
    pub fn admit(&self, arm: &mut Arm) -> Result<(), String> {
        let simulated = self.simulated(arm);
        let of_another_device = match simulated {
            Some(false) => Some((Observer::Sim, "only where the device is simulated; left out on a card")),
            Some(true) => Some((Observer::XeTrace, "only on a card; left out where the device is simulated")),
            None => None,
        };
        if let Some((observer, why)) =
            of_another_device.filter(|(observer, _)| arm.observers.contains(observer))
        {
            arm.observers.retain(|kept| *kept != observer);
            arm.not_observed.push(NotObserved { observer, why: why.to_owned() });
        }
        for observer in &arm.observers {
            if let Some(reason) = self.missing_observers.get(observer) {
                return Err(format!("it needs observer {}: {reason}", observer.word()));
            }
        }
        if let Some(reason) = self.missing_front_ends.get(&arm.variant.front_end) {
            return Err(reason.clone());
        }
        if self.lacks_driver(arm) {
            return Err(format!(
                "no driver build \"{}\" in the store (see `repro-matrix drivers list`)",
                arm.driver
            ));
        }
        if let (Some(runtimes), Some(runtime)) = (&self.runtimes, &arm.runtime)
            && !runtimes.contains(runtime)
        {
            let fetch = match runtime.as_str() {
                "icpx" => "icpx is neither under ONEAPI_ROOT nor in PATH".to_owned(),
                "default" => "get one with `repro-matrix toolchains fetch sycl`".to_owned(),
                version => format!("get it with `repro-matrix toolchains fetch sycl={version}`"),
            };
            return Err(format!("SYCL runtime {runtime} is not here: {fetch}"));
        }
        if let (Some(profiles), Some(profile)) = (&self.profiles, arm.device.strip_prefix("sim:"))
            && !profiles.contains(profile)
        {
            let known: Vec<&str> = profiles.iter().map(String::as_str).collect();
            return Err(format!("no simulated device \"{profile}\" (there are: {})", known.join(", ")));
        }
        if self.lacks_card(arm) {
            return Err(format!(
                "no Intel card bound to xe or i915 at {} (`repro-matrix doctor` says what there is)",
                arm.device
            ));
        }
        self.room_for_source(arm)?;
        self.room_for_device_memory(arm, simulated)
    }

    fn lacks_driver(&self, arm: &Arm) -> bool {
        let drivers = self.drivers.as_ref();
        arm.driver != "default" && drivers.is_some_and(|drivers| !drivers.contains(&arm.driver))
    }

    fn lacks_card(&self, arm: &Arm) -> bool {
        let cards = self.cards.as_ref();
        arm.device.starts_with("pci:") && cards.is_some_and(|cards| !cards.contains(&arm.device))
    }

    /// Whether what the arm is to test is known not to be here: its driver build or its card.
    pub fn lacks_subject(&self, arm: &Arm) -> bool {
        self.lacks_driver(arm) || self.lacks_card(arm)
    }

    fn room_for_source(&self, arm: &Arm) -> Result<(), String> {
        let (room, place) = match (arm.source.kind, arm.source.medium) {
            (SourceKind::None, _) => return Ok(()),
            (SourceKind::File, Medium::Tmpfs) => (self.tmpfs_room, "the tmpfs"),
            (SourceKind::File, Medium::Disk) => (self.disk_room, "the disk for temporary files"),
            (SourceKind::Anon | SourceKind::Host, _) => (self.memory_available, "memory"),
        };
        match room {
            Some(room) if room < arm.source.size => Err(format!(
                "its source needs {} and {place} has {} MiB free",
                Size::show(arm.source.size),
                room >> 20
            )),
            _ => Ok(()),
        }
    }

    fn room_for_device_memory(&self, arm: &Arm, simulated: Option<bool>) -> Result<(), String> {
        let held = device_memory_held(&arm.workload);
        if let Some(there) = self.device_memory.get(&arm.device)
            && held.allocated > *there
        {
            return Err(format!(
                "it holds {} MiB of device memory of {} MiB",
                held.allocated >> 20,
                there >> 20
            ));
        }
        // Device memory of the simulated device is this machine's memory, once it is written.
        if simulated == Some(true)
            && let Some(available) = self.memory_available
            && held.written > available
        {
            return Err(format!(
                "it writes {} MiB of simulated device memory and the machine has {} MiB available",
                held.written >> 20,
                available >> 20
            ));
        }
        Ok(())
    }
}

/// Bytes of device memory that a workload takes.
struct Held {
    allocated: u64,
    written: u64,
}

fn device_memory_held(workload: &Workload) -> Held {
    let slabs = match (workload.skip_upload, workload.one_alloc) {
        (true, _) => 0,
        (false, true) => workload.chunk,
        (false, false) => workload.chunk.saturating_mul(u64::from(workload.copies)),
    };
    let guards = workload.guard.saturating_mul(2);
    let copied = if workload.no_copy { 0 } else { slabs };
    Held {
        allocated: slabs.saturating_add(guards).saturating_add(workload.ballast),
        // Ballast is held, never written.
        written: copied.saturating_add(guards),
    }
}

/// MemAvailable of /proc/meminfo, in bytes.
fn memory_available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn room(path: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    stat.blocks_available().checked_mul(stat.fragment_size())
}
