//! Follows a results directory while another process writes it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::model::outcome::RunRecord;

use super::{RUNS, ResultsError};

/// Reading end of `runs.jsonl`.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    /// Bytes read so far: whole lines only.
    at: u64,
}

/// What came since the last look.
#[derive(Debug, Default)]
pub struct News {
    pub records: Vec<RunRecord>,
    /// Whole lines that are no record of this version.
    pub unread: usize,
}

impl Follower {
    pub fn new(dir: &Path) -> Self {
        Follower { path: dir.join(RUNS), at: 0 }
    }

    /// Records that were finished since. A line that is being written is left for the next look.
    pub fn look(&mut self) -> Result<News, ResultsError> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = match File::open(&self.path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                other => other?,
            };
            // `run --resume` drops a torn line: what was read stays read.
            file.seek(SeekFrom::Start(self.at))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(ResultsError::io(&self.path))?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        self.at += whole as u64;
        let mut news = News::default();
        for line in
            bytes.get(..whole).unwrap_or_default().split(|b| *b == b'\n').filter(|line| !line.is_empty())
        {
            match super::lenient::record(line) {
                Ok(record) => news.records.push(record),
                Err(_) => news.unread += 1,
            }
        }
        Ok(news)
    }

    /// A process holds the directory for writing.
    pub fn writer_lives(&self) -> bool {
        let Ok(file) = File::open(&self.path) else { return false };
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(_) => false,
            Err((_, errno)) => errno == nix::Error::EWOULDBLOCK,
        }
    }
}
