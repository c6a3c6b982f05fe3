//! The directories of one run: an empty working directory, one for temporary files, one for captured output.

use std::io;
use std::path::{Path, PathBuf};

/// Made fresh for each run, removed after it unless it is to be kept.
#[derive(Debug)]
pub struct WorkDir {
    root: PathBuf,
    pub cwd: PathBuf,
    pub tmp: PathBuf,
    pub io: PathBuf,
}

impl WorkDir {
    /// Makes `root` anew: what an earlier, killed run left there is removed first.
    pub fn create(root: PathBuf) -> io::Result<Self> {
        match std::fs::remove_dir_all(&root) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let dir = WorkDir { cwd: root.join("cwd"), tmp: root.join("tmp"), io: root.join("io"), root };
        for path in [&dir.cwd, &dir.tmp, &dir.io] {
            std::fs::create_dir_all(path)?;
        }
        Ok(dir)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.root)
    }
}
