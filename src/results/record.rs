//! Appends finished runs, durably: one write and one fdatasync a run, so that a kill costs at most the run that is
//! in flight, and a full disk costs no run that was already reported.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::model::outcome::RunRecord;

use super::{Manifest, RUNS, ResultsError, read};

/// The writer of one results directory. At most one exists for a directory at a time, over all processes.
#[derive(Debug)]
pub struct Recorder {
    dir: PathBuf,
    runs: Flock<File>,
    runs_path: PathBuf,
    /// Bytes of whole lines.
    whole: u64,
    kept: usize,
}

/// What a resumed directory already holds.
#[derive(Debug)]
pub struct Resumed {
    pub recorder: Recorder,
    pub records: Vec<RunRecord>,
    /// Bytes of a torn last line that were dropped.
    pub dropped_bytes: u64,
}

impl Resumed {
    /// (arm, repeat) of every run that need not be done again.
    pub fn done(&self) -> BTreeSet<(String, u32)> {
        self.records.iter().map(|record| (record.arm.clone(), record.repeat)).collect()
    }
}

impl Recorder {
    /// Makes `root/<matrix>/<run-id>/` with its manifest.
    pub fn create(root: &Path, manifest: &Manifest) -> Result<Self, ResultsError> {
        let parent = root.join(super::arm_path(&manifest.matrix));
        std::fs::create_dir_all(&parent).map_err(ResultsError::io(&parent))?;
        let mut dir = parent.join(super::run_id(std::time::SystemTime::now()));
        for _ in 0..16 {
            match std::fs::create_dir(&dir) {
                Ok(()) => break,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                    dir = parent.join(super::run_id(std::time::SystemTime::now()));
                }
                Err(e) => return Err(ResultsError::Io { path: dir, error: e }),
            }
        }
        manifest.write(&dir)?;
        Self::open(dir, 0, 0)
    }

    /// Opens an existing directory to go on with `now`. Refuses, naming each difference, if `now` is not the same
    /// run; drops a torn last line.
    pub fn resume(dir: &Path, now: &Manifest) -> Result<Resumed, ResultsError> {
        // Opening it for writing makes files: not in a directory that holds no results.
        super::lenient::expect_results(dir)?;
        // The lock before the reading: another writer may be in the middle of a line.
        let mut recorder = Self::open(dir.to_owned(), 0, 0)?;
        let loaded = read::load(dir)?;
        let differences = loaded.manifest.differences(now);
        if !differences.is_empty() {
            return Err(ResultsError::Differs { path: dir.to_owned(), differences });
        }
        recorder.whole = loaded.whole_bytes;
        recorder.kept = loaded.records.len();
        if loaded.torn_bytes > 0 {
            recorder.cut_to_whole().map_err(ResultsError::io(&recorder.runs_path))?;
        }
        if loaded.out_of_time {
            // There is time again, until the rule says otherwise.
            let mark = dir.join(super::OUT_OF_TIME);
            std::fs::remove_file(&mark).map_err(ResultsError::io(&mark))?;
        }
        Ok(Resumed { recorder, records: loaded.records, dropped_bytes: loaded.torn_bytes })
    }

    fn open(dir: PathBuf, whole: u64, kept: usize) -> Result<Self, ResultsError> {
        let runs_path = dir.join(RUNS);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&runs_path)
            .map_err(ResultsError::io(&runs_path))?;
        let runs = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
            nix::Error::EWOULDBLOCK => ResultsError::Busy { path: dir.clone() },
            other => ResultsError::Io { path: runs_path.clone(), error: other.into() },
        })?;
        Ok(Recorder { dir, runs, runs_path, whole, kept })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Runs that are stored.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Notes that the rule's time ended the run.
    pub fn out_of_time(&self) -> Result<(), ResultsError> {
        let mark = self.dir.join(super::OUT_OF_TIME);
        File::create(&mark).and_then(|file| file.sync_all()).map_err(ResultsError::io(&mark))
    }

    /// Stores one run. On an error the file still ends with a whole line, and the run counts as not done.
    pub fn append(&mut self, record: &RunRecord) -> Result<(), ResultsError> {
        let mut line = serde_json::to_vec(record)
            .map_err(|e| ResultsError::Io { path: self.runs_path.clone(), error: e.into() })?;
        line.push(b'\n');
        let stored = self.runs.write_all(&line).and_then(|()| self.runs.sync_data());
        match stored {
            Ok(()) => {
                self.whole += line.len() as u64;
                self.kept += 1;
                Ok(())
            }
            Err(error) => {
                // Part of the line may be there. If even this fails, the reader drops the torn line.
                let _ = self.cut_to_whole();
                Err(self.explain(error))
            }
        }
    }

    fn cut_to_whole(&self) -> std::io::Result<()> {
        self.runs.set_len(self.whole)?;
        self.runs.sync_data()
    }

    fn explain(&self, error: std::io::Error) -> ResultsError {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => {
                ResultsError::NoSpace { path: self.runs_path.clone(), kept: self.kept }
            }
            _ => ResultsError::Io { path: self.runs_path.clone(), error },
        }
    }
}
