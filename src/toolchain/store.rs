//! Where SYCL runtimes live: `<data>/toolchains/sycl-VERSION/{manifest.json, root/{include,lib,…}}`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ToolchainError;

const SCHEMA: u32 = 1;
const PREFIX: &str = "sycl-";

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    /// Of `intel-sycl-rt`.
    pub version: String,
    pub packages: Vec<Package>,
    /// Over the packages' hashes: what makes two fetches the same.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// Of the wheel.
    pub sha256: String,
}

/// A runtime that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    pub manifest: Manifest,
    pub root: PathBuf,
}

impl Toolchain {
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    pub fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    /// `intel-sycl-rt 2026.2.0`.
    pub fn describe(&self) -> String {
        format!("intel-sycl-rt {}", self.manifest.version)
    }
}

/// The store.
#[derive(Clone, Debug)]
pub struct ToolchainStore {
    pub(super) directory: PathBuf,
}

impl ToolchainStore {
    pub fn open() -> Result<Self, ToolchainError> {
        Ok(ToolchainStore { directory: crate::driver::data_dir()?.join("toolchains") })
    }

    pub fn at(directory: impl Into<PathBuf>) -> Self {
        ToolchainStore { directory: directory.into() }
    }

    /// Every SYCL runtime that can be used, the newest version first.
    pub fn list(&self) -> Result<Vec<Toolchain>, ToolchainError> {
        self.survey().map(|(found, _)| found)
    }

    /// [`ToolchainStore::list`], and what is wrong with each of the others.
    pub fn survey(&self) -> Result<(Vec<Toolchain>, Vec<ToolchainError>), ToolchainError> {
        let (mut found, mut damaged) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((found, damaged)),
            other => other.map_err(ToolchainError::io(self.directory.display()))?,
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(version) = name.strip_prefix(PREFIX)
                && !name.ends_with(".partial")
            {
                match self.load(version) {
                    Ok(toolchain) => found.push(toolchain),
                    Err(error) => damaged.push(error),
                }
            }
        }
        found.sort_by_key(|toolchain| std::cmp::Reverse(numbers(&toolchain.manifest.version)));
        Ok((found, damaged))
    }

    /// `default` is the newest; else a version.
    pub fn find(&self, wanted: &str) -> Result<Toolchain, ToolchainError> {
        let (all, mut damaged) = self.survey()?;
        let found = match wanted {
            "default" => all.first(),
            version => all.iter().find(|toolchain| toolchain.manifest.version == version),
        };
        if let Some(found) = found {
            return Ok(found.clone());
        }
        // One that is there and of no use is not one that is missing.
        let place = self.place(wanted).display().to_string();
        let of_it = |error: &ToolchainError| {
            wanted == "default" || matches!(error, ToolchainError::Damaged { what, .. } if *what == place)
        };
        if let Some(error) = damaged.iter().position(of_it) {
            return Err(damaged.swap_remove(error));
        }
        Err(ToolchainError::Missing {
            wanted: if wanted == "default" { "yet".to_owned() } else { wanted.to_owned() },
            there: all.into_iter().map(|toolchain| toolchain.manifest.version).collect(),
        })
    }

    pub(super) fn place(&self, version: &str) -> PathBuf {
        self.directory.join(format!("{PREFIX}{version}"))
    }

    pub(super) fn load(&self, version: &str) -> Result<Toolchain, ToolchainError> {
        let place = self.place(version);
        let damaged = |reason: String| ToolchainError::Damaged { what: place.display().to_string(), reason };
        let text =
            fs::read(place.join("manifest.json")).map_err(|e| damaged(format!("manifest.json: {e}")))?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|e| damaged(format!("manifest.json: {e}")))?;
        if manifest.schema > SCHEMA {
            return Err(damaged("it was made by a newer repro-matrix".to_owned()));
        }
        let toolchain = Toolchain { manifest, root: place.join("root") };
        check(&toolchain.root).map_err(damaged)?;
        Ok(toolchain)
    }

    pub fn remove(&self, version: &str) -> Result<(), ToolchainError> {
        let place = match self.find(version) {
            Ok(toolchain) => self.place(&toolchain.manifest.version),
            // Most of all, one that is of no use can be removed.
            Err(ToolchainError::Damaged { what, .. }) if version != "default" => PathBuf::from(what),
            Err(error) => return Err(error),
        };
        let partial = place.with_extension("partial");
        fs::rename(&place, &partial).map_err(ToolchainError::io(place.display()))?;
        fs::remove_dir_all(&partial).map_err(ToolchainError::io(partial.display()))
    }

    pub(super) fn publish(&self, staged: &Path, packages: Vec<Package>) -> Result<Toolchain, ToolchainError> {
        let version = packages.iter().find(|package| package.name == super::fetch::RUNTIME);
        let version = version.map(|package| package.version.clone()).unwrap_or_default();
        let hash = crate::build::cache::key(packages.iter().map(|package| package.sha256.as_str()));
        let manifest = Manifest { schema: SCHEMA, version: version.clone(), packages, hash };
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| ToolchainError::Io { what: "manifest.json".to_owned(), error: error.into() })?;
        let path = staged.join("manifest.json");
        fs::write(&path, text).map_err(ToolchainError::io(path.display()))?;
        let place = self.place(&version);
        if let Err(error) = fs::rename(staged, &place)
            && !place.exists()
        {
            return Err(ToolchainError::Io { what: place.display().to_string(), error });
        }
        self.load(&version)
    }
}

/// What a build will ask for.
pub(super) fn check(root: &Path) -> Result<(), String> {
    for needed in ["include/sycl/sycl.hpp", "lib/libsycl.so", "lib/libsycl-jit.so", "lib/libur_loader.so.0"] {
        if !root.join(needed).exists() {
            return Err(format!("{needed} is missing; runtimes from 2025.2 on have it"));
        }
    }
    Ok(())
}

/// `2026.10.0` is newer than `2026.9.1`.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(store: &ToolchainStore, version: &str) {
        let root = store.place(version).join("root");
        for file in ["include/sycl/sycl.hpp", "lib/libsycl.so", "lib/libsycl-jit.so", "lib/libur_loader.so.0"]
        {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let manifest =
            Manifest { schema: 1, version: version.to_owned(), packages: Vec::new(), hash: "00".to_owned() };
        fs::write(store.place(version).join("manifest.json"), serde_json::to_vec(&manifest).unwrap())
            .unwrap();
    }

    #[test]
    fn the_newest_is_the_default_and_a_damaged_one_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = ToolchainStore::at(dir.path().join("toolchains"));
        assert!(matches!(store.find("default"), Err(ToolchainError::Missing { .. })));
        for version in ["2026.9.1", "2026.10.0", "2025.3.3"] {
            plant(&store, version);
        }
        assert_eq!(store.find("default").unwrap().manifest.version, "2026.10.0");
        assert_eq!(store.find("2025.3.3").unwrap().describe(), "intel-sycl-rt 2025.3.3");
        fs::remove_file(store.place("2026.10.0").join("root/lib/libsycl-jit.so")).unwrap();
        assert_eq!(store.find("default").unwrap().manifest.version, "2026.9.1");
        let error = store.find("2026.10.0").unwrap_err().to_string();
        assert!(error.contains("sycl-2026.10.0") && error.contains("libsycl-jit.so is missing"), "{error}");
        let error = store.find("2026.11.0").unwrap_err().to_string();
        assert_eq!(error, "no SYCL runtime 2026.11.0; there are 2026.9.1, 2025.3.3");
        assert_eq!(store.survey().unwrap().1.len(), 1);
        store.remove("2026.10.0").unwrap();
        assert!(store.survey().unwrap().1.is_empty());
        store.remove("2026.9.1").unwrap();
        assert_eq!(store.list().unwrap().len(), 1);
    }
}
