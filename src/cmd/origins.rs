//! Results that a comparison adds up: its own and earlier ones, each with where it comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Failure;
use super::bisect::same_experiment;
use super::compare::count;
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::probe::Target;
use crate::results::manifest::INJECTED;
use crate::results::merge::{Run, run_of};
use crate::results::{Loaded, Manifest, machine};
use crate::stats::Tally;
use crate::stats::pair::{LEVEL, homogeneous};

/// Where results come from: they may be added up only within one of these, unless the user says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    machine: String,
    device: String,
    driver: String,
    /// Of a SYCL arm.
    runtime: String,
}

pub(super) fn origin(manifest: &Manifest, record: &RunRecord) -> Origin {
    let arm = manifest.arms.iter().find(|arm| arm.id == record.arm);
    let runtime = arm.and_then(|arm| manifest.runtimes.get(arm.runtime.as_ref()?));
    Origin {
        machine: machine::of(manifest, record).0,
        device: record.device.clone(),
        driver: record.driver.clone(),
        runtime: runtime.map_or_else(String::new, |runtime| runtime.hash.clone()),
    }
}

/// Earlier results whose runs may count here: of a device that injected no faults.
pub(super) fn without_faults(dir: &Path) -> Result<Loaded, Failure> {
    let loaded = crate::results::load(dir).map_err(|e| Failure::new(e.exit(), e))?;
    if loaded.manifest.device.contains(INJECTED) {
        let what = format!(
            "{} is of {}: its runs say nothing of the device without the faults",
            dir.display(),
            loaded.manifest.device
        );
        return Err(Failure::with_help(Exit::Usage, what, "give results of runs without --fault"));
    }
    Ok(loaded)
}

/// Earlier results, read before anything runs. An arm of them that has the name of one of `arms` must be the same arm.
pub(super) fn earlier(dir: &Path, arms: [&Arm; 2]) -> Result<Loaded, Failure> {
    let loaded = without_faults(dir)?;
    for ran in &loaded.manifest.arms {
        if arms.iter().any(|arm| arm.id == ran.id && !same_experiment(arm, ran)) {
            return Err(Failure::with_help(
                Exit::IncompatibleRecording,
                format!("{}: its arm {} is another one than here", dir.display(), ran.id),
                "it was run with another variant, source, workload, keys, observers or timeout: its runs are not added up",
            ));
        }
    }
    Ok(loaded)
}

pub(super) fn add_results(
    loaded: &Loaded,
    a: &Arm,
    b: &Arm,
    target: &Target,
    groups: &mut BTreeMap<&str, BTreeMap<Origin, Tally>>,
    counted: &mut BTreeSet<Run>,
) {
    // A directory that is given twice, or merged from another one that is given too, counts once.
    for record in loaded.records.iter().filter(|record| counted.insert(run_of(record))) {
        let side = match &record.arm {
            id if *id == a.id => "a",
            id if *id == b.id => "b",
            _ => continue,
        };
        let tally = groups.entry(side).or_default().entry(origin(&loaded.manifest, record)).or_default();
        count(tally, target, record);
    }
}

/// Why the groups of one arm are not to be added up just so.
pub(super) fn may_not_pool(arm: &str, of: &BTreeMap<Origin, Tally>, anyway: bool) -> Vec<String> {
    let tallies: Vec<Tally> = of.values().copied().collect();
    let p = homogeneous(&tallies);
    let alike = if p <= LEVEL { "they do not fit together" } else { "their rates fit together" };
    let verb = if anyway { "pooled" } else { "not pooled" };
    let mut lines = vec![format!("{arm}: {} origins, {verb}: {alike} (homogeneity p = {p:.4})", of.len())];
    for (origin, tally) in of {
        let driver = origin.driver.get(..8).unwrap_or(&origin.driver);
        let runtime = match origin.runtime.get(..8) {
            Some(runtime) => format!(" · SYCL runtime {runtime}"),
            None => String::new(),
        };
        lines.push(format!(
            "  machine {} · {} · driver {driver}{runtime}: {}/{}",
            origin.machine, origin.device, tally.hits, tally.testable
        ));
    }
    lines
}
