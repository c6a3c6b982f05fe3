//! What this machine's own loader would find: the build called `system`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::elf;
use super::inventory;
use super::manifest::{Library, Manifest, Provenance, Role, SCHEMA, Versions};
use super::{DriverError, DriverTree};

/// Directories that the dynamic loader searches, in its order: LD_LIBRARY_PATH, ld.so.conf, the built-in ones.
pub fn library_dirs() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = Vec::new();
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        directories.extend(std::env::split_paths(&path).filter(|path| path.is_absolute()));
    }
    read_ld_so_conf(Path::new("/etc/ld.so.conf"), 0, &mut directories);
    for known in [
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
        "/run/opengl-driver/lib",
    ] {
        directories.push(known.into());
    }
    let mut seen = BTreeSet::new();
    directories.retain(|directory| directory.is_dir() && seen.insert(directory.clone()));
    directories
}

fn read_ld_so_conf(file: &Path, depth: u32, directories: &mut Vec<PathBuf>) {
    const DEEPEST: u32 = 8;
    let Ok(text) = std::fs::read_to_string(file) else { return };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            // In practice always DIRECTORY/*.conf.
            let pattern = Path::new("/etc").join(pattern.trim());
            let Some(parent) = pattern.parent() else { continue };
            let Ok(entries) = std::fs::read_dir(parent) else { continue };
            let mut files: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
                .collect();
            files.sort();
            if depth < DEEPEST {
                files.iter().for_each(|file| read_ld_so_conf(file, depth + 1, directories));
            }
        } else if line.starts_with('/') {
            directories.push(line.into());
        }
    }
}

/// Where the loader finds a library called so, if at all.
pub fn find_library(name: &str) -> Option<PathBuf> {
    library_dirs().into_iter().map(|directory| directory.join(name)).find(|path| path.exists())
}

/// The system's driver as a build, or [`DriverError::NoSystemDriver`].
pub fn tree() -> Result<DriverTree, DriverError> {
    const PARTS: [(Role, &[&str]); 6] = [
        (Role::Neo, &["libze_intel_gpu.so.1"]),
        (Role::Igc, &["libigc.so.2", "libigc.so.1"]),
        (Role::Igdfcl, &["libigdfcl.so.2", "libigdfcl.so.1"]),
        (Role::Gmmlib, &["libigdgmm.so.12"]),
        (Role::Loader, &["libze_loader.so.1"]),
        (Role::Ocloc, &["libocloc.so"]),
    ];
    let root = Path::new("/");
    let mut libraries: Vec<Library> = Vec::new();
    let mut elves = Vec::new();
    for (role, names) in PARTS {
        let Some(path) = names.iter().find_map(|name| find_library(name)) else {
            if role == Role::Neo {
                return Err(DriverError::NoSystemDriver);
            }
            continue;
        };
        let path = path.canonicalize().map_err(DriverError::io(&path, "could not be followed"))?;
        let elf = elf::inspect(&path)?;
        libraries.push(inventory::describe(root, role, &path, &elf)?);
        elves.push(elf);
    }
    if let Some(ocloc) = super::launch::find_in_path(Path::new("ocloc")) {
        let ocloc = ocloc.canonicalize().map_err(DriverError::io(&ocloc, "could not be followed"))?;
        if let Ok(elf) = elf::inspect(&ocloc) {
            libraries.push(inventory::describe(root, Role::Ocloc, &ocloc, &elf)?);
            elves.push(elf);
        }
    }
    let inventory = inventory::Inventory { libraries, library_dirs: Vec::new(), elves };
    let versions: Versions = inventory::versions(&[], &inventory);
    let manifest = Manifest {
        schema: SCHEMA,
        name: super::store::SYSTEM.to_owned(),
        hash: Manifest::identity(&[], &inventory.libraries, None),
        provenance: Provenance::System,
        added: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        versions,
        packages: Vec::new(),
        library_dirs: Vec::new(),
        libraries: inventory.libraries,
        base: None,
    };
    Ok(DriverTree { manifest, root: root.to_owned(), directory: None, base: None })
}
