//! Arguments that all searches share (bisect, threshold, reduce, faults, compare, keys, verdict).

use std::path::PathBuf;
use std::time::Duration;

/// Where a search runs, and how much of it.
#[derive(Clone, Debug, clap::Args)]
pub struct SearchArgs {
    /// `auto` (an Intel render node if there is one, else sim:a770), `sim:PROFILE` or `pci:ADDRESS`. Overrides the
    /// matrix.
    #[arg(long, value_name = "DEVICE", value_parser = super::plan::device)]
    pub device: Option<String>,
    /// Driver build of the store. Overrides the matrix.
    #[arg(long, value_name = "NAME")]
    pub driver: Option<String>,
    /// Runs side by side [default: as many as cores on the simulated device]. A card runs one at a time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where results go: `DIR/<matrix>/<run-id>/`.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
    /// Go on with a results directory of the same search: what is recorded in it is not run again.
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Timeout of every run (`90s`). Overrides the matrix.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// Stop after so many runs, with what is known by then.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,
    /// Stop after so long (`2h`), with what is known by then.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub max_time: Option<Duration>,
    /// Which failure is looked for: a verdict (corrupt, wrong-before, hang, crash, device-lost), or `any` of them. Other
    /// failures answer nothing and are named.
    #[arg(long, value_name = "VERDICT", default_value = "corrupt", value_parser = failure)]
    pub failure: String,
    /// Lines instead of bars, as without a terminal.
    #[arg(long)]
    pub plain: bool,
}

fn failure(text: &str) -> Result<String, String> {
    if text == "any" || crate::probe::FAILURES.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("any, {}", crate::probe::FAILURES.join(", ")))
    }
}

impl SearchArgs {
    pub fn target(&self) -> crate::probe::Target {
        match self.failure.as_str() {
            "any" => crate::probe::Target::any(),
            word => crate::probe::Target { verdicts: vec![word.to_owned()], class: None },
        }
    }
}
