//! Arguments of `repro-matrix plan`, and the choice of arms that `run` shares.

use std::path::PathBuf;

/// Show the arms of a matrix, and what is left out and why; run nothing.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    /// The matrix file.
    pub matrix: PathBuf,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Print the whole plan as JSON: arms, run order, exclusions.
    #[arg(long)]
    pub json: bool,
    /// Print the file that hands shards of the plan to a scheduler; how to submit it goes to stderr.
    #[arg(long, value_enum, value_name = "SCHEDULER", conflicts_with = "json")]
    pub format: Option<Scheduler>,
    /// With --format: how long a job may take, by the times of --timings or else by the arms' time limits.
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = humantime::parse_duration)]
    pub target: std::time::Duration,
    /// With --format: results directories whose wall times stand for those to come.
    #[arg(long, value_name = "DIR")]
    pub timings: Vec<PathBuf>,
}

/// What runs shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scheduler {
    /// GitHub Actions: a value for `strategy.matrix`.
    Github,
    /// GitLab: a child pipeline.
    Gitlab,
    /// Slurm: a batch script with a job array.
    Slurm,
    /// HyperQueue: a job definition file.
    Hq,
}

/// Which arms, in which order, on which device.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SelectArgs {
    /// Only arms whose id contains this text, or matches it if it has * or ?; may be given several times.
    #[arg(long = "arm", value_name = "PATTERN")]
    pub arms: Vec<String>,
    /// Only these variants (* and ? allowed); may be given several times.
    #[arg(long, value_name = "PATTERN")]
    pub only_variant: Vec<String>,
    /// Only these sources.
    #[arg(long, value_name = "PATTERN")]
    pub only_source: Vec<String>,
    /// Only these debug-key sets.
    #[arg(long, value_name = "PATTERN")]
    pub only_keys: Vec<String>,
    /// Only these workloads.
    #[arg(long, value_name = "PATTERN")]
    pub only_workload: Vec<String>,
    /// Seed of the run order instead of the matrix's own.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Runs of every arm instead of the matrix's own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeats: Option<u32>,
    /// The device of every arm that says `auto`: `auto` (an Intel render node if there is one, else sim:a770),
    /// sim:PROFILE (sim:b580) or pci:DDDD:BB:DD.F.
    #[arg(long, value_name = "DEVICE", value_parser = device)]
    pub device: Option<String>,
    /// The driver build of every arm that says `default`.
    #[arg(long, value_name = "NAME")]
    pub driver: Option<String>,
}

/// The value of `--device`. Whether a card is there depends on the machine; a simulated device is on all or on none.
pub fn device(text: &str) -> Result<String, String> {
    if !crate::matrix::validate::is_device(text) {
        return Err("auto, sim:PROFILE (sim:a770) or pci:DDDD:BB:DD.F (pci:0000:09:00.0)".to_owned());
    }
    match text.strip_prefix("sim:") {
        Some(profile) => self::profile(profile).map(|_| text.to_owned()),
        None => Ok(text.to_owned()),
    }
}

/// The name of a simulated device without `sim:`.
pub fn profile(name: &str) -> Result<&'static xe_sim::profile::Profile, String> {
    let known = || xe_sim::profile::all().map(|profile| profile.name);
    xe_sim::profile::by_name(name).ok_or_else(|| {
        let near = crate::matrix::problem::nearest(name, known());
        let near = near.map_or_else(String::new, |near| format!("; did you mean \"sim:{near}\"?"));
        let known: Vec<String> = known().map(|name| format!("sim:{name}")).collect();
        format!("no simulated device \"sim:{name}\"{near} (there are {})", known.join(", "))
    })
}

impl SelectArgs {
    pub fn selection(&self) -> crate::plan::Selection {
        crate::plan::Selection {
            arms: self.arms.clone(),
            variants: self.only_variant.clone(),
            sources: self.only_source.clone(),
            keys: self.only_keys.clone(),
            workloads: self.only_workload.clone(),
            seed: self.seed,
            device: self.device.clone().filter(|device| device != "auto"),
            driver: self.driver.clone(),
            repeats: self.repeats,
        }
    }
}
