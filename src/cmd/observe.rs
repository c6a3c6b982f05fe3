//! Hands a finished run's files to the observers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use crate::driver;
use crate::host::Device;
use crate::judge::Account;
use crate::logs::{xe_trace, ze_api};
use crate::model::arm::{Arm, Observer};
use crate::model::facts::{
    Facts, KernelLogFacts, LoadedDriver, NeoFacts, SimFacts, StraceFacts, XeTraceFacts, ZeApiFacts,
};
use crate::model::repro::{Phase, ReproResult};
use crate::observe::{kernel_log, maps, neo_log, sim, strace};
use crate::run::RawRun;
use crate::run::spec::Captured;

/// The observers of a matrix run. Libraries are hashed once, however many runs map them.
#[derive(Debug, Default)]
pub struct Observers {
    /// (path, size, modification time in ns) → identity.
    identities: Mutex<BTreeMap<(PathBuf, u64, i128), maps::Identity>>,
}

impl Observers {
    /// Facts of a run, and which instruments of ours did not work.
    pub fn observe(&self, arm: &Arm, raw: &RawRun, device: Option<&Device>) -> (Facts, Vec<String>) {
        let mut broken = Vec::new();
        let account = Account::read(&raw.result);
        let result = account.given();
        let per_thread = result.map_or(0, |result| u64::from(result.kernel.private_mem_size));
        let of_device = device.and_then(Device::profile).map(|profile| profile.hw_threads());
        // The driver sizes the surface for as many threads as this key says, whatever the device has.
        let of_key = arm.keys.keys.get("OverrideNumComputeUnitsForScratch").and_then(|n| n.parse().ok());
        let surfaces: Vec<u64> =
            [of_device, of_key].into_iter().flatten().filter_map(|n| per_thread.checked_mul(n)).collect();
        let known =
            sim::Known { phases: result.map_or(&[], |result| &result.phases), private_surfaces: &surfaces };
        let has = |observer| arm.observers.contains(&observer);
        let loaded = self.loaded(raw);
        let ze_api = has(Observer::ZeApi).then(|| keep(calls(raw, result, &loaded), &mut broken).flatten());
        let facts = Facts {
            neo: has(Observer::NeoLog).then(|| keep(driver_log(raw), &mut broken)).flatten(),
            strace: raw.strace.as_deref().and_then(|path| keep(requests(path), &mut broken)),
            sim: raw.trace.as_deref().and_then(|path| keep(simulated(path, known), &mut broken)),
            loaded: Some(loaded),
            kernel_log: raw.kernel_log.as_ref().map(|log| kernel(raw, log, device)),
            runtime: None,
            ze_api: ze_api.flatten(),
            xe_trace: raw.xe_trace.as_ref().and_then(|trace| keep(tracepoints(trace, device), &mut broken)),
        };
        (facts, broken)
    }

    fn loaded(&self, raw: &RawRun) -> LoadedDriver {
        let text: String = raw.maps.iter().map(|snapshot| snapshot.text.as_str()).collect();
        maps::loaded(text.as_bytes(), &mut |path| self.identify(path))
    }

    fn identify(&self, path: &Path) -> maps::Identity {
        let Ok(metadata) = path.metadata() else { return maps::Identity::default() };
        let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let key = (path.to_owned(), metadata.len(), changed.map_or(-1, |time| time.as_nanos() as i128));
        let mut known = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = known.entry(key).or_insert_with(|| maps::Identity {
            build_id: driver::inspect_elf(path).ok().and_then(|elf| elf.build_id),
            sha256: driver::sha256_file(path).ok(),
        });
        identity.clone()
    }
}

fn driver_log(raw: &RawRun) -> Result<NeoFacts, String> {
    let read = |stream: &Captured| {
        std::fs::read(&stream.path).map_err(|e| format!("{}: {e}", stream.path.display()))
    };
    let (stdout, stderr) = (read(&raw.stdout)?, read(&raw.stderr)?);
    let (out_marks, err_marks) = (raw.stdout.marks(), raw.stderr.marks());
    Ok(neo_log::facts(
        neo_log::Timed { bytes: &stdout, marks: &out_marks },
        neo_log::Timed { bytes: &stderr, marks: &err_marks },
    ))
}

/// The loader writes its trace to stderr. `None`: the program did not come to Level Zero, by its own account or because no
/// process of it had the loader mapped.
fn calls(
    raw: &RawRun,
    result: Option<&ReproResult>,
    loaded: &LoadedDriver,
) -> Result<Option<ZeApiFacts>, String> {
    let path = &raw.stderr.path;
    let log = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let facts = ze_api::parse(&log);
    if !facts.calls.is_empty() || !facts.unfinished.is_empty() {
        return Ok(Some(facts));
    }
    let error = result.and_then(|result| result.error.as_ref());
    let is_loader = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("libze_loader"));
    if error.is_some_and(|error| error.phase == Phase::SetUp)
        || !loaded.libraries.iter().any(|library| is_loader(&library.path))
    {
        return Ok(None);
    }
    // No layer, no trace: silence would read as "nothing was called".
    Err("the loader traced no call (has the driver tree its validation layer?)".into())
}

fn tracepoints(trace: &Result<Vec<u8>, String>, device: Option<&Device>) -> Result<XeTraceFacts, String> {
    let address = match device {
        Some(Device::Real(node)) => Some(node.pci_address.as_str()),
        Some(Device::Simulated(_)) | None => None,
    };
    let facts = xe_trace::parse(trace.as_deref().map_err(Clone::clone)?, address);
    match facts.entries {
        Some((held, written)) if held < written => {
            Err(format!("the kernel's trace lost {} of {written} events", written - held))
        }
        _ => Ok(facts),
    }
}

fn requests(path: &Path) -> Result<StraceFacts, String> {
    let log = std::fs::read(path).map_err(|e| format!("strace's output: {e}"))?;
    Ok(strace::facts(&log))
}

fn simulated(path: &Path, known: sim::Known<'_>) -> Result<SimFacts, String> {
    let trace = std::fs::read(path).map_err(|e| format!("the device's trace: {e}"))?;
    sim::facts(&trace, known).map_err(|e| e.to_string())
}

fn kernel(raw: &RawRun, log: &Result<Vec<u8>, String>, device: Option<&Device>) -> KernelLogFacts {
    let started = raw.started.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    let alive = kernel_log::Alive {
        monotonic: (raw.started_ns, raw.ended_ns),
        wall: (started, started.saturating_add(raw.wall.as_nanos() as u64)),
        utc_offset: 0,
    };
    let address = match device {
        Some(Device::Real(node)) => Some(node.pci_address.as_str()),
        Some(Device::Simulated(_)) | None => None,
    };
    kernel_log::facts(log.as_deref().map_err(String::as_str), alive, address)
}

fn keep<T>(result: Result<T, String>, broken: &mut Vec<String>) -> Option<T> {
    result.map_err(|why| broken.push(why)).ok()
}
