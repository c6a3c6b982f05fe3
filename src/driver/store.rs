//! The store of driver builds in the tool's data directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::manifest::{Manifest, Provenance, SCHEMA};
use super::{DriverError, DriverTree, system};

/// The name that stands for "whatever is best here".
pub const DEFAULT: &str = "default";
/// The name of the driver that this machine's loader finds.
pub const SYSTEM: &str = "system";
/// Also the alias of the newest fetched build.
const DEBIAN: &str = "debian";

/// `$REPRO_MATRIX_DATA`, else `$XDG_DATA_HOME/repro-matrix`, else `~/.local/share/repro-matrix`; builds in `drivers/`.
#[derive(Clone, Debug)]
pub struct DriverStore {
    directory: PathBuf,
}

/// Held while the store changes; the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

impl DriverStore {
    /// Opens the store of this user. Makes no directory: that is for whoever adds the first build.
    pub fn open() -> Result<Self, DriverError> {
        Ok(DriverStore { directory: data_dir()?.join("drivers") })
    }

    /// A store somewhere else: `directory` holds one directory a build.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        DriverStore { directory: directory.into() }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Every build of the store by name. A directory with an unreadable manifest comes as its error.
    pub fn list(&self) -> Result<BTreeMap<String, Result<Manifest, DriverError>>, DriverError> {
        let mut builds = BTreeMap::new();
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(builds),
            other => other.map_err(DriverError::io(&self.directory, "could not be read"))?,
        };
        for entry in entries {
            let entry = entry.map_err(DriverError::io(&self.directory, "could not be read"))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || name.ends_with(".partial") || !entry.path().is_dir() {
                continue;
            }
            let manifest = self.read_manifest(&name);
            builds.insert(name, manifest);
        }
        Ok(builds)
    }

    fn read_manifest(&self, name: &str) -> Result<Manifest, DriverError> {
        let path = self.directory.join(name).join("manifest.json");
        let damaged = |reason: String| DriverError::Damaged { name: name.to_owned(), reason };
        let text = fs::read(&path).map_err(|error| damaged(format!("manifest.json: {error}")))?;
        let value: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("manifest.json: {error}")))?;
        let schema = value.get("schema").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if schema > u64::from(SCHEMA) {
            let found = u32::try_from(schema).unwrap_or(u32::MAX);
            return Err(DriverError::NewerManifest { name: name.to_owned(), found, supported: SCHEMA });
        }
        let manifest: Manifest =
            serde_json::from_value(value).map_err(|error| damaged(format!("manifest.json: {error}")))?;
        if manifest.name != name {
            return Err(damaged(format!("manifest.json is of \"{}\"", manifest.name)));
        }
        Ok(manifest)
    }

    /// Newest first; the good ones only.
    fn by_age(&self) -> Result<Vec<Manifest>, DriverError> {
        let mut builds: Vec<Manifest> = self.list()?.into_values().flatten().collect();
        builds.sort_by(|a, b| b.added.cmp(&a.added).then_with(|| b.name.cmp(&a.name)));
        Ok(builds)
    }

    /// Finds a build and checks, by size and time, that its files are the manifest's.
    ///
    /// `default`: the newest fetched build, else the newest added one, else `system` where there is one.
    /// `debian`, `debian:SUITE`: the newest fetched build (of that suite). `system`: this machine's own. Else a name.
    pub fn resolve(&self, name: &str) -> Result<DriverTree, DriverError> {
        match name {
            SYSTEM => return system::tree(),
            DEFAULT => {
                let builds = self.by_age()?;
                let fetched =
                    builds.iter().find(|build| matches!(build.provenance, Provenance::Debian { .. }));
                return match fetched.or(builds.first()) {
                    Some(build) => self.load(&build.name, 0),
                    None => system::tree().map_err(|error| match error {
                        DriverError::NoSystemDriver => DriverError::NoBuild,
                        other => other,
                    }),
                };
            }
            _ => {}
        }
        let wanted = name.split_once(':').map_or((name, None), |(source, suite)| (source, Some(suite)));
        if wanted.0 == DEBIAN {
            let newest = self.by_age()?.into_iter().find(|build| match &build.provenance {
                Provenance::Debian { suite } => wanted.1.is_none_or(|wanted| wanted == suite),
                _ => false,
            });
            return match newest {
                Some(build) => self.load(&build.name, 0),
                None => Err(self.unknown(name)?),
            };
        }
        if check_name(name).is_err() || !self.directory.join(name).is_dir() {
            return Err(self.unknown(name)?);
        }
        self.load(name, 0)
    }

    fn unknown(&self, name: &str) -> Result<DriverError, DriverError> {
        let known: Vec<String> = self.list()?.into_keys().collect();
        if known.is_empty() && name == DEBIAN {
            return Ok(DriverError::NoBuild);
        }
        Ok(DriverError::Unknown { name: name.to_owned(), known })
    }

    fn load(&self, name: &str, depth: u32) -> Result<DriverTree, DriverError> {
        const DEEPEST: u32 = 4;
        let manifest = self.read_manifest(name)?;
        let damaged = |reason: String| DriverError::Damaged { name: name.to_owned(), reason };
        let base = match &manifest.base {
            None => None,
            Some(_) if depth >= DEEPEST => return Err(damaged("its bases form a circle".to_owned())),
            Some(base) => {
                let tree = self
                    .load(&base.name, depth + 1)
                    .map_err(|error| damaged(format!("its base \"{}\": {error}", base.name)))?;
                if tree.manifest.hash != base.hash {
                    return Err(damaged(format!(
                        "its base \"{}\" is not the build that it was added to",
                        base.name
                    )));
                }
                Some(Box::new(tree))
            }
        };
        let directory = self.directory.join(name);
        let directory =
            directory.canonicalize().map_err(DriverError::io(&directory, "could not be followed"))?;
        let tree = DriverTree { manifest, root: directory.join("root"), directory: Some(directory), base };
        tree.check()?;
        Ok(tree)
    }

    /// Removes a build that no other one uses as its base.
    pub fn remove(&self, name: &str) -> Result<(), DriverError> {
        check_name(name)?;
        let _lock = self.lock(&mut |_| {})?;
        let directory = self.directory.join(name);
        if !directory.is_dir() {
            return Err(self.unknown(name)?);
        }
        let users: Vec<String> = self
            .list()?
            .into_values()
            .flatten()
            .filter(|build| build.base.as_ref().is_some_and(|base| base.name == name))
            .map(|build| build.name)
            .collect();
        if !users.is_empty() {
            return Err(DriverError::InUse { name: name.to_owned(), users });
        }
        // Renamed first: an interrupted removal must not leave half a build under a good name.
        let partial = self.partial(name);
        remove_tree(&partial)?;
        fs::rename(&directory, &partial).map_err(DriverError::io(&directory, "could not be renamed"))?;
        remove_tree(&partial)
    }

    /// One writer at a time; waits for the other one after telling so.
    pub fn lock(&self, say: &mut dyn FnMut(&str)) -> Result<StoreLock, DriverError> {
        fs::create_dir_all(&self.directory).map_err(DriverError::io(&self.directory, "could not be made"))?;
        let path = self.directory.join(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(DriverError::io(&path, "could not be opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                say("another repro-matrix is changing the driver store: waiting for it");
                file.lock().map_err(DriverError::io(&path, "could not be locked"))?;
            }
            Err(fs::TryLockError::Error(error)) => {
                return Err(DriverError::io(&path, "could not be locked")(error));
            }
        }
        Ok(StoreLock { _file: file })
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.partial"))
    }

    /// An empty `NAME.partial`, whatever an interrupted run left there. The caller holds the lock.
    pub(super) fn stage(&self, name: &str, _lock: &StoreLock) -> Result<Staged, DriverError> {
        let directory = self.partial(name);
        remove_tree(&directory)?;
        let root = directory.join("root");
        fs::create_dir_all(&root).map_err(DriverError::io(&root, "could not be made"))?;
        Ok(Staged { directory, root, done: false })
    }

    /// Writes the manifest and gives the build its name: from here on it exists.
    pub(super) fn publish(
        &self,
        mut staged: Staged,
        manifest: &Manifest,
        _lock: &StoreLock,
    ) -> Result<DriverTree, DriverError> {
        let name = &manifest.name;
        let target = self.directory.join(name);
        if target.exists() {
            return Err(DriverError::NameTaken { name: name.clone() });
        }
        let path = staged.directory.join("manifest.json");
        let write = || -> std::io::Result<()> {
            let mut text = serde_json::to_vec_pretty(manifest)?;
            text.push(b'\n');
            let mut file = File::create(&path)?;
            file.write_all(&text)?;
            file.sync_all()
        };
        write().map_err(DriverError::io(&path, "could not be written"))?;
        fs::rename(&staged.directory, &target).map_err(DriverError::io(&target, "could not be made"))?;
        staged.done = true;
        if let Ok(directory) = File::open(&self.directory) {
            // Best effort: not every file system syncs directories.
            let _ = directory.sync_all();
        }
        self.load(name, 0)
    }
}

/// A build being made; removed on the way out unless it was published.
pub(super) struct Staged {
    pub directory: PathBuf,
    pub root: PathBuf,
    done: bool,
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.done {
            // The error that brought us here is the one to report.
            let _ = remove_tree(&self.directory);
        }
    }
}

/// Removes a directory tree, also one with read-only directories (a copied Nix store path).
pub(super) fn remove_tree(directory: &Path) -> Result<(), DriverError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(DriverError::io(directory, "could not be removed")),
    }
}

/// Names are file names, matrix words and command-line words at once.
pub(super) fn check_name(name: &str) -> Result<(), DriverError> {
    let bad = |reason| Err(DriverError::BadName { name: name.to_owned(), reason });
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    if name.is_empty() {
        bad("it is empty")
    } else if name.len() > 100 {
        bad("it has more than 100 bytes")
    } else if !name.chars().all(good) {
        bad("it has a character that is neither a letter, a digit nor one of . - _ +")
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        bad("it does not start with a letter or a digit")
    } else if matches!(name, DEFAULT | SYSTEM | DEBIAN) {
        bad("the word has a meaning of its own")
    } else if name.ends_with(".partial") {
        bad("it ends in .partial")
    } else {
        Ok(())
    }
}

/// The tool's data directory.
pub fn data_dir() -> Result<PathBuf, DriverError> {
    let set = |key: &str| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = set("REPRO_MATRIX_DATA")
        // The XDG specification: a relative path is to be ignored.
        .or_else(|| Some(set("XDG_DATA_HOME").filter(|path| path.is_absolute())?.join("repro-matrix")))
        .or_else(|| Some(set("HOME")?.join(".local/share/repro-matrix")))
        .ok_or(DriverError::NoHome)?;
    // The ld.so of a build gets this in its command line, from whatever directory a run starts in.
    std::path::absolute(&directory).map_err(DriverError::io(&directory, "could not be made absolute"))
}

/// Bytes that an ordinary user may still write to the file system of `path` or of its nearest existing parent.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists())?;
    let statistics = nix::sys::statvfs::statvfs(existing).ok()?;
    Some(statistics.blocks_available().saturating_mul(statistics.fragment_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["debian-26.27.39122.14", "patched", "a+b_c", "7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "a/b", "..", ".hidden", "-x", "system", "default", "debian", "x.partial", "a b", "ä"]
        {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_empty_store_says_what_to_type() {
        let directory = tempfile::tempdir().expect("tempdir");
        let store = DriverStore::at(directory.path().join("none"));
        assert!(store.list().expect("list").is_empty());
        assert!(matches!(store.resolve("debian"), Err(DriverError::NoBuild)));
        assert!(matches!(store.resolve("../etc"), Err(DriverError::Unknown { .. })));
        assert!(matches!(store.remove("x"), Err(DriverError::Unknown { .. })));
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let directory = tempfile::tempdir().expect("tempdir");
        let store = DriverStore::at(directory.path());
        let first = store.lock(&mut |_| {}).expect("lock");
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = store.clone();
        let waiter = std::thread::spawn(move || {
            let said = sender.clone();
            let _lock = other.lock(&mut |line| said.send(line.to_owned()).expect("send")).expect("lock");
            sender.send("got it".to_owned()).expect("send");
        });
        assert!(receiver.recv().expect("line").contains("waiting"));
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(100)).is_err());
        drop(first);
        assert_eq!(receiver.recv().expect("line"), "got it");
        waiter.join().expect("thread");
    }
}
