//! Arguments of `repro-matrix expectations`.

use std::path::PathBuf;

/// The baseline of a matrix: what is known to happen, under which drivers, and where that is tracked.
#[derive(Debug, clap::Args)]
pub struct ExpectationsArgs {
    #[command(subcommand)]
    pub command: ExpectationsCommand,
}

#[derive(Debug, clap::Subcommand)]
pub enum ExpectationsCommand {
    Update(UpdateArgs),
}

/// Show how the baseline would have to change to say what these results show; change it with --write.
///
/// New rows need a reason and a tracker address. Arms without a verdict change nothing, nor do rows of other driver
/// ranges. Exit code 10 if the baseline differs from the results, 0 if it does not or was written.
#[derive(Debug, clap::Args)]
pub struct UpdateArgs {
    /// The matrix file; its baseline is beside it (`smoke.expect.toml`).
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// Results directories of this matrix and one driver build.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Why the new rows are expected.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Where they are being worked on.
    #[arg(long, value_name = "ADDRESS")]
    pub tracker: Option<String>,
    /// Driver range of new rows [default: from the version that was run on].
    #[arg(long, value_name = "RANGE")]
    pub drivers: Option<String>,
    /// Change the file.
    #[arg(long)]
    pub write: bool,
}
