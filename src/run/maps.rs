//! Finds the client below the wrappers and reads what it has mapped: the proof of which driver really ran.

use std::fs;

use super::proctree;
use super::spec::MapsSnapshot;

/// Why no snapshot could be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoMaps {
    /// No process of the run has the library mapped.
    NotLoaded,
    /// A process of the run exists whose maps may not be read.
    Refused { pid: u32, why: String },
}

/// Maps of the process at or below `leader` that has a file mapped whose name contains `library`.
pub fn snapshot(leader: u32, library: &str, when: &str) -> Result<MapsSnapshot, NoMaps> {
    let mut refused = None;
    for pid in proctree::with_descendants(leader) {
        match fs::read(format!("/proc/{pid}/maps")) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if has_library(&text, library) {
                    return Ok(MapsSnapshot { when: when.to_owned(), pid, text });
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                refused = Some(NoMaps::Refused { pid, why: e.to_string() });
            }
            // Gone in between.
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or(NoMaps::NotLoaded))
}

fn has_library(maps: &str, library: &str) -> bool {
    maps.lines().any(|line| {
        line.find('/')
            .and_then(|at| line.get(at..))
            .and_then(|path| path.rsplit('/').next())
            .is_some_and(|name| name.contains(library))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_is_looked_for_in_file_names_only() {
        let line = "7f00-7f01 r-xp 00000000 08:01 42   /opt/libze_intel_gpu.d/libc.so.6\n";
        assert!(!has_library(line, "libze_intel_gpu"));
        let line = "7f00-7f01 r-xp 00000000 08:01 42   /opt/d/libze_intel_gpu.so.1.15.39122\n";
        assert!(has_library(line, "libze_intel_gpu"));
    }

    #[test]
    fn own_process_has_its_own_binary_mapped() {
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_str().unwrap();
        let got = snapshot(std::process::id(), name, "now").unwrap();
        assert_eq!(got.pid, std::process::id());
        assert_eq!(snapshot(std::process::id(), "no-such-library", "now"), Err(NoMaps::NotLoaded));
    }
}
