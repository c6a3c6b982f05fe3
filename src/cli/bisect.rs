//! Arguments of `repro-matrix bisect`.

use std::path::PathBuf;
use std::time::Duration;

use super::search::SearchArgs;

/// Find the driver release, commit or value at which a failure came in, or went away.
///
/// Runs one arm at places of an ordered axis until one place is certain enough. One corrupt run proves a place bad; how many
/// clean runs make it good follows from the failure's rate, which is learned at the bad end. Both ends are checked first,
/// untestable places are passed over and named, and the neighbours are looked at again at the end.
///
/// There are no shards: each step decides the next. Runs of one step go side by side (--jobs), and runs that other machines
/// made of the same arm, build and device count with --reuse and --pool.
#[derive(Clone, Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
    repro-matrix bisect m.toml --arm over/file-r --drivers neo-26.05,neo-26.09,neo-26.18\n  \
    repro-matrix bisect m.toml --arm over/file-r --drivers 'neo-26.*' --find fixed\n  \
    repro-matrix bisect m.toml --arm over/file-r --drivers old,new --components\n  \
    repro-matrix bisect m.toml --arm over/file-r --git compute-runtime --build 'ninja -C b' \\\n      \
    --lib b/bin/libze_intel_gpu.so.1 --good v1 --bad v2\n  \
    repro-matrix bisect m.toml --arm sycl/file-r --runtimes 2025.3.3,2026.0.0,2026.2.0\n  \
    repro-matrix bisect m.toml --arm over/file-r --values copies=1,2,4,8,16\n\n\
    Exit codes: 0 found; 12 inconclusive (a budget was spent, or the answers do not fit one change); 13 not reproduced at the\n\
    bad end; 20, 21, 22 could not run."
)]
pub struct BisectArgs {
    #[command(subcommand)]
    pub action: Option<BisectAction>,
    /// The matrix file.
    #[arg(value_name = "MATRIX", required = true)]
    pub matrix: Option<PathBuf>,
    /// The arm that shows the failure.
    #[arg(long, value_name = "ARM", required_unless_present = "arms")]
    pub arm: Option<String>,
    #[command(flatten)]
    pub axis: AxisArgs,
    /// The place that is good (default: the first of the axis; with --find fixed the last).
    #[arg(long, value_name = "PLACE")]
    pub good: Option<String>,
    /// The place that is bad (default: the other end).
    #[arg(long, value_name = "PLACE")]
    pub bad: Option<String>,
    /// What to look for: the first place that is broken, or the first that is fixed.
    #[arg(long, value_enum, default_value = "broken")]
    pub find: Find,
    /// The good places fail too, less often: find where the rate changed.
    #[arg(long)]
    pub two_sided: bool,
    /// Largest probability of naming the wrong place, in percent.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub error: f64,
    /// Failure rate of bad places in percent, if it is known; else it is learned.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub rate: Option<f64>,
    /// Results of `run` or of another search: runs of the same arm on the same machine, device and build count.
    #[arg(long, value_name = "DIR")]
    pub reuse: Vec<PathBuf>,
    /// Count the runs that other machines made, too, although they may differ: on the same simulated device, or on a card of
    /// the same kind at the same address.
    #[arg(long, requires = "reuse")]
    pub pool: bool,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// What is searched. One of these.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(multiple = true)]
pub struct AxisArgs {
    /// Driver builds in order: names of the store with commas, a pattern ('neo-26.*', by release number), or a directory of
    /// builds (libraries, package directories, prefixes), by release number.
    #[arg(long, value_name = "LIST|DIR", group = "axis")]
    pub drivers: Option<String>,
    /// SYCL runtimes in order: versions with commas ('icpx' and 'default' too), or a pattern ('2026.*') over those that are
    /// here, the oldest first.
    #[arg(long, value_name = "LIST", group = "axis")]
    pub runtimes: Option<String>,
    /// Values of one number of the arm: `copies=1,2,4` or `kernels=150..200`.
    #[arg(long, value_name = "NAME=VALUES", group = "axis")]
    pub values: Option<String>,
    /// Arms of the matrix in its order, by pattern: any axis that the matrix can spell.
    #[arg(long, value_name = "PATTERN", group = "axis")]
    pub arms: Option<String>,
    /// A git repository: commits from --good to --bad (first parents), each built by --build.
    #[arg(long, value_name = "REPO", group = "axis", requires_all = ["build", "lib", "good", "bad"])]
    pub git: Option<PathBuf>,
    /// Shell command that builds a revision, run in a work tree of it.
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// The driver library that --build leaves, relative to the work tree.
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// A build that takes longer makes its revision untestable.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = humantime::parse_duration)]
    pub build_timeout: Duration,
    /// The build whose libraries fill the gaps of lone libraries (--git, directories).
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub base: String,
    /// First find which component matters (driver, IGC, gmmlib, loader), by mixing the two ends; then its release.
    #[arg(long, requires = "drivers")]
    pub components: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Find {
    Broken,
    Fixed,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum BisectAction {
    /// Print what a search has run and concluded so far.
    Log {
        /// Its results directory.
        dir: PathBuf,
        #[arg(long)]
        json: bool,
    },
    /// Decide again from the recorded runs, running nothing: must come to the recorded conclusion.
    Replay {
        /// Its results directory.
        dir: PathBuf,
    },
    /// Play simulated histories: the error that is kept and the runs that are needed.
    Calibrate {
        #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(2..=4096))]
        releases: u16,
        /// Failure rate of bad releases, in percent.
        #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
        rate: f64,
        #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
        error: f64,
        /// The search has to learn the rate.
        #[arg(long)]
        learn: bool,
        #[arg(long, default_value_t = 200)]
        histories: u32,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

/// "5", "0.5%" as a rate.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').trim().parse().map_err(|e| format!("{e}"))?;
    if number > 0.0 && number <= 100.0 {
        Ok(number / 100.0)
    } else {
        Err("more than 0 and at most 100 percent".to_owned())
    }
}
