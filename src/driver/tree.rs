//! One resolved driver build: where its parts are, and what a run on it must have loaded.

use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{Library, Manifest, Role};
use super::{DriverError, hash, inventory};

/// A driver build that was found and looks as its manifest says.
#[derive(Clone, Debug)]
pub struct DriverTree {
    pub manifest: Manifest,
    /// The paths of the manifest are relative to this directory; absolute.
    pub root: PathBuf,
    /// The build's directory in the store; `None` for `system`.
    pub(super) directory: Option<PathBuf>,
    /// Where the libraries come from that this build lacks.
    pub(super) base: Option<Box<DriverTree>>,
}

/// A library that has to appear in `/proc/PID/maps` of a run, if one of its role appears at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedLibrary {
    pub role: Role,
    /// Absolute, without symbolic links: as the kernel shows it.
    pub path: PathBuf,
    pub build_id: Option<String>,
    pub sha256: String,
    /// True for the driver itself: a run that never mapped it proves nothing about it.
    pub required: bool,
}

impl DriverTree {
    /// The first library of this role, here or in the base.
    fn find(&self, role: Role, accept: impl Fn(&Library) -> bool + Copy) -> Option<PathBuf> {
        let here = self.manifest.libraries.iter().find(|library| library.role == role && accept(library));
        match (here, &self.base) {
            (Some(library), _) => Some(self.root.join(&library.path)),
            (None, Some(base)) => base.find(role, accept),
            (None, None) => None,
        }
    }

    fn need(&self, role: Role, what: &'static str) -> Result<PathBuf, DriverError> {
        let lacks = || DriverError::Lacks { name: self.manifest.name.clone(), what };
        self.find(role, |_| true).ok_or_else(lacks)
    }

    /// libze_intel_gpu: what `ZE_ENABLE_ALT_DRIVERS` names.
    pub fn driver_path(&self) -> Result<PathBuf, DriverError> {
        self.need(Role::Neo, "libze_intel_gpu")
    }

    /// libze_loader.so.1, to be opened by a Level Zero program; falls back to this machine's own.
    pub fn loader_path(&self) -> Result<PathBuf, DriverError> {
        self.need(Role::Loader, "Level Zero loader (libze_loader.so.1)")
            .or_else(|error| super::system::find_library("libze_loader.so.1").ok_or(error))
    }

    /// The offline compiler's program. Start it through [`DriverTree::launch`].
    pub fn ocloc(&self) -> Result<PathBuf, DriverError> {
        let program = |library: &Library| !library.path.contains(".so");
        self.find(Role::Ocloc, program).ok_or_else(|| DriverError::Lacks {
            name: self.manifest.name.clone(),
            what: "offline compiler (ocloc)",
        })
    }

    /// The dynamic loader, where the build has a C library of its own.
    pub fn ld_so(&self) -> Option<PathBuf> {
        self.find(Role::LdSo, |_| true)
    }

    /// The build that holds the C library: this one or its base.
    pub(super) fn libc_holder(&self) -> Option<&DriverTree> {
        if self.manifest.library(Role::LdSo).is_some() && self.manifest.library(Role::Libc).is_some() {
            return Some(self);
        }
        self.base.as_deref().and_then(DriverTree::libc_holder)
    }

    /// This build, then its base: libraries of the former go first.
    pub fn chain(&self) -> impl Iterator<Item = &DriverTree> {
        std::iter::successors(Some(self), |tree| tree.base.as_deref())
    }

    /// The libraries to prove from `/proc/PID/maps`, one a role: driver, compiler, gmmlib, loader.
    pub fn expected_libraries(&self) -> Vec<ExpectedLibrary> {
        const ROLES: [Role; 5] = [Role::Neo, Role::Igc, Role::Igdfcl, Role::Gmmlib, Role::Loader];
        let expected = |role: Role| {
            let (tree, library) =
                self.chain().find_map(|tree| tree.manifest.library(role).map(|library| (tree, library)))?;
            let path = tree.root.join(&library.path);
            Some(ExpectedLibrary {
                role,
                path: path.canonicalize().unwrap_or(path),
                build_id: library.build_id.clone(),
                sha256: library.sha256.clone(),
                required: role == Role::Neo,
            })
        };
        ROLES.into_iter().filter_map(expected).collect()
    }

    /// Size and time of every file as the manifest says; where the time differs, the hash decides.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        for library in &self.manifest.libraries {
            let path = self.root.join(&library.path);
            let metadata =
                fs::metadata(&path).map_err(|error| self.damaged(&library.path, &error.to_string()))?;
            if metadata.len() != library.size {
                let reason = format!("{} bytes instead of {}", metadata.len(), library.size);
                return Err(self.damaged(&library.path, &reason));
            }
            if inventory::mtime_ns(&metadata) != library.mtime_ns {
                self.check_hash(library, &path)?;
            }
        }
        Ok(())
    }

    /// Hashes every file of the build and of its base.
    pub fn verify(&self) -> Result<(), DriverError> {
        for tree in self.chain() {
            for library in &tree.manifest.libraries {
                tree.check_hash(library, &tree.root.join(&library.path))?;
            }
            let Manifest { packages, libraries, base, hash, .. } = &tree.manifest;
            if Manifest::identity(packages, libraries, base.as_ref()) != *hash {
                return Err(tree.damaged("manifest.json", "its hash does not fit its content"));
            }
        }
        Ok(())
    }

    fn check_hash(&self, library: &Library, path: &Path) -> Result<(), DriverError> {
        match hash::file(path) {
            Ok(found) if found == library.sha256 => Ok(()),
            Ok(_) => Err(self.damaged(&library.path, "its SHA-256 is not the manifest's")),
            Err(error) => Err(self.damaged(&library.path, &error.to_string())),
        }
    }

    fn damaged(&self, path: &str, reason: &str) -> DriverError {
        DriverError::Damaged { name: self.manifest.name.clone(), reason: format!("{path}: {reason}") }
    }

    /// One line for the head of a run: `NEO 26.27.39122.14 · IGC 2.40.14 · … · libze_intel_gpu 32b1a1ca`.
    pub fn summary(&self) -> String {
        let mut versions = self.manifest.versions.clone();
        for tree in self.chain() {
            let more = &tree.manifest.versions;
            versions.igc = versions.igc.or_else(|| more.igc.clone());
            versions.gmmlib = versions.gmmlib.or_else(|| more.gmmlib.clone());
            versions.loader = versions.loader.or_else(|| more.loader.clone());
        }
        format!("{versions} · libze_intel_gpu {}", self.manifest.short_id())
    }
}
