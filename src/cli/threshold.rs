//! Arguments of `repro-matrix threshold`.

use std::path::PathBuf;

use super::search::SearchArgs;
use crate::matrix::units::Size;

/// Find the value of a number at which the verdict flips.
///
/// Where the driver's own rule is known (private memory of the module against global memory), the boundary is predicted from
/// the build and printed beside the measured one. The values beside the flip are repeated; values far from it are looked at
/// too, so that an axis that repeats or flips twice is noticed.
///
/// There are no shards: each run decides the next value. To use several machines, cut the range.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix threshold m.toml --arm over/file-r --variant kernels=1..1024\n  \
    repro-matrix threshold m.toml --arm over/file-r --set copies=1..942\n\n\
    Names: kernels (BLOAT_N), batch_size, plain_kernels, padding, copies, chunk, repeat, guard, ballast, elements,\n\
    source_size. Exit codes: 0 found (as predicted, where there is a prediction); 10 found elsewhere than predicted; 12\n\
    inconclusive or not monotone; 13 no flip.")]
pub struct ThresholdArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// The arm whose number is varied [default: the matrix's positive control].
    #[arg(long, value_name = "ARM")]
    pub arm: Option<String>,
    /// NAME=LOW..HIGH, both included; sizes as 4KiB..64MiB.
    #[arg(long = "variant", visible_alias = "set", value_name = "NAME=LOW..HIGH")]
    pub axis: String,
    /// Distance of the values that may be run, a number or a size [default: the smallest that the number allows].
    #[arg(long, value_name = "N", value_parser = step)]
    pub step: Option<u64>,
    /// Largest probability that the clean side of the flip is corrupt after all, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = super::bisect::percent)]
    pub error: f64,
    /// Do not predict: find the flip by runs alone.
    #[arg(long)]
    pub no_prediction: bool,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// "16", "512MiB".
fn step(text: &str) -> Result<u64, String> {
    match text.parse().ok().or_else(|| Size::parse(text).map(|size| size.0)) {
        Some(0) | None => Err("a number from 1 on, or a size such as 512MiB".to_owned()),
        Some(step) => Ok(step),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_number_or_a_size() {
        assert_eq!(step("16"), Ok(16));
        assert_eq!(step("512MiB"), Ok(512 << 20));
        assert!(step("0").is_err() && step("0KiB").is_err() && step("many").is_err());
    }
}
