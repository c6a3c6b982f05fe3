//! The zebins that the driver dumps (`DumpZEBin`): always to the directory that the program runs in, under names of its own.

use std::fs::{self, File};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use super::Failure;
use super::asm::cannot;

const HERE: &str = ".";
const DUMPED: &str = "dumped_zebin_module";

/// The current directory, watched for the dumps of one run.
pub(super) struct Dumps {
    /// Of earlier runs, by hand or killed.
    before: Vec<String>,
    /// Of two runs in one directory, none could tell which dumps are its own.
    _lock: Flock<File>,
}

impl Dumps {
    /// Waits for another run in this directory to end.
    pub fn watch() -> Result<Dumps, Failure> {
        let here = Path::new(HERE);
        let open = || File::open(here).map_err(|e| cannot(here, &e));
        let lock = Flock::lock(open()?, FlockArg::LockExclusiveNonblock).or_else(|_| {
            super::say::note(
                "note: another asm runs a command in this directory, where the driver dumps: waiting for it",
            );
            Flock::lock(open()?, FlockArg::LockExclusive).map_err(|(_, e)| cannot(here, &e.into()))
        })?;
        Ok(Dumps { before: dumped(), _lock: lock })
    }

    /// What the run dumped, each once; the files are removed.
    pub fn take(self) -> Result<Vec<Vec<u8>>, Failure> {
        let mut dumps = Vec::new();
        for name in dumped().into_iter().filter(|name| !self.before.contains(name)) {
            let bytes = fs::read(&name).map_err(|e| cannot(Path::new(&name), &e))?;
            let _ = fs::remove_file(&name);
            // A module is dumped when it is decoded and when it is loaded: once is enough.
            if !dumps.contains(&bytes) {
                dumps.push(bytes);
            }
        }
        Ok(dumps)
    }
}

fn dumped() -> Vec<String> {
    let names = fs::read_dir(HERE).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(DUMPED) && name.ends_with(".elf")).collect()
}
