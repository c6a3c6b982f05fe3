//! Arguments of `repro-matrix verdict`.

use std::path::PathBuf;

use super::search::SearchArgs;

/// Say of one arm whether it is clean, in the exit code: made for `git bisect run`.
///
/// Runs the arm until the failure shows, or until so many runs were clean that a failure at the given rate would have shown.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 clean; 1 corrupt; 125 untestable, or not clean often enough to say (git bisect skips \
    the revision); 129 it could not run (git bisect stops).\n\n\
    Example, in a clone of compute-runtime:\n  \
    git bisect run sh -c 'ninja -C build || exit 125; \\\n    \
    repro-matrix verdict m.toml --arm over/file-r --driver-lib build/bin/libze_intel_gpu.so.1'"
)]
pub struct VerdictArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// The arm to run.
    #[arg(long, value_name = "ARM")]
    pub arm: String,
    /// The driver under test: a libze_intel_gpu.so as a build leaves it.
    #[arg(long, value_name = "FILE", conflicts_with = "driver")]
    pub driver_lib: Option<PathBuf>,
    /// The build whose libraries fill the gaps of --driver-lib.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub base: String,
    /// Failure rate of bad builds in percent: decides how many clean runs are enough.
    #[arg(long, value_name = "PERCENT", default_value = "90", value_parser = super::bisect::percent)]
    pub rate: f64,
    /// Largest probability of calling a bad build clean, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = super::bisect::percent)]
    pub error: f64,
    #[command(flatten)]
    pub search: SearchArgs,
}
