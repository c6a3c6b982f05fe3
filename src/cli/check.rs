//! Arguments of `repro-matrix check`.

use std::path::PathBuf;

/// Check matrix files and their baselines without running anything: for a pre-commit hook.
///
/// Everything in the files that `run` would refuse on any machine, baseline rows that can no longer occur, definitions that no
/// arm uses, expectations that nothing measures, and untidy text. Exit code 3 if something is found. What one machine lacks
/// (driver builds, cards, instruments, room) is no fault of a file: `plan` says which arms it costs there.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Matrix files; the baseline beside one (`smoke.expect.toml`) is checked with it.
    #[arg(value_name = "MATRIX", required = true)]
    pub files: Vec<PathBuf>,
}
