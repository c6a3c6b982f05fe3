//! Wheels → a runtime: downloaded by pip as the user has configured it, unpacked, and their `data` parts put together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::store::{Package, Toolchain, ToolchainStore};
use super::{ToolchainError, store};

/// The package whose version names the runtime.
pub(super) const RUNTIME: &str = "intel-sycl-rt";
/// Parts of a wheel's `data` that a build or a run needs, and the licences.
const PARTS: [&str; 3] = ["include", "lib", "licensing"];
/// Files of at least this size are compared: a wheel has no symbolic links, so libraries are in it several times.
const WORTH_LINKING: u64 = 1 << 20;

/// What to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Of `intel-sycl-rt`; the newest if absent.
    pub version: Option<String>,
    /// A directory of wheels; nothing is downloaded then.
    pub from: Option<PathBuf>,
}

impl std::str::FromStr for Request {
    type Err = ToolchainError;

    /// `sycl` or `sycl=VERSION`.
    fn from_str(text: &str) -> Result<Self, ToolchainError> {
        let unknown = || ToolchainError::UnknownName(text.to_owned());
        let version = match text.strip_prefix("sycl").ok_or_else(unknown)? {
            "" => None,
            rest => Some(rest.strip_prefix('=').ok_or_else(unknown)?),
        };
        // It becomes a word of pip's command line and a directory name.
        let good = |v: &&str| {
            v.starts_with(|c: char| c.is_ascii_digit())
                && v.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
        };
        if version.as_ref().is_some_and(|version| !good(version)) {
            return Err(unknown());
        }
        Ok(Request { version: version.map(str::to_owned), from: None })
    }
}

impl ToolchainStore {
    /// The runtime, and whether it is new.
    pub fn fetch(
        &self,
        request: &Request,
        say: &mut dyn FnMut(&str),
    ) -> Result<(Toolchain, bool), ToolchainError> {
        if let Some(version) = &request.version
            && self.place(version).exists()
        {
            return Ok((self.load(version)?, false));
        }
        fs::create_dir_all(&self.directory).map_err(ToolchainError::io(self.directory.display()))?;
        let work = tempfile::Builder::new()
            .prefix("fetch-")
            .suffix(".partial")
            .tempdir_in(&self.directory)
            .map_err(ToolchainError::io(self.directory.display()))?;
        let wheels = work.path().join("wheels");
        download(request, &wheels, say)?;
        let packages = packages(&wheels)?;
        let Some(runtime) = packages.keys().find(|package| package.name == RUNTIME) else {
            let what = format!("{RUNTIME}: no wheel of it");
            return Err(ToolchainError::Pip { what, log: wheels.display().to_string() });
        };
        if self.place(&runtime.version).exists() {
            return Ok((self.load(&runtime.version)?, false));
        }
        let staged = work.path().join("staged");
        let root = staged.join("root");
        for (package, wheel) in &packages {
            say(&format!("unpack   {} {}", package.name, package.version));
            unpack(wheel, &work.path().join("unpacked"), &root)?;
        }
        link_equal_files(&root.join("lib")).map_err(ToolchainError::io(root.display()))?;
        store::check(&root).map_err(|reason| ToolchainError::Damaged {
            what: format!("{RUNTIME} {}", runtime.version),
            reason,
        })?;
        let mut list: Vec<Package> = packages.into_keys().collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((self.publish(&staged, list)?, true))
    }
}

fn download(request: &Request, wheels: &Path, say: &mut dyn FnMut(&str)) -> Result<(), ToolchainError> {
    let mut what = RUNTIME.to_owned();
    if let Some(version) = &request.version {
        what.push_str(&format!("=={version}"));
    }
    let mut command = python();
    command.args(["-m", "pip", "download", "--no-input", "--progress-bar", "off", "--only-binary=:all:"]);
    if let Some(from) = &request.from {
        command.args(["--no-index", "--find-links"]).arg(from);
    }
    command.arg("-d").arg(wheels).arg(&what);
    say(&format!("download {what} and what it needs (about 240 MB), by this user's pip"));
    run(&mut command, &what)
}

fn python() -> Command {
    let mut command = Command::new("python3");
    command.stdin(Stdio::null()).env("LC_ALL", "C.UTF-8");
    command
}

fn run(command: &mut Command, what: &str) -> Result<(), ToolchainError> {
    let output = command.output().map_err(|error| ToolchainError::NoPip {
        program: command.get_program().to_string_lossy().into_owned(),
        error: error.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let log = lines.get(lines.len().saturating_sub(4)..).unwrap_or_default().join("\n");
    Err(ToolchainError::Pip { what: what.to_owned(), log })
}

/// The wheels of a directory: `name-version-tags.whl`, `_` in the name for `-`.
fn packages(wheels: &Path) -> Result<BTreeMap<Package, PathBuf>, ToolchainError> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(wheels).map_err(ToolchainError::io(wheels.display()))?.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut parts = name.split('-');
        let (Some(package), Some(version), true) = (parts.next(), parts.next(), name.ends_with(".whl"))
        else {
            continue;
        };
        let sha256 = crate::driver::sha256_file(&path).map_err(ToolchainError::io(path.display()))?;
        let package = Package { name: package.replace('_', "-"), version: version.to_owned(), sha256 };
        found.insert(package, path);
    }
    Ok(found)
}

/// Unpacks one wheel and moves the wanted parts of its `data` below `root`.
fn unpack(wheel: &Path, scratch: &Path, root: &Path) -> Result<(), ToolchainError> {
    let _ = fs::remove_dir_all(scratch);
    run(python().args(["-m", "zipfile", "-e"]).arg(wheel).arg(scratch), &wheel.display().to_string())?;
    for entry in fs::read_dir(scratch).map_err(ToolchainError::io(scratch.display()))?.flatten() {
        let data = entry.path().join("data");
        for part in PARTS {
            let from = data.join(part);
            if from.is_dir() {
                merge(&from, &root.join(part)).map_err(ToolchainError::io(from.display()))?;
            }
        }
    }
    fs::remove_dir_all(scratch).map_err(ToolchainError::io(scratch.display()))
}

fn merge(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            merge(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), target)?;
        }
    }
    Ok(())
}

/// One file on the disk for libraries that are there under several names.
fn link_equal_files(directory: &Path) -> std::io::Result<()> {
    let mut by_size: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() && about.len() >= WORTH_LINKING {
            by_size.entry(about.len()).or_default().push(entry.path());
        }
    }
    for paths in by_size.into_values().filter(|paths| paths.len() > 1) {
        let mut first: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in paths {
            let hash = crate::driver::sha256_file(&path)?;
            match first.get(&hash) {
                None => drop(first.insert(hash, path)),
                Some(same) => {
                    fs::remove_file(&path)?;
                    fs::hard_link(same, &path)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_toolchains() {
        assert_eq!("sycl".parse::<Request>().unwrap(), Request::default());
        let version = "sycl=2026.2.0".parse::<Request>().unwrap().version;
        assert_eq!(version.as_deref(), Some("2026.2.0"));
        for bad in ["", "cuda", "sycl2026", "sycl=", "sycl=../x", "sycl=--index-url"] {
            assert!(matches!(bad.parse::<Request>(), Err(ToolchainError::UnknownName(_))), "{bad}");
        }
    }

    #[test]
    fn equal_libraries_are_one_file() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let big = vec![7u8; 1 << 20];
        for name in ["liba.so", "liba.so.1"] {
            fs::write(dir.path().join(name), &big).unwrap();
        }
        fs::write(dir.path().join("other.so"), vec![8u8; 1 << 20]).unwrap();
        link_equal_files(dir.path()).unwrap();
        let inode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().ino();
        assert_eq!(inode("liba.so"), inode("liba.so.1"));
        assert_ne!(inode("liba.so"), inode("other.so"));
    }
}
