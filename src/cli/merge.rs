//! Arguments of `repro-matrix merge`.

use std::path::PathBuf;

/// Put results of one matrix together: shards, or the same arms run again.
///
/// The order does not matter, and a directory given twice counts once. Machines stay apart in every statistic. Results
/// of another matrix file, device or driver build are refused.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// Results directories; merged ones may be among them.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// The directory to make.
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
}
