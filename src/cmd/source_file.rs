//! The files that file-source arms map: one for each size and medium, shared by the runs, gone with the lab. A run that
//! wants its pages out of the cache has a file of its own: pages that another run maps cannot be dropped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::model::arm::{Arm, Medium, PageCache, Source, SourceKind};

/// tmpfs on every Linux.
const TMPFS: &str = "/dev/shm";

/// Makes files on first use. Contents are never looked at, but are not zero: a hole has no pages of its own.
#[derive(Debug)]
pub struct SourceFiles {
    disk: PathBuf,
    made: Mutex<BTreeMap<(u64, bool), PathBuf>>,
}

impl SourceFiles {
    /// `disk`: a directory on the medium that stands for "disk"; made if needed.
    pub fn new(disk: PathBuf) -> Self {
        SourceFiles { disk, made: Mutex::new(BTreeMap::new()) }
    }

    /// The file that `arm` maps; `None` if it maps none. `own`: a directory of this run alone, on disk.
    pub fn for_arm(&self, arm: &Arm, own: &Path) -> io::Result<Option<PathBuf>> {
        if arm.source.kind != SourceKind::File {
            return Ok(None);
        }
        if arm.source.page_cache == PageCache::Cold {
            let path = own.join("source.bin");
            fill(&path, arm.source.size)?;
            return Ok(Some(path));
        }
        self.file(&arm.source).map(Some)
    }

    fn file(&self, source: &Source) -> io::Result<PathBuf> {
        let tmpfs = source.medium == Medium::Tmpfs;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = made.get(&(source.size, tmpfs)) {
            return Ok(path.clone());
        }
        let dir = if tmpfs { Path::new(TMPFS) } else { &self.disk };
        std::fs::create_dir_all(dir)?;
        let path = dir.join(format!("repro-matrix-source-{}-{}.bin", std::process::id(), source.size));
        // Known before it is written: a half-written file is removed too.
        made.insert((source.size, tmpfs), path.clone());
        if let Err(e) = fill(&path, source.size) {
            made.remove(&(source.size, tmpfs));
            let _ = std::fs::remove_file(&path);
            return Err(e);
        }
        Ok(path)
    }
}

impl Drop for SourceFiles {
    fn drop(&mut self) {
        for path in self.made.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn fill(path: &Path, size: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    let block: Vec<u8> =
        (0..1u32 << 18).flat_map(|n| (n.wrapping_mul(2_654_435_761) | 1).to_le_bytes()).collect();
    let mut left = size;
    while left > 0 {
        let n = left.min(block.len() as u64) as usize;
        file.write_all(block.get(..n).unwrap_or(&block))?;
        left -= n as u64;
    }
    // A cold-cache arm can drop only clean pages.
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_a_size_and_medium_gone_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let files = SourceFiles::new(dir.path().to_owned());
        let mut arm = crate::judge::fixture::arm();
        arm.source.size = 3 << 20;
        let own = tempfile::tempdir().unwrap();
        let a = files.for_arm(&arm, own.path()).unwrap().unwrap();
        assert_eq!(files.for_arm(&arm, own.path()).unwrap().unwrap(), a);
        arm.source.page_cache = PageCache::Cold;
        let cold = files.for_arm(&arm, own.path()).unwrap().unwrap();
        assert!(cold.starts_with(own.path()) && std::fs::metadata(cold).unwrap().len() == 3 << 20);
        arm.source.page_cache = PageCache::Warm;
        assert_eq!(std::fs::metadata(&a).unwrap().len(), 3 << 20);
        arm.source.medium = Medium::Tmpfs;
        let b = files.for_arm(&arm, own.path()).unwrap().unwrap();
        assert!(b.starts_with(TMPFS));
        arm.source.kind = SourceKind::Anon;
        assert_eq!(files.for_arm(&arm, own.path()).unwrap(), None);
        drop(files);
        assert!(!a.exists() && !b.exists());
    }
}
