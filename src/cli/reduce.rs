//! Arguments of `repro-matrix reduce`.

use std::path::PathBuf;

use super::search::SearchArgs;

/// Make a failing arm smaller as long as it fails alike.
///
/// Takes away debug keys and flags and makes every number as small as it may be (copies, chunk, elements, kernels…), keeping
/// what gives the same signature at a rate not below the floor. At the end the arm as written and the reduced one are measured
/// again, and what became of it is printed.
///
/// There are no shards: whether one change is kept decides the next. Runs of one candidate go side by side (--jobs).
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit codes: 0 reduced, or nothing can be taken away; 12 a budget was spent, or\n\
    the measured rate is below the floor; 13 the arm does not fail.")]
pub struct ReduceArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// The arm that fails.
    #[arg(long, value_name = "ARM")]
    pub arm: String,
    /// Leave these numbers as they are (kernels, copies…): builds take time.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = field)]
    pub keep: Vec<crate::probe::Field>,
    /// Smallest failure rate that is kept, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = super::bisect::percent)]
    pub floor: f64,
    /// Most runs of one candidate.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Runs of the arm as written and of the reduced one at the end.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub measure: u32,
    #[command(flatten)]
    pub search: SearchArgs,
}

fn field(text: &str) -> Result<crate::probe::Field, String> {
    use crate::probe::Field;
    Field::by_name(text).ok_or_else(|| Field::ALL.map(|(name, _)| name).join(", "))
}
