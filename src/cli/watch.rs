//! Arguments of `repro-matrix watch`.

use std::path::PathBuf;

/// Follow a run that is going on elsewhere: one line a finished run, until its writer ends.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// Its results directory.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Say what is there and end.
    #[arg(long)]
    pub once: bool,
}
