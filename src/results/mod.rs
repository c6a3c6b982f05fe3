//! `results/<matrix>/<run-id>/`: the durable record of a matrix run. Format: docs/results.md.

pub mod builds;
pub mod csv;
pub mod follow;
pub mod lenient;
pub mod logs;
pub mod machine;
pub mod manifest;
pub mod merge;
pub mod read;
pub mod record;
pub mod version;

pub use lenient::{Problem, load_lenient};
pub use manifest::Manifest;
pub use read::{Loaded, load};
pub use record::Recorder;

use std::path::{Path, PathBuf};

/// Why results could not be written or read. Each message names the file.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("{path}: {error}", path = path.display())]
    Io { path: PathBuf, error: std::io::Error },
    #[error("{path}: no space left; {kept} finished runs are kept and whole", path = path.display())]
    NoSpace { path: PathBuf, kept: usize },
    #[error("{path}:{line}: {why}", path = path.display())]
    Damaged { path: PathBuf, line: usize, why: String },
    #[error("{path} is no results directory: it has no manifest.json{}", there(below), path = path.display())]
    NoResults { path: PathBuf, below: Vec<PathBuf> },
    #[error("{path}: {reason}", path = path.display())]
    Unreadable { path: PathBuf, reason: version::NotReadable },
    #[error("{path} is in use by another repro-matrix", path = path.display())]
    Busy { path: PathBuf },
    #[error("{path} cannot be resumed with this: {}", differences.join("; "), path = path.display())]
    Differs { path: PathBuf, differences: Vec<String> },
}

/// "; there are results in A, B": what was meant, perhaps.
fn there(below: &[PathBuf]) -> String {
    const MOST: usize = 5;
    let shown: Vec<String> = below.iter().take(MOST).map(|path| path.display().to_string()).collect();
    match below.len() {
        0 => " (repro-matrix run writes one)".into(),
        n if n > MOST => format!("; there are results in {} and {} more", shown.join(", "), n - MOST),
        _ => format!("; there are results in {}", shown.join(", ")),
    }
}

impl ResultsError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ResultsError {
        let path = path.to_owned();
        move |error| ResultsError::Io { path, error }
    }

    /// The exit code that a verb ends with.
    pub fn exit(&self) -> crate::exit::Exit {
        use crate::exit::Exit;
        match self {
            ResultsError::Io { .. } | ResultsError::NoSpace { .. } | ResultsError::Busy { .. } => {
                Exit::CannotRecord
            }
            ResultsError::NoResults { .. } => Exit::Usage,
            ResultsError::Damaged { .. } | ResultsError::Unreadable { .. } | ResultsError::Differs { .. } => {
                Exit::IncompatibleRecording
            }
        }
    }
}

pub const MANIFEST: &str = "manifest.json";
pub const RUNS: &str = "runs.jsonl";
pub const BUILDS: &str = "builds.jsonl";
pub const ARMS: &str = "arms.csv";
pub const LOGS: &str = "logs";
/// There when a stopping rule's time ended the run: what is missing is not to be done.
pub const OUT_OF_TIME: &str = "out-of-time";

/// A fresh run id: UTC time to the second and four hexadecimal digits, e.g. `2026-11-29T15-12-00-7f3a`.
pub fn run_id(now: std::time::SystemTime) -> String {
    let stamp = humantime::format_rfc3339_seconds(now).to_string();
    let stamp = stamp.trim_end_matches('Z').replace(':', "-");
    // Enough to keep two starts within one second apart; collisions are caught by creating the directory.
    let salt = (crate::run::monotonic_ns() >> 10) as u16 ^ std::process::id() as u16;
    format!("{stamp}-{salt:04x}")
}

/// An arm id as a path component: `/` opens a directory level, anything unusual becomes `_`.
pub fn arm_path(arm: &str) -> PathBuf {
    arm.split('/')
        .map(|part| {
            let safe: String = part
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || "-_.+=".contains(c) { c } else { '_' })
                .collect();
            // `.` and `..` would leave the directory.
            if safe.chars().all(|c| c == '.') { format!("_{safe}") } else { safe }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn run_id_has_the_documented_shape() {
        let id = run_id(UNIX_EPOCH + Duration::from_secs(1_764_429_120));
        assert!(id.starts_with("2025-11-29T15-12-00-"), "{id}");
        assert_eq!(id.len(), "2025-11-29T15-12-00-7f3a".len());
    }

    #[test]
    fn arm_path_never_leaves_the_directory() {
        assert_eq!(arm_path("over/file-r"), Path::new("over/file-r"));
        assert_eq!(arm_path("../x"), Path::new("_../x"));
        assert_eq!(arm_path("/etc"), Path::new("_/etc"));
        assert_eq!(arm_path("a b/ü"), Path::new("a_b/_"));
    }
}
