//! `repro-matrix plan --format`: shards for a scheduler.

use std::collections::BTreeMap;

use crate::cli::plan::{PlanArgs, Scheduler};
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::matrix::Matrix;
use crate::plan::Plan;
use crate::plan::bundle::{self, Command};

/// Most jobs that one submission may have.
fn most(scheduler: Scheduler) -> u32 {
    match scheduler {
        Scheduler::Github => 256,
        Scheduler::Gitlab => 200,
        // Slurm's MaxArraySize is 1001 unless the site changed it.
        Scheduler::Slurm | Scheduler::Hq => 1000,
    }
}

pub fn text(args: &PlanArgs, scheduler: Scheduler, matrix: &Matrix, plan: &Plan) -> Result<String, Failure> {
    if args.target.is_zero() {
        return Err(Failure::new(Exit::Usage, "--target 0s: a job takes time"));
    }
    let known = timings(args)?;
    let bundles = bundle::bundles(plan, args.target, most(scheduler), &|arm| known.get(arm).copied());
    let more = words(args);
    let path = args.matrix.display().to_string();
    let command = Command { matrix: &path, name: &matrix.name, more: &more };
    let (text, submit) = match scheduler {
        Scheduler::Github => (
            bundle::github(&bundles),
            "job output → strategy.matrix: ${{ fromJson(needs.plan.outputs.matrix) }}; step: repro-matrix run … --shard ${{ matrix.shard }}".to_owned(),
        ),
        Scheduler::Gitlab => (bundle::gitlab(&bundles, &command), "save as shards.yml; trigger: include: [{artifact: shards.yml, job: plan}]".to_owned()),
        Scheduler::Slurm => (bundle::slurm(&bundles, &command), "sbatch FILE; then the merge that the file names (sbatch --dependency=afterany:JOB --wrap '…')".to_owned()),
        Scheduler::Hq => (bundle::hq(&bundles, &command), "hq job submit-file FILE".to_owned()),
    };
    let estimate = bundles.jobs.iter().map(|job| job.estimate.as_secs()).max().unwrap_or(0);
    let by = if known.is_empty() { "by time limits; --timings DIR knows better" } else { "by earlier runs" };
    super::say::note(format_args!(
        "{} jobs, the longest about {} ({by})",
        bundles.jobs.len(),
        humantime::format_duration(std::time::Duration::from_secs(estimate))
    ));
    if !bundles.fits {
        super::say::note(format_args!(
            "note: a comparison takes longer than {} and stays whole",
            humantime::format_duration(args.target)
        ));
    }
    super::say::note(format_args!("submit: {submit}"));
    Ok(text)
}

/// Median seconds of a run, by arm.
fn timings(args: &PlanArgs) -> Result<BTreeMap<String, f64>, Failure> {
    if args.timings.is_empty() {
        return Ok(BTreeMap::new());
    }
    let report = crate::cmd::report::load(&args.timings)?;
    let ran = report.sections.iter().flat_map(|s| &s.summaries).filter(|summary| summary.runs > 0);
    Ok(ran.map(|summary| (summary.id.clone(), summary.seconds)).collect())
}

/// The selection that was planned, for the command line of `run`.
fn words(args: &PlanArgs) -> Vec<String> {
    let mut words = Vec::new();
    let select = &args.select;
    let mut add = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|v| [flag.to_owned(), v]))
    };
    for arm in &select.arms {
        add("--arm", Some(arm.clone()));
    }
    add("--device", select.device.clone());
    add("--driver", select.driver.clone());
    add("--seed", select.seed.map(|seed| seed.to_string()));
    add("--repeats", select.repeats.map(|repeats| repeats.to_string()));
    words
}
