//! Arguments of `repro-matrix compare`.

use std::path::PathBuf;

use super::search::SearchArgs;

/// Compare how often two arms fail, or one arm on two driver builds.
///
/// The runs alternate, in an order drawn anew for each pair, so that a drift of the machine falls on both. Ends with exact
/// tests and the ratio of the rates with its interval. An arm compared with itself (A/A) tells how often such a comparison
/// finds a difference where there is none.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix compare m.toml over/file-r over/anon-rw\n  \
    repro-matrix compare m.toml --arm over/file-r stock patched\n  \
    repro-matrix compare m.toml over/file-r over/file-r          # A/A\n\n\
    Exit codes: 0 no difference found; 10 they differ; 12 no answer, a budget that was spent before they\n\
    differ, or results that must not be pooled.")]
pub struct CompareArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// An arm; with --arm, a driver build of the store.
    #[arg(value_name = "A")]
    pub a: String,
    /// The other one.
    #[arg(value_name = "B")]
    pub b: String,
    /// Compare two driver builds on this arm.
    #[arg(long, value_name = "ARM", conflicts_with = "driver")]
    pub arm: Option<String>,
    /// Runs of each.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Stop as soon as the rates are different for certain (intervals that allow looking); --runs is then the most.
    #[arg(long)]
    pub until_decided: bool,
    /// Count the runs of these results too. Refused where machine, device or driver build differ or the rates do not fit
    /// together, unless --pool.
    #[arg(long, value_name = "DIR")]
    pub with: Vec<PathBuf>,
    /// Add up results of several machines or driver builds although they may differ; the test of their likeness is
    /// printed.
    #[arg(long, requires = "with")]
    pub pool: bool,
    /// Only this part of the pairs (`2/4`), by a stable hash of arms and repeat: shares of one comparison. Put together with
    /// `--shard 1/4 --resume DIR --with DIR…`.
    #[arg(long, value_name = "M/N", conflicts_with = "until_decided")]
    pub shard: Option<crate::plan::shard::Shard>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub search: SearchArgs,
}
