//! Several results directories of one matrix as one: the union of their runs. Merging in another order, or the same
//! directory twice, gives the same bytes: runs are known by their content.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::model::arm::Arm;
use crate::model::outcome::{RESULTS_VERSION, RunRecord};

use super::manifest::LeftOut;
use super::{Loaded, Manifest, ResultsError, arm_path, machine};

/// One `run` whose results are in a merged directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    pub started: String,
    pub machine: String,
    pub environment: serde_json::Value,
    pub seed: u64,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Arm → planned repeats.
    pub arms: BTreeMap<String, u32>,
}

/// The union, and where each of its log files comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    pub manifest: Manifest,
    pub records: Vec<RunRecord>,
    /// Lines of `builds.jsonl`, each once, sorted.
    pub builds: BTreeSet<String>,
    /// (path in the merged directory, existing file).
    pub logs: BTreeMap<String, PathBuf>,
    /// A stopping rule's time ended the runs that lack some; [`union`] does not know.
    pub out_of_time: bool,
}

/// Why directories are no results of one matrix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} is not of the same matrix as {first}: {}", differences.join("; "), path = path.display(), first = first.display())]
pub struct NotOne {
    pub first: PathBuf,
    pub path: PathBuf,
    pub differences: Vec<String>,
}

/// Sources of a manifest: its own, or the one run that it is.
pub fn sources(manifest: &Manifest) -> BTreeMap<String, Source> {
    if !manifest.sources.is_empty() {
        return manifest.sources.clone();
    }
    let text = serde_json::to_string(manifest).unwrap_or_default();
    let source = Source {
        started: manifest.started.clone(),
        machine: machine::id(&manifest.environment),
        environment: manifest.environment.clone(),
        seed: manifest.seed,
        tool: manifest.tool.clone(),
        shard: manifest.shard.clone(),
        arms: manifest.arms.iter().map(|arm| (arm.id.clone(), arm.repeats)).collect(),
    };
    BTreeMap::from([(short(&text), source)])
}

/// What tells a run from every other: its content and its source, wherever its logs are.
pub fn identity(record: &RunRecord, only: Option<&String>) -> String {
    let source = record.source.clone().or_else(|| only.cloned());
    let run = RunRecord { source, logs: Vec::new(), ..record.clone() };
    short(&serde_json::to_string(&run).unwrap_or_default())
}

/// What tells runs from each other, whatever directory they are in: arm, repeat, start and wall time.
pub type Run = (String, u32, String, u64);

/// See [`Run`].
pub fn run_of(record: &RunRecord) -> Run {
    (record.arm.clone(), record.repeat, record.started.clone(), record.wall_seconds.to_bits())
}

/// Enough of a hash to tell runs apart.
fn short(text: &str) -> String {
    let hash = crate::driver::sha256(text.as_bytes());
    hash.get(..16).unwrap_or(&hash).to_owned()
}

/// Merges `parts`; `None` if there are none.
pub fn union(parts: &[Loaded]) -> Result<Option<Merged>, NotOne> {
    let Some(first) = parts.first() else { return Ok(None) };
    for part in parts {
        let differences = differences(&first.manifest, &part.manifest);
        if !differences.is_empty() {
            return Err(NotOne { first: first.dir.clone(), path: part.dir.clone(), differences });
        }
    }
    let all: BTreeMap<String, Source> = parts.iter().flat_map(|part| sources(&part.manifest)).collect();
    let mut runs: BTreeMap<(usize, String, String), RunRecord> = BTreeMap::new();
    let mut logs = BTreeMap::new();
    let plan = plan(parts);
    let place: BTreeMap<&str, usize> = plan.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    for part in parts {
        let only = sources(&part.manifest).into_keys().next();
        for record in &part.records {
            let id = identity(record, only.as_ref());
            let mut record = record.clone();
            // A run of a directory that was not merged is of that directory's one source.
            record.source = record.source.take().or_else(|| only.clone());
            let old = std::mem::take(&mut record.logs);
            for log in old {
                let Some(name) = Path::new(&log).file_name().and_then(|name| name.to_str()) else { continue };
                let path = Path::new(super::LOGS).join(arm_path(&record.arm)).join(&id).join(name);
                let path = path.to_string_lossy().into_owned();
                let file = part.dir.join(&log);
                record.logs.push(path.clone());
                // The same run from two directories: any that has the file.
                if file.exists() {
                    logs.entry(path).or_insert(file);
                }
            }
            record.logs.sort();
            let at = place.get(record.arm.as_str()).copied().unwrap_or(usize::MAX);
            runs.insert((at, record.started.clone(), id), record);
        }
    }
    let builds = parts
        .iter()
        .flat_map(|part| {
            let text = std::fs::read_to_string(part.dir.join(super::BUILDS)).unwrap_or_default();
            // A line without its end was being written.
            text.split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let manifest = manifest(parts, all, plan);
    Ok(Some(Merged { manifest, records: runs.into_values().collect(), builds, logs, out_of_time: false }))
}

/// What forbids merging. Seeds, machines and repeats may differ.
fn differences(a: &Manifest, b: &Manifest) -> Vec<String> {
    let mut same = b.clone();
    same.seed = a.seed;
    same.arms = a.arms.clone();
    same.environment = a.environment.clone();
    let mut out = a.differences(&same);
    for arm in &a.arms {
        let other = b.arms.iter().find(|other| other.id == arm.id);
        if other.is_some_and(|other| Arm { repeats: arm.repeats, ..other.clone() } != *arm) {
            out.push(format!("the arm \"{}\" is defined or expected otherwise", arm.id));
        }
    }
    out
}

/// All arms of the plan: in its order where the parts agree on it, else by name.
fn plan(parts: &[Loaded]) -> Vec<String> {
    let of = |manifest: &Manifest| -> Vec<String> {
        match manifest.plan.is_empty() {
            true => manifest.arms.iter().map(|arm| arm.id.clone()).collect(),
            false => manifest.plan.clone(),
        }
    };
    let plans: BTreeSet<Vec<String>> = parts.iter().map(|part| of(&part.manifest)).collect();
    if plans.len() == 1 {
        return plans.into_iter().next().unwrap_or_default();
    }
    // Sorted, so that no order of merging shows.
    plans.into_iter().flatten().collect::<BTreeSet<String>>().into_iter().collect()
}

fn manifest(parts: &[Loaded], sources: BTreeMap<String, Source>, plan: Vec<String>) -> Manifest {
    let known: BTreeMap<&str, &Arm> =
        parts.iter().flat_map(|part| &part.manifest.arms).map(|arm| (arm.id.as_str(), arm)).collect();
    let repeats =
        |id: &str| sources.values().filter_map(|s| s.arms.get(id)).fold(0u32, |n, r| n.saturating_add(*r));
    let arms: Vec<Arm> = plan
        .iter()
        .filter_map(|id| known.get(id.as_str()).map(|arm| Arm { repeats: repeats(id), ..(*arm).clone() }))
        .collect();
    let excluded: BTreeSet<(String, String)> = parts
        .iter()
        .flat_map(|part| part.manifest.excluded.iter().cloned())
        .filter(|(id, _)| !known.contains_key(id.as_str()))
        .collect();
    let left_out = parts
        .iter()
        .flat_map(|part| part.manifest.left_out.iter().cloned())
        .filter(|out| !known.contains_key(out.arm.as_str()));
    let left_out = LeftOut::once_each(left_out.collect());
    let machines: BTreeSet<&str> = sources.values().map(|source| source.machine.as_str()).collect();
    // Of one machine, the environment at the earliest start; of several, none speaks for the others.
    let earliest = sources
        .values()
        .min_by(|a, b| (&a.started, a.environment.to_string()).cmp(&(&b.started, b.environment.to_string())));
    let environment = match machines.len() {
        1 => earliest.map(|source| source.environment.clone()).unwrap_or_default(),
        _ => serde_json::Value::Null,
    };
    let pick = |of: fn(&Manifest) -> &String| {
        parts.iter().map(|part| of(&part.manifest)).max().cloned().unwrap_or_default()
    };
    Manifest {
        version: RESULTS_VERSION,
        tool: pick(|m| &m.tool),
        matrix: pick(|m| &m.matrix),
        matrix_sha256: pick(|m| &m.matrix_sha256),
        // Of several, the longest: one that has the text before one that has not.
        matrix_text: pick(|m| &m.matrix_text),
        seed: sources.values().map(|source| source.seed).min().unwrap_or_default(),
        started: sources.values().map(|source| source.started.clone()).min().unwrap_or_default(),
        device: pick(|m| &m.device),
        drivers: parts.iter().flat_map(|part| part.manifest.drivers.clone()).collect(),
        runtimes: parts.iter().flat_map(|part| part.manifest.runtimes.clone()).collect(),
        stop: parts.first().and_then(|part| part.manifest.stop.clone()),
        shard: None,
        plan,
        sources,
        arms,
        excluded: excluded.into_iter().collect(),
        left_out,
        environment,
    }
}

impl Merged {
    /// Arms of the plan that no part holds.
    pub fn missing(&self) -> Vec<&str> {
        let have: BTreeSet<&str> = self.manifest.arms.iter().map(|arm| arm.id.as_str()).collect();
        let out: BTreeSet<&str> = self.manifest.excluded.iter().map(|(id, _)| id.as_str()).collect();
        self.manifest
            .plan
            .iter()
            .map(String::as_str)
            .filter(|id| !have.contains(id) && !out.contains(id))
            .collect()
    }

    /// Writes the directory `to`, which must not exist: whole, or not at all.
    pub fn write(&self, to: &Path) -> Result<(), ResultsError> {
        if to.exists() {
            return Err(ResultsError::Busy { path: to.to_owned() });
        }
        let partial = to.with_extension("partial");
        let _ = std::fs::remove_dir_all(&partial);
        let copy = || -> std::io::Result<()> {
            std::fs::create_dir_all(&partial)?;
            for (path, file) in &self.logs {
                let target = partial.join(path);
                if let Some(parent) = target.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                std::fs::copy(file, target)?;
            }
            let mut lines = Vec::new();
            for record in &self.records {
                serde_json::to_writer(&mut lines, record)?;
                lines.push(b'\n');
            }
            std::fs::write(partial.join(super::RUNS), lines)?;
            if self.out_of_time {
                std::fs::write(partial.join(super::OUT_OF_TIME), "")?;
            }
            if self.builds.is_empty() {
                return Ok(());
            }
            std::fs::write(
                partial.join(super::BUILDS),
                self.builds.iter().map(String::as_str).collect::<String>(),
            )
        };
        copy().map_err(ResultsError::io(&partial))?;
        self.manifest.write(&partial)?;
        std::fs::rename(&partial, to).map_err(ResultsError::io(to))
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
