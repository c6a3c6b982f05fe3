//! Hands a finished run's files to the observers.

use std::path::Path;

use crate::driver;
use crate::judge::Account;
use crate::model::arm::Arm;
use crate::model::facts::{Facts, LoadedDriver, SimFacts};
use crate::observe::{maps, sim};
use crate::run::RawRun;

/// Facts of a run, and which instruments of ours did not work.
pub fn observe(_arm: &Arm, raw: &RawRun, hw_threads: Option<u64>) -> (Facts, Vec<String>) {
    let mut broken = Vec::new();
    let account = Account::read(&raw.result);
    let result = account.given();
    let surface = result
        .zip(hw_threads)
        .and_then(|(result, threads)| u64::from(result.kernel.private_mem_size).checked_mul(threads))
        .filter(|bytes| *bytes > 0);
    let known = sim::Known { phases: result.map_or(&[], |result| &result.phases), private_surface: surface };
    let facts = Facts {
        sim: raw.trace.as_deref().and_then(|path| keep(simulated(path, known), &mut broken)),
        loaded: Some(loaded(raw)),
        ..Facts::default()
    };
    (facts, broken)
}

fn simulated(path: &Path, known: sim::Known<'_>) -> Result<SimFacts, String> {
    let trace = std::fs::read(path).map_err(|e| format!("the device's trace: {e}"))?;
    sim::facts(&trace, known).map_err(|e| e.to_string())
}

fn loaded(raw: &RawRun) -> LoadedDriver {
    maps::loaded(raw.maps.iter().map(|snapshot| snapshot.text.as_str()), |path| {
        let path = Path::new(path);
        maps::Identity {
            build_id: driver::inspect_elf(path).ok().and_then(|elf| elf.build_id),
            sha256: driver::sha256_file(path).ok(),
        }
    })
}

fn keep<T>(result: Result<T, String>, broken: &mut Vec<String>) -> Option<T> {
    result.map_err(|why| broken.push(why)).ok()
}
