//! `drivers fetch debian[:SUITE]`: the driver and everything it needs, from the machine's own mirror.

use std::path::{Path, PathBuf};

use super::apt::{Apt, Planned};
use super::manifest::{Package, Provenance, upstream_version};
use super::store::{self, StoreLock, remove_tree};
use super::{DriverError, DriverStore, DriverTree, deb};

/// The first Debian suite whose driver knows the xe device as this tool models it.
const DEFAULT_SUITE: &str = "forky";
/// The driver, its loader and the offline compiler. What they need follows from apt's own dependencies.
const ROOTS: [&str; 3] = ["libze-intel-gpu1", "libze1", "intel-ocloc"];
/// Opened by the driver at run time, so no package depends on them: the compiler's two libraries.
const NUMBERED_ROOTS: [&str; 2] = ["libigc", "libigdfcl"];

/// `debian`, `debian:sid`…
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    pub suite: String,
    /// Keep the downloaded .deb files in this directory.
    pub keep_debs: Option<PathBuf>,
}

impl std::str::FromStr for FetchRequest {
    type Err = DriverError;

    fn from_str(text: &str) -> Result<Self, DriverError> {
        let unknown = || DriverError::UnknownSource { source_name: text.to_owned() };
        let (source, suite) = text.split_once(':').unwrap_or((text, DEFAULT_SUITE));
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        // The suite goes into a file that apt reads.
        if source != "debian" || suite.is_empty() || !suite.chars().all(word) {
            return Err(unknown());
        }
        Ok(FetchRequest { suite: suite.to_owned(), keep_debs: None })
    }
}

/// What a fetch came to.
#[derive(Debug)]
pub struct Fetched {
    pub tree: DriverTree,
    /// False: these very packages were there already and nothing was downloaded.
    pub new: bool,
}

impl DriverStore {
    /// Downloads and unpacks a build. Repeating it is cheap; after an interruption it goes on where it was.
    /// `say` gets one line of progress at a time.
    pub fn fetch(&self, request: &FetchRequest, say: &mut dyn FnMut(&str)) -> Result<Fetched, DriverError> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(DriverError::WrongMachine { arch: std::env::consts::ARCH });
        }
        let lock = self.lock(say)?;
        let directory = self.directory().join(".fetch").join(&request.suite);
        let apt = Apt::open(&directory, &request.suite, say)?;
        let roots = roots(&apt)?;
        let planned = apt.plan(&roots)?;
        let mut packages: Vec<Package> = planned
            .iter()
            .map(|plan| Package { name: plan.name.clone(), version: plan.version.clone() })
            .collect();
        packages.sort();
        let mut have = None;
        if let Some(name) = self.with_packages(&packages)? {
            match self.resolve(&name) {
                Ok(tree) => have = Some(tree),
                // A damaged build must not block its own repair.
                Err(error) => {
                    say(&format!("again    {error}"));
                    remove_tree(&self.directory().join(&name))?;
                }
            }
        }
        match (have, &request.keep_debs) {
            (Some(tree), None) => Ok(Fetched { tree, new: false }),
            (have, keep) => {
                self.room_for(&planned)?;
                download(&apt, &roots, &planned, say)?;
                if let Some(directory) = keep {
                    keep_debs(&apt, &planned, directory)?;
                }
                let new = have.is_none();
                let tree = match have {
                    Some(tree) => tree,
                    None => self.unpack(&apt, &planned, packages, &lock, say)?,
                };
                // The lists stay: they make the next fetch a matter of one small file.
                remove_tree(&apt.archives())?;
                Ok(Fetched { tree, new })
            }
        }
    }

    fn unpack(
        &self,
        apt: &Apt,
        planned: &[Planned],
        packages: Vec<Package>,
        lock: &StoreLock,
        say: &mut dyn FnMut(&str),
    ) -> Result<DriverTree, DriverError> {
        let name = self.free_name(&packages, &apt.suite)?;
        let staged = self.stage(&name, lock)?;
        say(&format!("unpack   {} packages into {name}", planned.len()));
        for plan in planned {
            deb::extract(&apt.archives().join(&plan.file), &staged.root)?;
        }
        say("check    libraries, versions, SHA-256");
        let provenance = Provenance::Debian { suite: apt.suite.clone() };
        self.finish(staged, &name, provenance, packages, None, &PathBuf::from("the fetched packages"), lock)
    }

    /// The build fetched from exactly these packages.
    fn with_packages(&self, packages: &[Package]) -> Result<Option<String>, DriverError> {
        let same = |build: &super::Manifest| {
            matches!(build.provenance, Provenance::Debian { .. }) && build.packages == packages
        };
        Ok(self.list()?.into_values().flatten().find(same).map(|build| build.name))
    }

    /// `debian-26.27.39122.14`; with the suite, then a number, where that name is taken: the same driver on another
    /// compiler or C library is another build.
    fn free_name(&self, packages: &[Package], suite: &str) -> Result<String, DriverError> {
        let numbered =
            |name: &str| name.strip_prefix("libze-intel-gpu").is_some_and(|n| n.parse::<u32>().is_ok());
        let neo = packages.iter().find(|package| numbered(&package.name));
        let neo = neo.map_or("unknown".to_owned(), |package| upstream_version(&package.version));
        let first = format!("debian-{neo}");
        let second = format!("{first}-{suite}");
        let more = (2..1000).map(|n| format!("{second}.{n}"));
        let free = |name: &String| !self.directory().join(name).exists();
        let name = [first.clone(), second.clone()].into_iter().chain(more).find(free);
        let name = name.ok_or(DriverError::NameTaken { name: first })?;
        store::check_name(&name)?;
        Ok(name)
    }

    fn room_for(&self, planned: &[Planned]) -> Result<(), DriverError> {
        let download: u64 = planned.iter().map(|plan| plan.size).sum();
        // The archives and what comes out of them: 76 MB became 315 MB.
        let need = download.saturating_mul(6);
        match store::free_bytes(self.directory()) {
            Some(free) if free < need => Err(DriverError::DiskFull {
                path: self.directory().to_owned(),
                need_mb: need >> 20,
                free_mb: free >> 20,
            }),
            _ => Ok(()),
        }
    }
}

fn roots(apt: &Apt) -> Result<Vec<String>, DriverError> {
    let lacks =
        |package: &str| DriverError::SuiteLacks { suite: apt.suite.clone(), package: package.to_owned() };
    let mut roots = Vec::new();
    for name in ROOTS {
        if !apt.has(name)? {
            return Err(lacks(name));
        }
        roots.push(name.to_owned());
    }
    for stem in NUMBERED_ROOTS {
        roots.push(apt.newest_numbered(stem)?.ok_or_else(|| lacks(stem))?);
    }
    Ok(roots)
}

fn download(
    apt: &Apt,
    roots: &[String],
    planned: &[Planned],
    say: &mut dyn FnMut(&str),
) -> Result<(), DriverError> {
    let total: u64 = planned.iter().map(|plan| plan.size).sum();
    say(&format!("fetch    {} packages, {}", planned.len(), megabytes(total)));
    // A mirror swaps or drops a file now and then; apt goes on from what it has.
    const TRIES: u32 = 3;
    for attempt in 1..=TRIES {
        let mut n = 0;
        let done = apt.download(roots, &mut |name, version| {
            n += 1;
            let size = planned.iter().find(|plan| plan.name == name).map(|plan| megabytes(plan.size));
            say(&format!("         {n:>2}/{} {name} {version}  {}", planned.len(), size.unwrap_or_default()));
        });
        match done {
            Ok(()) => return Ok(()),
            Err(DriverError::Tool { log, .. }) if attempt < TRIES => {
                say(&format!("again    {}", log.lines().next().unwrap_or("apt-get failed")));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn keep_debs(apt: &Apt, planned: &[Planned], directory: &Path) -> Result<(), DriverError> {
    std::fs::create_dir_all(directory).map_err(DriverError::io(directory, "could not be made"))?;
    for plan in planned {
        let target = directory.join(&plan.file);
        std::fs::copy(apt.archives().join(&plan.file), &target)
            .map_err(DriverError::io(&target, "could not be written"))?;
    }
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    // Bytes are far below 2^52.
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_build_of_one_driver_gets_another_name() {
        let directory = tempfile::tempdir().expect("tempdir");
        let store = DriverStore::at(directory.path());
        let packages = [Package { name: "libze-intel-gpu1".into(), version: "26.27.39122.14-1".into() }];
        let mut names = Vec::new();
        for _ in 0..3 {
            let name = store.free_name(&packages, "sid").expect("a name");
            std::fs::create_dir(directory.path().join(&name)).expect("directory");
            names.push(name);
        }
        let neo = "debian-26.27.39122.14";
        assert_eq!(names, [neo.to_owned(), format!("{neo}-sid"), format!("{neo}-sid.2")]);
    }

    #[test]
    fn requests() {
        assert_eq!("debian".parse::<FetchRequest>().ok().map(|r| r.suite).as_deref(), Some("forky"));
        assert_eq!("debian:sid".parse::<FetchRequest>().ok().map(|r| r.suite).as_deref(), Some("sid"));
        for bad in ["ubuntu", "debian:", "debian:a b", "debian:x\nURIs: y", "", "debian:../x"] {
            let refused = bad.parse::<FetchRequest>().is_err();
            assert!(refused, "{bad}");
        }
    }
}
