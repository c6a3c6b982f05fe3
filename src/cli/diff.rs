//! Arguments of `repro-matrix diff`.

use std::path::PathBuf;

/// Compare two sets of results arm by arm: what a driver uplift changed, and with which significance.
///
/// Exit code 0: nothing changed. 10: an arm is worse or has another fault. 11: only improvements. 12: the runs do not
/// suffice to say.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// Results directory of the first (older) side.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Results directory of the second (newer) side.
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Write to this file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
