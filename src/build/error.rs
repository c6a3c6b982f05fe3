//! Why a variant did not build, and what to try next.

use std::path::Path;
use std::time::Duration;

/// A failed build: what failed, the command that failed, the end of its output, the next thing to try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct BuildError {
    pub cause: Cause,
    /// As a shell takes it; empty when no command was reached.
    pub command: String,
    /// The last 16 KiB of the compiler's output.
    pub log: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// The diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    #[error("the variant makes no sense: {0}")]
    BadVariant(#[from] super::source::BadVariant),
    #[error("ocloc could not be started: {program}: {error}")]
    Spawn { program: String, error: String },
    #[error("ocloc does not know {0}")]
    UnknownOption(String),
    #[error("ocloc does not know this device")]
    UnknownDevice,
    #[error("the source does not compile")]
    SourceError,
    #[error("the compiler (IGC) was killed by signal {signal} ({name})")]
    CompilerCrash { signal: i32, name: String },
    #[error("the compiler (IGC) reported an internal error")]
    CompilerInternal,
    #[error("ocloc ended with status {0}")]
    Failed(i32),
    #[error("ocloc did not finish in {0:?}")]
    Timeout(Duration),
    #[error("stopped before ocloc finished")]
    Interrupted,
    #[error("no space left on the device while building")]
    DiskFull,
    #[error("{what}: {error}")]
    Io { what: String, error: String },
    #[error("ocloc succeeded but its output is not usable: {0}")]
    BadImage(String),
}

impl Cause {
    /// ENOSPC and EDQUOT are one thing to the reader.
    pub fn from_io(verb: &str, path: &Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Cause::DiskFull,
            _ => Cause::Io { what: format!("{verb} {}", path.display()), error: error.to_string() },
        }
    }

    /// From how `ocloc` ended and what it printed. Its texts are facts of `shared/offline_compiler`; when they
    /// change, the cause is [`Cause::Failed`] and the log still shows them.
    pub fn from_status(code: Option<i32>, signal: Option<i32>, log: &str) -> Self {
        if let Some(signal) = signal {
            let name = nix::sys::signal::Signal::try_from(signal).map_or("unknown", |signal| signal.as_str());
            return Cause::CompilerCrash { signal, name: name.to_owned() };
        }
        let after = |mark: &str| {
            let line = log.lines().find_map(|line| line.split_once(mark))?.1.trim();
            Some(line.trim_start_matches(": ").to_owned())
        };
        if let Some(option) = after("Unrecognized build options:") {
            return Cause::UnknownOption(format!("the build option {option}"));
        }
        if let Some(option) = after("Invalid option") {
            return Cause::UnknownOption(format!("the argument {option}"));
        }
        if log.contains("Could not determine device target") || log.contains("Cannot get HW Info for device")
        {
            return Cause::UnknownDevice;
        }
        if log.contains("No space left on device") {
            return Cause::DiskFull;
        }
        if log.contains("internal compiler error") || log.contains("IGC: Internal Compiler Error") {
            return Cause::CompilerInternal;
        }
        if log.contains(": error: ") {
            return Cause::SourceError;
        }
        Cause::Failed(code.unwrap_or(-1))
    }

    fn advice(&self) -> &'static str {
        match self {
            Cause::BadVariant(_) => "correct the variant in the matrix file",
            Cause::Spawn { .. } => {
                "fetch a driver build that has ocloc: `repro-matrix drivers fetch debian`, or look at `drivers show`"
            }
            Cause::UnknownOption(_) => {
                "take the option out of the variant's `options`, or choose another driver build"
            }
            Cause::UnknownDevice => {
                "this ocloc is older than the device, or lacks it: choose another driver build"
            }
            Cause::SourceError => {
                "if `options` are not the cause, this compiler does not take the kernel: see the log"
            }
            Cause::CompilerCrash { .. } | Cause::CompilerInternal => {
                "run the command by hand; try fewer kernels, another batch_size or another driver build, and report it \
                 with the source"
            }
            Cause::Failed(_) => "run the command by hand and read its output",
            Cause::Timeout(_) => {
                "raise the build timeout, or build fewer kernels in one module (split, kernels)"
            }
            Cause::Interrupted => "run again: what was finished is in the cache",
            Cause::DiskFull => "free some space, or point REPRO_MATRIX_DATA and TMPDIR at another disk",
            Cause::Io { .. } => "check the data directory's permissions",
            Cause::BadImage(_) => {
                "if the disk is not full, run the command by hand and look at the file it makes"
            }
        }
    }
}

impl BuildError {
    /// `directory` is where the build wrote: a full disk there explains failures that name no cause.
    pub fn new(cause: Cause, command: String, log: String, directory: &Path) -> Self {
        let unexplained =
            matches!(cause, Cause::Failed(_) | Cause::BadImage(_) | Cause::CompilerCrash { .. });
        let cause = if unexplained && is_full(directory) { Cause::DiskFull } else { cause };
        BuildError { advice: cause.advice(), cause, command, log }
    }

    /// Before any command was reached.
    pub fn early(cause: Cause) -> Self {
        BuildError { advice: cause.advice(), cause, command: String::new(), log: String::new() }
    }

    /// Several lines for a person: diagnosis, command, end of the log, advice.
    pub fn explain(&self) -> String {
        let mut text = self.cause.to_string();
        if !self.command.is_empty() {
            text.push_str(&format!("\n  command: {}", self.command));
        }
        let lines: Vec<&str> = self.log.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(12)) {
            text.push_str(&format!("\n  | {line}"));
        }
        text.push_str(&format!("\n  try: {}", self.advice));
        text
    }
}

fn is_full(directory: &Path) -> bool {
    nix::sys::statvfs::statvfs(directory)
        .is_ok_and(|fs| fs.blocks_available().saturating_mul(fs.fragment_size()) < 64 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_ocloc_are_understood() {
        let cause = |log: &str| Cause::from_status(Some(245), None, log);
        assert_eq!(
            cause("\nUnrecognized build options: -cl-bogus\nBuild failed with error code: -11"),
            Cause::UnknownOption("the build option -cl-bogus".to_owned())
        );
        assert_eq!(
            cause("Invalid option (arg 6): -bogus"),
            Cause::UnknownOption("the argument (arg 6): -bogus".to_owned())
        );
        assert_eq!(cause("Could not determine device target: nope."), Cause::UnknownDevice);
        assert_eq!(cause("1:1:42: error: use of undeclared identifier 'foo'"), Cause::SourceError);
        assert_eq!(cause("something new"), Cause::Failed(245));
    }

    #[test]
    fn a_signal_is_named() {
        let cause = Cause::from_status(None, Some(6), "Abort");
        assert_eq!(cause, Cause::CompilerCrash { signal: 6, name: "SIGABRT".to_owned() });
    }

    #[test]
    fn the_explanation_has_all_parts() {
        let error = BuildError::new(Cause::SourceError, "ocloc x".into(), "a\n\nb".into(), Path::new("/"));
        let text = error.explain();
        for part in ["does not compile", "command: ocloc x", "| a\n", "| b\n", "try: "] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
