//! `manifest.json`: what this directory is a run of. Written once, before the first run.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::model::arm::Arm;

use super::{MANIFEST, ResultsError, machine, version};

/// Everything that two runs must share to be one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub version: u32,
    /// Version of the tool that wrote it.
    pub tool: String,
    pub matrix: String,
    /// SHA-256 of the matrix file, hexadecimal.
    pub matrix_sha256: String,
    /// The file itself, so that the results can be repeated from themselves.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub matrix_text: String,
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started: String,
    /// The device really used.
    pub device: String,
    /// Content hash of each driver build's manifest, by the name the matrix uses.
    pub drivers: std::collections::BTreeMap<String, DriverIdentity>,
    /// SYCL runtimes that the arms use, by the name the matrix uses.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub runtimes: std::collections::BTreeMap<String, RuntimeIdentity>,
    /// Selected arms and repeats: resolved, so that a reader needs no matrix file.
    pub arms: Vec<Arm>,
    /// (arm, reason) of what the plan left out.
    pub excluded: Vec<(String, String)>,
    /// What else is to be known of some of `excluded`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Arms were run until this was met, not a number of times fixed beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<crate::stats::stopping::StopRule>,
    /// "2/4" where only this part of the plan was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// Ids of all arms of the plan, other shards' too, in its order. Empty = those of `arms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<String>,
    /// Of a merged directory: the runs that are in it.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub sources: std::collections::BTreeMap<String, super::merge::Source>,
    /// Kernel, distribution, processor, memory. No user or host names.
    pub environment: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverIdentity {
    pub hash: String,
    /// For people: "NEO 26.27.39122.14 · IGC 2.40.14".
    pub versions: String,
    /// The driver store's manifest, as it stores it.
    #[serde(default)]
    pub manifest: serde_json::Value,
}

/// What results say of a SYCL runtime and of what compiles for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeIdentity {
    /// Over the front end, its packages and the libraries below: the same = the same runtime.
    pub hash: String,
    /// For people: "SYCL runtime 2026.2.0 · Unified Runtime 0.12.0 · DPC++ run-time compiler (…) + g++ 12.2.0".
    pub versions: String,
    /// "intel-cmplr-lib-ur 2026.2.0".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    pub libraries: Vec<crate::toolchain::Library>,
}

/// An arm that was not run, where that takes something from what the others show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub arm: String,
    pub reason: String,
    /// It was asked for, and this machine cannot run it.
    #[serde(default)]
    pub not_here: bool,
    /// Something is expected of it, and its driver build or card is not here: the expectation has no answer.
    #[serde(default)]
    pub unanswered: bool,
    /// It is the positive control.
    #[serde(default)]
    pub positive_control: bool,
}

impl LeftOut {
    /// Each arm once, though several directories left it out: what one of them knows of it holds.
    pub fn once_each(mut all: Vec<LeftOut>) -> Vec<LeftOut> {
        all.sort_by(|a, b| (&a.arm, b.not_here, &a.reason).cmp(&(&b.arm, a.not_here, &b.reason)));
        all.dedup_by(|later, first| {
            let same = later.arm == first.arm;
            if same {
                first.unanswered |= later.unanswered;
                first.positive_control |= later.positive_control;
            }
            same
        });
        all
    }
}

/// In a device's name: what follows are the rules of the faults that it injects.
pub const INJECTED: &str = " with injected faults ";

impl Manifest {
    /// Writes it so that a kill leaves either nothing or the whole file.
    pub fn write(&self, dir: &Path) -> Result<(), ResultsError> {
        let path = dir.join(MANIFEST);
        let partial = dir.join("manifest.json.partial");
        let write = || -> std::io::Result<()> {
            let mut text = serde_json::to_vec_pretty(self)?;
            text.push(b'\n');
            let mut file = File::create(&partial)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&partial, &path)?;
            File::open(dir)?.sync_all()
        };
        write().map_err(ResultsError::io(&path))
    }

    pub fn read(dir: &Path) -> Result<Self, ResultsError> {
        #[derive(Deserialize)]
        struct VersionOnly {
            version: u32,
        }
        let path = dir.join(MANIFEST);
        let bytes = std::fs::read(&path).map_err(ResultsError::io(&path))?;
        let damaged = |e: serde_json::Error| ResultsError::Damaged {
            path: path.clone(),
            line: e.line(),
            why: e.to_string(),
        };
        // The version first: a newer format may not parse at all.
        let VersionOnly { version } = serde_json::from_slice(&bytes).map_err(damaged)?;
        version::check_readable(version)
            .map_err(|reason| ResultsError::Unreadable { path: path.clone(), reason })?;
        serde_json::from_slice(&bytes).map_err(damaged)
    }

    /// What forbids that `now` continues the run that this manifest is of; empty = it may.
    pub fn differences(&self, now: &Manifest) -> Vec<String> {
        let mut out = Vec::new();
        let mut differ = |what: &str, then: &str, now: &str| {
            if then != now {
                out.push(format!("{what} was {then}, is {now}"));
            }
        };
        differ("the matrix", &self.matrix, &now.matrix);
        differ("the matrix file's SHA-256", &self.matrix_sha256, &now.matrix_sha256);
        differ("the seed", &self.seed.to_string(), &now.seed.to_string());
        let rule = |m: &Manifest| m.stop.as_ref().map_or("none".to_owned(), ToString::to_string);
        differ("the stopping rule", &rule(self), &rule(now));
        differ("the device", &self.device, &now.device);
        // A model is the same everywhere; another machine's card has only its address in common with this one.
        if self.device.split(", ").any(|device| device.starts_with("pci:")) {
            differ("the machine", &machine::id(&self.environment), &machine::id(&now.environment));
        }
        for name in self.drivers.keys().chain(now.drivers.keys().filter(|n| !self.drivers.contains_key(*n))) {
            let hash = |m: &Manifest| m.drivers.get(name).map_or("absent".to_owned(), |d| d.hash.clone());
            differ(&format!("driver \"{name}\""), &hash(self), &hash(now));
        }
        let names =
            self.runtimes.keys().chain(now.runtimes.keys().filter(|n| !self.runtimes.contains_key(*n)));
        for name in names {
            let hash = |m: &Manifest| m.runtimes.get(name).map_or("absent".to_owned(), |r| r.hash.clone());
            differ(&format!("SYCL runtime \"{name}\""), &hash(self), &hash(now));
        }
        if out.is_empty() && self.arms != now.arms {
            out.push(arms_differ(&self.arms, &now.arms));
        }
        out
    }
}

/// Where two selections of arms differ: which arms only one has, else what is set differently in the first that differs.
fn arms_differ(then: &[Arm], now: &[Arm]) -> String {
    let only = |here: &[Arm], there: &[Arm]| -> Vec<String> {
        here.iter().filter(|a| there.iter().all(|b| a.id != b.id)).map(|a| a.id.clone()).collect()
    };
    let told = |arms: &[String], what: &str| match arms {
        [] => None,
        [one] => Some(format!("arm {one} {what}")),
        [first, more @ ..] => Some(format!("arm {first} and {} more {what}", more.len())),
    };
    let gone = told(&only(then, now), "not selected now (the same --arm, --only-… and --shard are wanted)");
    let new = told(&only(now, then), "selected now, not then");
    if gone.is_some() || new.is_some() {
        return gone.into_iter().chain(new).collect::<Vec<_>>().join("; ");
    }
    let fields = |arm: &Arm| match serde_json::to_value(arm) {
        Ok(serde_json::Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let differing = then.iter().filter_map(|a| Some((a, now.iter().find(|b| a.id == b.id && *b != a)?)));
    for (a, b) in differing {
        let (a_fields, b_fields) = (fields(a), fields(b));
        let differ = a_fields.iter().find_map(|(name, value)| {
            let other = b_fields.get(name).unwrap_or(&serde_json::Value::Null);
            (other != value).then(|| format!("{}: {name} was {value}, is {other}", a.id))
        });
        if let Some(differ) = differ {
            return differ;
        }
    }
    "the order of the arms or their settings differ".into()
}
