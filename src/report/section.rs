//! Results directories as sections of a report: runs that may be counted together, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::results::manifest::{DriverIdentity, LeftOut, RuntimeIdentity};
use crate::results::merge::{self, Source};
use crate::results::{Loaded, Manifest, Problem, machine};

use super::aggregate::{self, ArmSummary};
use super::findings::{self, Finding};
use super::outcome;

/// What two runs must share to be counted together: the experiment, the machine, the device and the driver builds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub matrix: String,
    pub matrix_sha256: String,
    pub device: String,
    pub machine: String,
    /// (name in the matrix, content hash), SYCL runtimes behind the driver builds.
    pub drivers: Vec<(String, String)>,
    /// Rule that ended the runs of an arm, in words.
    pub stop: String,
}

/// One matrix on one machine, device and set of driver builds.
#[derive(Clone, Debug)]
pub struct Section {
    pub key: Key,
    /// RFC 3339, UTC: the earliest start.
    pub started: String,
    pub tool: String,
    pub seed: u64,
    /// The matrix file, where the results hold it.
    pub matrix_text: Option<String>,
    pub drivers: BTreeMap<String, DriverIdentity>,
    pub runtimes: BTreeMap<String, RuntimeIdentity>,
    pub environment: serde_json::Value,
    /// In the order of the matrix, repeats summed over the directories.
    pub arms: Vec<Arm>,
    pub excluded: Vec<(String, String)>,
    pub left_out: Vec<LeftOut>,
    /// In the order of [`Section::arms`].
    pub summaries: Vec<ArmSummary>,
    /// By arm, then time.
    pub records: Vec<RunRecord>,
    /// The results directory of each record.
    pub dirs: Vec<PathBuf>,
    /// Runs that were there more than once (a directory given twice, a copy, a repeated line): each counts once.
    pub repeated: usize,
    pub findings: Vec<Finding>,
    pub exit: Exit,
}

/// What a report is made of.
#[derive(Clone, Debug)]
pub struct Report {
    pub sections: Vec<Section>,
    /// What could not be read: told in every format.
    pub problems: Vec<Problem>,
}

impl Report {
    /// Groups results directories into sections. The order of `loaded` does not matter.
    pub fn of(loaded: Vec<Loaded>, problems: Vec<Problem>) -> Self {
        let mut groups: BTreeMap<Key, Vec<Loaded>> = BTreeMap::new();
        for one in loaded {
            for (machine, part) in by_machine(one) {
                groups.entry(key(&part.manifest, machine)).or_default().push(part);
            }
        }
        Report { sections: groups.into_iter().map(|(key, parts)| section(key, parts)).collect(), problems }
    }

    /// Records left out because the same run is counted already.
    pub fn repeated(&self) -> usize {
        self.sections.iter().map(|section| section.repeated).sum()
    }

    /// Statistics never cross these.
    pub fn machines(&self) -> usize {
        let machines: BTreeSet<&str> =
            self.sections.iter().map(|section| section.key.machine.as_str()).collect();
        machines.len()
    }
}

impl Section {
    /// Runs of one arm with their directories, in time order.
    pub fn runs_of<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = (&'a RunRecord, &'a PathBuf)> {
        self.records.iter().zip(&self.dirs).filter(move |(record, _)| record.arm == arm)
    }

    /// The arms that were asked for and could not run on this machine.
    pub fn not_here(&self) -> Vec<&LeftOut> {
        self.left_out.iter().filter(|out| out.not_here).collect()
    }

    pub fn simulated(&self) -> bool {
        self.records.iter().any(|record| record.device.starts_with("sim:"))
    }

    /// The device, for people: a model is called one.
    pub fn device_line(&self) -> String {
        let name = |word: &str| match (word.starts_with("sim:"), word.strip_suffix(',')) {
            (false, _) => word.to_owned(),
            (true, Some(name)) => format!("{name} (a model),"),
            (true, None) => format!("{word} (a model)"),
        };
        self.key.device.split(' ').map(name).collect::<Vec<_>>().join(" ")
    }

    /// Driver versions, for people.
    pub fn driver_line(&self) -> String {
        let line = |(name, driver): (&String, &DriverIdentity)| match self.drivers.len() {
            1 => driver.versions.clone(),
            _ => format!("{name}: {}", driver.versions),
        };
        self.drivers.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

fn key(manifest: &Manifest, machine: String) -> Key {
    Key {
        matrix: manifest.matrix.clone(),
        matrix_sha256: manifest.matrix_sha256.clone(),
        device: manifest.device.clone(),
        machine,
        drivers: (manifest.drivers.iter().map(|(name, driver)| (name.clone(), driver.hash.clone())))
            .chain(manifest.runtimes.iter().map(|(name, r)| (format!("runtime {name}"), r.hash.clone())))
            .collect(),
        stop: manifest.stop.as_ref().map(|rule| rule.to_string()).unwrap_or_default(),
    }
}

/// The parts of a directory that are of one machine: a merged one holds several.
fn by_machine(loaded: Loaded) -> Vec<(String, Loaded)> {
    if loaded.manifest.sources.is_empty() {
        return vec![(machine::id(&loaded.manifest.environment), loaded)];
    }
    let mut parts: BTreeMap<String, Loaded> = BTreeMap::new();
    for source in loaded.manifest.sources.values() {
        let part = parts.entry(source.machine.clone()).or_insert_with(|| Loaded {
            dir: loaded.dir.clone(),
            manifest: Manifest {
                started: source.started.clone(),
                environment: source.environment.clone(),
                arms: Vec::new(),
                ..loaded.manifest.clone()
            },
            records: Vec::new(),
            whole_bytes: loaded.whole_bytes,
            torn_bytes: loaded.torn_bytes,
            out_of_time: loaded.out_of_time,
        });
        part.manifest.started = part.manifest.started.clone().min(source.started.clone());
    }
    for (machine, part) in &mut parts {
        let of_machine = || loaded.manifest.sources.iter().filter(|(_, source)| source.machine == *machine);
        for arm in &loaded.manifest.arms {
            let planned: Vec<u32> =
                of_machine().filter_map(|(_, source)| source.arms.get(&arm.id).copied()).collect();
            if !planned.is_empty() {
                let repeats = planned.iter().fold(0u32, |sum, n| sum.saturating_add(*n));
                part.manifest.arms.push(Arm { repeats, ..arm.clone() });
            }
        }
        let ids: Vec<&String> = of_machine().map(|(id, _)| id).collect();
        part.records = loaded
            .records
            .iter()
            .filter(|r| r.source.as_ref().is_some_and(|id| ids.contains(&id)))
            .cloned()
            .collect();
    }
    parts.into_iter().collect()
}

fn section(key: Key, mut parts: Vec<Loaded>) -> Section {
    parts.sort_by(|a, b| (&a.manifest.started, &a.dir).cmp(&(&b.manifest.started, &b.dir)));
    let mut arms: Vec<Arm> = Vec::new();
    let (mut excluded, mut left_out) = (Vec::new(), Vec::<LeftOut>::new());
    for part in &parts {
        for arm in &part.manifest.arms {
            if !arms.iter().any(|known| known.id == arm.id) {
                arms.push(arm.clone());
            }
        }
        excluded.extend(part.manifest.excluded.iter().cloned());
        left_out.extend(part.manifest.left_out.iter().cloned());
    }
    // One source in several directories planned its runs once.
    let sources: BTreeMap<String, Source> =
        parts.iter().flat_map(|part| merge::sources(&part.manifest)).collect();
    for arm in &mut arms {
        let here = sources.values().filter(|source| source.machine == key.machine);
        let planned = here.filter_map(|source| source.arms.get(&arm.id));
        arm.repeats = planned.fold(0, |sum, n| n.saturating_add(sum));
    }
    // What one directory left out, another may have run.
    excluded.retain(|(id, _)| !arms.iter().any(|arm| arm.id == *id));
    excluded.dedup();
    left_out.retain(|out| !arms.iter().any(|arm| arm.id == out.arm));
    let left_out = LeftOut::once_each(left_out);
    let first = parts.first().map(|part| part.manifest.clone());
    let rule = first.as_ref().and_then(|manifest| manifest.stop.clone());
    let time_over = rule.as_ref().is_some_and(|rule| {
        let over =
            |part: &Loaded| aggregate::time_over(rule, part.out_of_time, &part.manifest.arms, &part.records);
        parts.iter().all(over)
    });
    let place: BTreeMap<String, usize> =
        arms.iter().enumerate().map(|(index, arm)| (arm.id.clone(), index)).collect();
    let (mut runs, mut seen, mut repeated) = (Vec::<(RunRecord, PathBuf)>::new(), BTreeSet::new(), 0);
    for part in parts {
        let only = merge::sources(&part.manifest).into_keys().next();
        for record in part.records {
            match seen.insert(merge::identity(&record, only.as_ref())) {
                true => runs.push((record, part.dir.clone())),
                false => repeated += 1,
            }
        }
    }
    let order = |r: &RunRecord| (place.get(&r.arm).copied(), r.started.clone(), r.repeat);
    runs.sort_by_cached_key(|(record, _)| order(record));
    let (records, dirs): (Vec<RunRecord>, Vec<PathBuf>) = runs.into_iter().unzip();
    let summaries = aggregate::summarise_under(rule.as_ref(), time_over, &arms, &records);
    let findings = findings::findings(&arms, &summaries, &records, &left_out);
    let exit = outcome::exit(&arms, &summaries, &left_out);
    let (started, tool, seed, text, drivers, runtimes, environment) = first
        .map_or_else(Default::default, |m| {
            (m.started, m.tool, m.seed, m.matrix_text, m.drivers, m.runtimes, m.environment)
        });
    Section {
        key,
        started,
        tool,
        seed,
        matrix_text: (!text.is_empty()).then_some(text),
        drivers,
        runtimes,
        environment,
        arms,
        excluded,
        left_out,
        summaries,
        records,
        dirs,
        repeated,
        findings,
        exit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn the_same_run_counts_once() {
        let arm = fixture::arm("a", |arm| arm.repeats = 2);
        let record = |repeat| fixture::record(&arm, repeat, repeat == 0);
        let manifest: Manifest = serde_json::from_value(serde_json::json!({
            "version": 1, "tool": "0", "matrix": "m", "matrix_sha256": "0", "seed": 1,
            "started": "2026-11-29T15:12:00Z", "device": "sim:a770", "drivers": {},
            "arms": [arm], "excluded": [], "environment": { "machine": "m1" },
        }))
        .unwrap();
        let results = |dir: &str, manifest: &Manifest, records| Loaded {
            dir: PathBuf::from(dir),
            manifest: manifest.clone(),
            records,
            whole_bytes: 0,
            torn_bytes: 0,
            out_of_time: false,
        };
        let original = results("a", &manifest, vec![record(0), record(1)]);
        let mut copy = results("b", &manifest, vec![record(0), record(1), record(1)]);
        copy.records[0].logs = vec!["logs/elsewhere".into()];
        let later = Manifest { started: "2026-11-30T15:12:00Z".into(), ..manifest.clone() };
        let merged =
            merge::union(&[original.clone(), results("c", &later, vec![record(0)])]).unwrap().unwrap();
        let merged = results("d", &merged.manifest, merged.records);
        let of = |parts: Vec<Loaded>| {
            let report = Report::of(parts, vec![]);
            let [section] = &report.sections[..] else { panic!("one section") };
            (section.summaries[0].runs, section.arms[0].repeats, report.repeated())
        };
        assert_eq!(of(vec![original.clone()]), (2, 2, 0));
        assert_eq!(of(vec![original.clone(), copy]), (2, 2, 3));
        // Equal records of another start are other runs; a merged directory repeats those of its parts.
        assert_eq!(of(vec![original, merged]), (3, 4, 2));
    }
}
