//! Answers of earlier results that count for the places of a search: runs of the same arm on the same build and device.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::axis::{Axis, Source};
use super::runtimes;
use crate::cmd::Failure;
use crate::cmd::origins::without_faults;
use crate::cmd::prober::Prepared;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::probe::Target;
use crate::results::manifest::RuntimeIdentity;
use crate::results::merge::{Run, run_of};
use crate::results::{Loaded, Manifest, machine};

/// What was counted, and what could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reused {
    pub answers: u32,
    /// Commits of which no build is here: what ran of them before may have been of another build.
    pub not_built: usize,
    /// Runs that would count had another machine not made them.
    pub of_others: usize,
}

/// This machine, and whether runs of others count.
struct Here {
    machine: String,
    environment: serde_json::Value,
    pool: bool,
}

/// What a run must have had to be one of a place.
struct Wanted<'a> {
    arm: &'a Arm,
    driver: String,
    device: String,
}

/// Adds to each place what `dirs` hold of it.
pub fn reuse(
    axis: &mut Axis,
    (dirs, pool): (&[PathBuf], bool),
    prepared: &Prepared,
    target: &Target,
) -> Result<Reused, Failure> {
    let mut reused = Reused::default();
    if dirs.is_empty() {
        return Ok(reused);
    }
    let runtimes = runtimes::identities(&axis.sources);
    let environment = serde_json::to_value(crate::host::environment()).unwrap_or_default();
    let here = Here { machine: machine::id(&environment), environment, pool };
    let mut wanted = Vec::new();
    for (place, source) in axis.places.iter().zip(&axis.sources) {
        let (arm, driver) = match source {
            Source::Ready(arm) => (arm, place.driver.clone()),
            // Its build is the one of the store; one that has still to be made need not be the one that ran then.
            Source::Commit { driver, arm, .. } => match prepared.store.resolve(driver) {
                Ok(tree) => (arm, tree.manifest.hash),
                Err(_) => {
                    reused.not_built += 1;
                    wanted.push(None);
                    continue;
                }
            },
            Source::Broken(_) => {
                wanted.push(None);
                continue;
            }
        };
        wanted.push(Some(Wanted { arm, driver, device: prepared.device_of(arm)?.name() }));
    }
    // A directory that is given twice, or merged from another one that is given too, counts once.
    let mut runs: BTreeSet<Run> = BTreeSet::new();
    for dir in dirs {
        let mut loaded = without_faults(dir)?;
        loaded.records.retain(|record| runs.insert(run_of(record)));
        for (place, wanted) in axis.places.iter_mut().zip(&wanted) {
            let Some(wanted) = wanted.as_ref().filter(|wanted| same_runtime(wanted.arm, &runtimes, &loaded))
            else {
                continue;
            };
            for record in runs_of(wanted, &loaded) {
                if !here.counts(&loaded.manifest, record) {
                    reused.of_others += 1;
                    continue;
                }
                place.reused.add(target.see(record).answer);
                reused.answers += 1;
            }
        }
    }
    Ok(reused)
}

impl Here {
    /// Machines are told apart as in `compare --with`; of another machine's card, only one of the same kind counts at all.
    fn counts(&self, of: &Manifest, record: &RunRecord) -> bool {
        let (machine, environment) = machine::of(of, record);
        let card = |environment| machine::card(environment, &record.device);
        let same_card = record.device.starts_with("sim:")
            || card(environment).is_some_and(|id| card(&self.environment) == Some(id));
        machine == self.machine || (self.pool && same_card)
    }
}

fn runs_of<'a>(wanted: &'a Wanted, loaded: &'a Loaded) -> impl Iterator<Item = &'a RunRecord> {
    let same: BTreeSet<&str> = (loaded.manifest.arms.iter())
        .filter(|ran| same_experiment(ran, wanted.arm))
        .map(|ran| ran.id.as_str())
        .collect();
    (loaded.records.iter()).filter(move |record| {
        same.contains(record.arm.as_str())
            && record.device == wanted.device
            && record.driver == wanted.driver
            && !record.driver.is_empty()
    })
}

/// Whether what the arm's SYCL runtime stands for here is what it stood for there.
fn same_runtime(arm: &Arm, here: &BTreeMap<String, RuntimeIdentity>, there: &Loaded) -> bool {
    let of = |runtimes: &BTreeMap<String, RuntimeIdentity>| {
        Some(runtimes.get(arm.runtime.as_ref()?)?.hash.clone())
    };
    of(here) == of(&there.manifest.runtimes)
}

/// Equal in everything that a run depends on, names and bookkeeping aside.
pub fn same_experiment(a: &Arm, b: &Arm) -> bool {
    let bare = |arm: &Arm| {
        let mut arm = arm.clone();
        arm.id.clear();
        arm.driver.clear();
        arm.variant.name.clear();
        arm.source.name.clear();
        arm.workload.name.clear();
        arm.keys.name.clear();
        // "auto" and what it stood for: the record says what really ran.
        arm.device.clear();
        Arm {
            expect: None,
            positive_control: false,
            comparison: None,
            note: String::new(),
            repeats: 1,
            ..arm
        }
    };
    bare(a) == bare(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn another_machines_card_counts_only_when_asked_for_and_of_the_same_kind() {
        let environment = |machine: &str, id: u64| {
            serde_json::json!({
                "machine": machine, "devices": [{ "pci_address": "0000:03:00.0", "device_id": id }],
            })
        };
        let arm = fixture::arm("a", |_| ());
        let mut record = fixture::record(&arm, 0, true);
        let mut counts = |machine: &str, id: u64, device: &str, pool: bool| {
            record.device = device.to_owned();
            let manifest = serde_json::from_value(serde_json::json!({
                "version": 1, "tool": "0", "matrix": "m", "matrix_sha256": "0", "seed": 1, "started": "",
                "device": device, "drivers": {}, "arms": [], "excluded": [], "environment": environment(machine, id),
            }));
            let here = Here { machine: "here".into(), environment: environment("here", 0x56a0), pool };
            here.counts(&manifest.unwrap(), &record)
        };
        let card = "pci:0000:03:00.0";
        assert!(counts("here", 0x56a0, card, false));
        assert!(!counts("there", 0x56a0, card, false) && counts("there", 0x56a0, card, true));
        assert!(!counts("there", 0xe20b, card, true) && !counts("there", 0x56a0, "pci:0000:04:00.0", true));
        assert!(!counts("there", 0, "sim:a770", false) && counts("there", 0, "sim:a770", true));
    }
}
