//! Reads a results directory back.

use std::path::{Path, PathBuf};

use crate::model::outcome::RunRecord;

use super::{Manifest, RUNS, ResultsError, version};

/// A results directory's content.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub dir: PathBuf,
    pub manifest: Manifest,
    pub records: Vec<RunRecord>,
    /// Length of the whole lines of `runs.jsonl`, bytes.
    pub whole_bytes: u64,
    /// Bytes after the last whole line: a run that was being written when the writer was killed. Not a record.
    pub torn_bytes: u64,
    /// The run ended because its rule's time was over ([`super::OUT_OF_TIME`]).
    pub out_of_time: bool,
}

/// Reads `dir`. A torn last line is no error (it is counted); any other damage is.
pub fn load(dir: &Path) -> Result<Loaded, ResultsError> {
    super::lenient::expect_results(dir)?;
    let manifest = Manifest::read(dir)?;
    let path = dir.join(RUNS);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        // Killed between the manifest and the first run.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(ResultsError::Io { path, error: e }),
    };
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (lines, torn) = bytes.split_at_checked(whole).unwrap_or((&[], &[]));
    let mut records = Vec::new();
    for (index, line) in lines.split(|b| *b == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let damaged = |why: String| ResultsError::Damaged { path: path.clone(), line: index + 1, why };
        let record: RunRecord = serde_json::from_slice(line).map_err(|e| damaged(e.to_string()))?;
        version::check_readable(record.version)
            .map_err(|reason| ResultsError::Unreadable { path: path.clone(), reason })?;
        records.push(record);
    }
    Ok(Loaded {
        dir: dir.to_owned(),
        manifest,
        records,
        whole_bytes: whole as u64,
        torn_bytes: torn.len() as u64,
        out_of_time: dir.join(super::OUT_OF_TIME).exists(),
    })
}
