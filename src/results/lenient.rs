//! Reads a results directory for a report: what can be used is used, and what cannot is named with its place.
//! (`run --resume` uses [`super::load`], which stops at the first damage: it would write behind it.)

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::model::outcome::RunRecord;

use super::{Loaded, MANIFEST, Manifest, RUNS, ResultsError, version};

/// One thing that a report does without, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    /// From 1.
    pub line: Option<usize>,
    pub what: String,
    /// Runs are not counted because of it.
    pub loses_runs: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.what),
            None => write!(f, "{}: {}", self.path.display(), self.what),
        }
    }
}

/// Unreadable lines that are named one by one: a file of another kind has nothing else.
const MOST_LINES: usize = 10;

/// Reads `dir`. `Err`: nothing of it can be used.
pub fn load_lenient(dir: &Path) -> Result<(Loaded, Vec<Problem>), ResultsError> {
    expect_results(dir)?;
    let manifest = Manifest::read(dir)?;
    let path = dir.join(RUNS);
    let mut problems = Vec::new();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            problems.push(Problem {
                path: path.clone(),
                line: None,
                what: "not there: no run was recorded".into(),
                loses_runs: true,
            });
            Vec::new()
        }
        Err(e) => return Err(ResultsError::Io { path, error: e }),
    };
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (lines, torn) = bytes.split_at_checked(whole).unwrap_or((&[], &[]));
    let (mut records, mut unread) = (Vec::new(), 0);
    for (index, line) in lines.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        match record(line) {
            Ok(record) => records.push(record),
            Err(what) if unread < MOST_LINES => {
                unread += 1;
                problems.push(Problem { path: path.clone(), line: Some(index + 1), what, loses_runs: true });
            }
            Err(_) => unread += 1,
        }
    }
    if unread > MOST_LINES {
        let what = format!("{} more lines are no run records; they are not counted", unread - MOST_LINES);
        problems.push(Problem { path: path.clone(), line: None, what, loses_runs: true });
    }
    if !torn.is_empty() {
        let what = format!(
            "the last line is cut off after {} bytes: a run that was being recorded; it is not counted",
            torn.len()
        );
        let line = lines.iter().filter(|b| **b == b'\n').count() + 1;
        problems.push(Problem { path: path.clone(), line: Some(line), what, loses_runs: true });
    }
    problems.extend(strangers(&path, &manifest, &records));
    problems.extend(missing_logs(dir, &records));
    let loaded = Loaded {
        dir: dir.to_owned(),
        manifest,
        records,
        whole_bytes: whole as u64,
        torn_bytes: torn.len() as u64,
        out_of_time: dir.join(super::OUT_OF_TIME).exists(),
    };
    Ok((loaded, problems))
}

/// An error unless `dir` has a manifest.
pub(super) fn expect_results(dir: &Path) -> Result<(), ResultsError> {
    if dir.join(MANIFEST).exists() {
        return Ok(());
    }
    Err(ResultsError::NoResults { path: dir.to_owned(), below: directories_below(dir) })
}

pub(super) fn record(line: &[u8]) -> Result<RunRecord, String> {
    #[derive(Deserialize)]
    #[serde(expecting = "a JSON object with its version")]
    struct VersionOnly {
        version: u32,
    }
    let unread = |e: serde_json::Error| format!("no run record ({e}); it is not counted");
    // The version first: a newer record may not parse at all.
    let VersionOnly { version } = serde_json::from_slice(line).map_err(unread)?;
    version::check_readable(version).map_err(|why| format!("{why}; the run is not counted"))?;
    serde_json::from_slice(line).map_err(unread)
}

/// Runs of arms that the manifest does not have.
fn strangers(path: &Path, manifest: &Manifest, records: &[RunRecord]) -> Option<Problem> {
    let known: std::collections::BTreeSet<&str> = manifest.arms.iter().map(|arm| arm.id.as_str()).collect();
    let strange: std::collections::BTreeSet<&str> =
        records.iter().map(|r| r.arm.as_str()).filter(|arm| !known.contains(arm)).collect();
    let first = strange.first()?;
    Some(Problem {
        path: path.to_owned(),
        line: None,
        what: format!(
            "{} arms are not in {MANIFEST} (first: {first}): their runs are in no table",
            strange.len()
        ),
        loses_runs: true,
    })
}

/// One problem a directory, however many files: an archive without its logs is common.
fn missing_logs(dir: &Path, records: &[RunRecord]) -> Option<Problem> {
    let all = || records.iter().flat_map(|r| &r.logs);
    let missing: Vec<&String> = all().filter(|log| !dir.join(log).exists()).collect();
    let first = missing.first()?;
    Some(Problem {
        path: dir.to_owned(),
        line: None,
        what: format!(
            "{} of {} log files are missing (first: {first}): verdicts stand, their log lines cannot be shown",
            missing.len(),
            all().count()
        ),
        loses_runs: false,
    })
}

/// Results directories up to two levels below: what the user may have meant.
fn directories_below(dir: &Path) -> Vec<PathBuf> {
    let children = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let near = children(dir);
    let far = near.iter().flat_map(|child| children(child));
    let mut found: Vec<PathBuf> =
        near.iter().cloned().chain(far).filter(|path| path.join(MANIFEST).exists()).collect();
    found.sort();
    found
}
