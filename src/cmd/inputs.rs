//! What a run reads: hashed before it, and looked at again after it. A file that changed under a run makes the run void.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::driver;

/// What tells that a file was written to, without reading it: device, inode, size, and times in ns.
type Stamp = (u64, u64, u64, i128, i128);

/// Hashes by file and stamp: the source file and the modules are shared by many runs.
static KNOWN: Mutex<BTreeMap<(PathBuf, Stamp), String>> = Mutex::new(BTreeMap::new());

/// The files that a command line names, as they were before the run.
#[derive(Debug)]
pub struct Inputs(Vec<(PathBuf, Stamp, String)>);

fn stamp(path: &Path) -> Option<Stamp> {
    let m = path.metadata().ok()?;
    let time = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    Some((m.dev(), m.ino(), m.len(), time(m.mtime(), m.mtime_nsec()), time(m.ctime(), m.ctime_nsec())))
}

fn hash(path: &Path, stamp: Stamp) -> Option<String> {
    let key = (path.to_owned(), stamp);
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    if known.is_some() {
        return known;
    }
    let hash = driver::sha256_file(path).ok()?;
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, hash.clone());
    Some(hash)
}

impl Inputs {
    /// Files that follow `--file`, `--module` and the like in `argv`: programs and libraries are proved otherwise.
    pub fn before(argv: &[OsString]) -> Self {
        let option = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("--"));
        let files = argv.windows(2).filter(|pair| pair.first().is_some_and(option)).filter_map(|pair| {
            let path = PathBuf::from(pair.get(1)?);
            let named =
                pair.first()?.to_str().is_some_and(|word| word.contains("file") || word.contains("module"));
            let stamp = stamp(&path).filter(|_| named && path.is_file())?;
            Some((path.clone(), stamp, hash(&path, stamp)?))
        });
        Inputs(files.collect())
    }

    /// One sentence for the evidence.
    pub fn told(&self) -> Option<String> {
        let files: Vec<String> = self
            .0
            .iter()
            .map(|(path, stamp, hash)| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("{name} ({} B, SHA-256 {})", stamp.2, hash.get(..16).unwrap_or(hash))
            })
            .collect();
        (!files.is_empty()).then(|| format!("inputs unchanged by the run: {}", files.join(", ")))
    }

    /// Files that are no longer what they were.
    pub fn changed(&self) -> Vec<String> {
        let differs = |(path, before, old): &&(PathBuf, Stamp, String)| match stamp(path) {
            Some(now) if now == *before => false,
            // Touched or replaced: only the content counts.
            Some(now) => hash(path, now).as_ref() != Some(old),
            None => true,
        };
        self.0
            .iter()
            .filter(differs)
            .map(|(path, ..)| format!("{} changed during the run", path.display()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_changed_content_counts() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("src.bin");
        std::fs::write(&path, "one").expect("write");
        let argv: Vec<OsString> =
            ["x", "--file", path.to_str().expect("UTF-8"), "--prot", "r"].map(OsString::from).into();
        let inputs = Inputs::before(&argv);
        assert!(inputs.changed().is_empty());
        // sha256("one").
        assert!(
            inputs.told().is_some_and(|told| told.contains("src.bin (3 B, SHA-256 7692c3ad3540bb80)")),
            "{inputs:?}"
        );
        std::fs::write(&path, "one").expect("write");
        assert!(inputs.changed().is_empty(), "written anew with the same bytes");
        std::fs::write(&path, "two").expect("write");
        assert_eq!(inputs.changed(), [format!("{} changed during the run", path.display())]);
        std::fs::remove_file(&path).expect("remove");
        assert_eq!(inputs.changed().len(), 1);
        assert_eq!(Inputs::before(&argv).told(), None);
    }
}
