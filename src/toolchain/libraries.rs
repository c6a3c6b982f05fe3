//! What a run loads of a SYCL runtime, identified: versions from the files' names, build-id and hash of each file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::driver::{inspect_elf, sha256_file};

/// libsycl, and Unified Runtime's loader and Level Zero adapters. Its run-time compiler is in the packages' hashes.
const STEMS: [&str; 4] =
    ["libsycl.so", "libur_loader.so", "libur_adapter_level_zero.so", "libur_adapter_level_zero_v2.so"];

/// One library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// `libur_loader.so.0.12.0`: of its names, the one with the whole version.
    pub file: String,
    /// "0.12.0", from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Some releases are linked without one: the hash names the file then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    pub sha256: String,
}

impl std::fmt::Display for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.build_id.as_deref().unwrap_or("none");
        write!(f, "{}  build-id {id}  sha256 {}", self.file, self.sha256)
    }
}

/// Those of `directory` that are there and can be read, in the order above.
pub fn libraries(directory: &Path) -> Vec<Library> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    STEMS.iter().filter_map(|stem| library(directory, &names, stem)).collect()
}

fn library(directory: &Path, names: &[String], stem: &str) -> Option<Library> {
    let version = |name: &str| {
        let rest = name.strip_prefix(stem)?;
        match rest.strip_prefix('.') {
            // "libsycl.so.9.0.0-gdb.py" is another file.
            Some(version) if version.chars().all(|c| c.is_ascii_digit() || c == '.') => {
                Some(version.to_owned())
            }
            Some(_) => None,
            None => rest.is_empty().then(String::new),
        }
    };
    let (name, version) = names
        .iter()
        .filter_map(|name| Some((name, version(name)?)))
        .max_by_key(|(_, version)| version.split('.').map(|n| n.parse::<u64>().ok()).collect::<Vec<_>>())?;
    let path = directory.join(name);
    Some(Library {
        file: name.clone(),
        version: Some(version).filter(|version| !version.is_empty()),
        build_id: inspect_elf(&path).ok()?.build_id,
        sha256: sha256_file(&path).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_with_the_whole_version_is_taken_and_what_is_no_library_is_not() {
        // This test program is an ELF file.
        let dir = tempfile::tempdir().unwrap();
        let real = std::env::current_exe().unwrap();
        for name in ["libsycl.so", "libsycl.so.9", "libsycl.so.9.0.0", "libur_loader.so.0.12.0"] {
            std::os::unix::fs::symlink(&real, dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("libsycl.so.9.0.0-gdb.py"), "").unwrap();
        std::fs::write(dir.path().join("libur_adapter_level_zero.so"), "INPUT(x)").unwrap();
        let found = libraries(dir.path());
        let told: Vec<_> = found.iter().map(|l| (l.file.as_str(), l.version.as_deref())).collect();
        assert_eq!(told, [("libsycl.so.9.0.0", Some("9.0.0")), ("libur_loader.so.0.12.0", Some("0.12.0"))]);
        assert_eq!(found[0].sha256, sha256_file(&real).unwrap());
        assert_eq!(found[0].build_id, inspect_elf(&real).unwrap().build_id);
        assert!(libraries(&dir.path().join("nothing")).is_empty());
    }
}
