//! `builds.jsonl`: how the modules of this directory's runs were made, a line a build.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::model::build::BuildRecord;

use super::{BUILDS, ResultsError};

/// Appends the builds; a resumed run appends those it uses again.
pub fn append(dir: &Path, records: &[BuildRecord]) -> Result<(), ResultsError> {
    if records.is_empty() {
        return Ok(());
    }
    let path = dir.join(BUILDS);
    let write = || -> std::io::Result<()> {
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record)?;
            lines.push(b'\n');
        }
        OpenOptions::new().append(true).create(true).open(&path)?.write_all(&lines)
    };
    write().map_err(ResultsError::io(&path))
}

/// All lines; none where no build was recorded. A line that was being written when the program ended is left out.
pub fn load(dir: &Path) -> Result<Vec<BuildRecord>, ResultsError> {
    let path = dir.join(BUILDS);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ResultsError::Io { path, error }),
    };
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    let damaged = |line: usize, error: serde_json::Error| ResultsError::Damaged {
        path: path.clone(),
        line,
        why: error.to_string(),
    };
    whole
        .lines()
        .enumerate()
        .map(|(index, line)| serde_json::from_str(line).map_err(|error| damaged(index + 1, error)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(variant: &str) -> BuildRecord {
        BuildRecord {
            version: 1,
            variant: variant.to_owned(),
            target: "dg2-g10".to_owned(),
            driver: "default".to_owned(),
            cached: false,
            compiler_seconds: 2.5,
            modules: Vec::new(),
            notes: vec!["n".to_owned()],
        }
    }

    #[test]
    fn lines_come_back_and_a_torn_one_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        assert!(load(dir.path()).unwrap().is_empty());
        append(dir.path(), &[record("a"), record("b")]).unwrap();
        append(dir.path(), &[]).unwrap();
        append(dir.path(), &[record("c")]).unwrap();
        let path = dir.path().join(BUILDS);
        let mut text = std::fs::read(&path).unwrap();
        text.extend(b"{\"version\":1,\"vari");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(load(dir.path()).unwrap(), [record("a"), record("b"), record("c")]);
        std::fs::write(&path, "{}\n").unwrap();
        assert!(matches!(load(dir.path()), Err(ResultsError::Damaged { line: 1, .. })));
    }
}
