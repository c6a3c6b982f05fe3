//! A plan cut into shards of a target duration, and the file that hands them to a scheduler.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Plan;
use super::shard::{group, shard_of};

/// How a plan is cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundles {
    /// N of `--shard M/N`.
    pub of: u32,
    /// Shards that hold something, by number.
    pub jobs: Vec<Job>,
    /// No job is estimated to take longer than was asked for.
    pub fits: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub shard: u32,
    pub arms: usize,
    pub runs: usize,
    pub estimate: Duration,
}

/// How long runs take: seconds of one run by arm, from earlier results; `None` = not known.
pub type Timings<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// Cuts `plan` into the fewest shards that are estimated to take at most `target` each, at most `most`. An arm that was
/// never run counts with its whole time limit.
pub fn bundles(plan: &Plan, target: Duration, most: u32, timings: Timings<'_>) -> Bundles {
    let mut groups: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
    for (index, arm) in plan.arms.iter().enumerate() {
        let runs = plan.cells.iter().filter(|cell| cell.arm == index).count();
        let one = timings(&arm.id).unwrap_or(arm.timeout.as_secs_f64());
        let entry = groups.entry(group(arm)).or_default();
        entry.0 += 1;
        entry.1 += runs;
        entry.2 += one * runs as f64;
    }
    let cut = |of: u32| {
        let mut jobs: BTreeMap<u32, Job> = BTreeMap::new();
        for (name, (arms, runs, seconds)) in &groups {
            let shard = shard_of(name, of);
            let job = jobs.entry(shard).or_insert(Job { shard, arms: 0, runs: 0, estimate: Duration::ZERO });
            job.arms += arms;
            job.runs += runs;
            job.estimate += Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX / 1024);
        }
        let jobs: Vec<Job> = jobs.into_values().collect();
        let fits = jobs.iter().all(|job| job.estimate <= target);
        Bundles { of, jobs, fits }
    };
    let total: f64 = groups.values().map(|(_, _, seconds)| seconds).sum();
    let least = (total / target.as_secs_f64().max(1e-3)).ceil().clamp(1.0, f64::from(most.max(1))) as u32;
    let longest = |bundles: &Bundles| bundles.jobs.iter().map(|job| job.estimate).max().unwrap_or_default();
    let mut best = cut(least);
    for of in least..=most.max(1) {
        let next = cut(of);
        if next.fits {
            return next;
        }
        if longest(&next) < longest(&best) {
            best = next;
        }
    }
    best
}

/// What a job is run with.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    pub matrix: &'a str,
    /// The matrix's name, for jobs and directories.
    pub name: &'a str,
    /// Further words of the command line (`--device sim:a770`).
    pub more: &'a [String],
}

impl Command<'_> {
    /// The shell command of one shard; `shard` may be a shell expression.
    fn line(&self, shard: &str) -> String {
        let more: String = self.more.iter().map(|word| format!(" {}", quoted(word))).collect();
        format!("repro-matrix run {}{more} --plain --shard {shard} --results results", quoted(self.matrix))
    }

    fn merge(&self) -> String {
        format!("repro-matrix merge results/{0}/* -o results/{0}-merged", self.name)
    }
}

fn quoted(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// GitHub: the value of `strategy.matrix`, for `fromJson`. At most 256 jobs.
pub fn github(bundles: &Bundles) -> String {
    let include: Vec<serde_json::Value> = bundles
        .jobs
        .iter()
        .map(|job| {
            serde_json::json!({
                "shard": format!("{}/{}", job.shard, bundles.of),
                "arms": job.arms,
                "runs": job.runs,
                "estimate_seconds": job.estimate.as_secs(),
            })
        })
        .collect();
    format!("{}\n", serde_json::json!({ "include": include }))
}

/// GitLab: a pipeline with one job a shard, and the merge. At most 200 jobs.
pub fn gitlab(bundles: &Bundles, command: &Command<'_>) -> String {
    let shards: Vec<String> =
        bundles.jobs.iter().map(|job| format!("\"{}/{}\"", job.shard, bundles.of)).collect();
    format!(
        "# A child pipeline: trigger it with `trigger: include: artifact:`.\n\
         shard:\n  parallel:\n    matrix:\n      - SHARD: [{}]\n  script:\n    - {}\n  artifacts:\n    when: always\n    paths: [results/]\n\
         merge:\n  needs: [shard]\n  when: always\n  script:\n    - {}\n    - repro-matrix report results/{}-merged --format junit -o junit.xml\n  artifacts:\n    when: always\n    paths: [results/]\n    reports:\n      junit: junit.xml\n",
        shards.join(", "),
        command.line("\"$SHARD\""),
        command.merge(),
        command.name,
    )
}

/// Slurm: a job array's batch script. `sbatch` knows arrays as lists of numbers and ranges.
pub fn slurm(bundles: &Bundles, command: &Command<'_>) -> String {
    let longest = bundles.jobs.iter().map(|job| job.estimate).max().unwrap_or_default();
    // Twice the estimate and five minutes for builds: a job that its scheduler kills has no verdicts.
    let limit = longest * 2 + Duration::from_secs(300);
    let numbers: Vec<String> = bundles.jobs.iter().map(|job| job.shard.to_string()).collect();
    format!(
        "#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --array={}\n#SBATCH --time={}\n#SBATCH --output=repro-matrix-%A-%a.log\n\
         # After the array: {}\n{}\n",
        command.name,
        numbers.join(","),
        clock(limit),
        command.merge(),
        command.line(&format!("\"$SLURM_ARRAY_TASK_ID/{}\"", bundles.of)),
    )
}

/// HyperQueue: a job definition file (TOML).
pub fn hq(bundles: &Bundles, command: &Command<'_>) -> String {
    let mut out = format!("# After the job: {}\nname = {:?}\n", command.merge(), command.name);
    for job in &bundles.jobs {
        let line = command.line(&format!("{}/{}", job.shard, bundles.of));
        out += &format!(
            "\n[[task]]\nid = {}\ncommand = [\"/bin/sh\", \"-c\", {:?}]\n[[task.request]]\nresources = {{ cpus = 1 }}\ntime_request = \"{}s\"\n",
            job.shard,
            line,
            job.estimate.as_secs()
        );
    }
    out
}
