//! Arguments of `repro-matrix run`.

use std::path::PathBuf;
use std::time::Duration;

use super::plan::SelectArgs;

/// Run a matrix and judge every arm.
///
/// The first line says which device is used. Progress goes to stderr; the table, what the run establishes and the
/// place of the results go to stdout. Exit codes: 0 as expected, 10 something unexpected, 11 only improvements, 12 no
/// verdict somewhere, 21 a build failed, 41 results could not be written, 130 interrupted (`--resume` goes on).
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub stop: StopArgs,
    /// Runs side by side [default: as many as cores on the simulated device]. A card runs one at a time.
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Where results go: `DIR/<matrix>/<run-id>/`.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Go on with a results directory: does what is missing in it. Refused if the matrix, the device or the driver is
    /// not the same.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Only this part of the plan (`2/4`): cut by a hash of the ids, comparisons whole. `merge` puts the parts together.
    #[arg(long, value_name = "M/N")]
    pub shard: Option<crate::plan::shard::Shard>,
    /// Run this shell command at the end, with REPRO_MATRIX_RESULTS, REPRO_MATRIX_HEADLINE and REPRO_MATRIX_EXIT set.
    #[arg(long, value_name = "CMD")]
    pub notify: Option<String>,
    /// Lines instead of bars, as without a terminal.
    #[arg(long)]
    pub plain: bool,
    /// Timeout of every run (`90s`). Overrides the matrix.
    #[arg(long, value_name = "DURATION", value_parser = some_time)]
    pub timeout: Option<Duration>,
    /// Time between TERM and KILL.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = humantime::parse_duration)]
    pub grace: Duration,
    /// Fault injected into the simulated device in every run (`vm_bind:ENOMEM@17`); may be given several times.
    #[arg(long = "fault", value_name = "RULE", value_parser = fault)]
    pub faults: Vec<String>,
    /// icpx for sycl variants [default: that of ONEAPI_ROOT, else of PATH; where there is none, the run-time compiler of
    /// a fetched SYCL runtime].
    #[arg(long, value_name = "ICPX")]
    pub compiler: Option<PathBuf>,
    /// Keep each run's working directory (below the results directory, in `work/`).
    #[arg(long)]
    pub keep_work: bool,
}

/// Rules that end an arm by what its runs show. The intervals that are printed then hold although they were looked at
/// after every run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StopArgs {
    /// Run each arm until the 95 % interval of its failure rate is at most so wide (0.1 = ten points of percent).
    #[arg(long, value_name = "WIDTH", value_parser = width, conflicts_with = "repeats")]
    pub until_width: Option<f64>,
    /// Run each arm until it has failed so often.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "repeats")]
    pub until_hits: Option<u64>,
    /// Most runs of each arm, whatever the other rules say [default with --until-width or --until-hits: 1000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), conflicts_with = "repeats")]
    pub max_runs: Option<u64>,
    /// Start no further run after so long (`2h`). Alone, it only cuts short what the matrix or --repeats plans.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub max_time: Option<Duration>,
}

impl StopArgs {
    /// `None` without any of the flags: then every arm has its number of repeats.
    pub fn rule(&self) -> Option<crate::stats::stopping::StopRule> {
        let StopArgs { until_width, until_hits, max_runs, max_time } = *self;
        let looks = until_width.is_some() || until_hits.is_some() || max_runs.is_some();
        (looks || max_time.is_some()).then(|| crate::stats::stopping::StopRule {
            until_width,
            until_hits,
            max_runs: looks.then(|| max_runs.unwrap_or(1000)),
            max_time,
        })
    }
}

fn width(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(width) if width > 0.0 && width < 1.0 => Ok(width),
        _ => Err("a number between 0 and 1".into()),
    }
}

/// A time limit that something can happen in.
fn some_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("a time longer than nothing".into()),
        Ok(time) => Ok(time),
        Err(error) => Err(error.to_string()),
    }
}

/// Refused here, not in every run of the matrix.
fn fault(text: &str) -> Result<String, xe_sim::fault::FaultParseError> {
    xe_sim::fault::FaultPlan::parse(&[text.to_owned()]).map(|_| text.to_owned())
}

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=1024).contains(&n) => Ok(n),
        _ => Err("a number from 1 to 1024".into()),
    }
}
