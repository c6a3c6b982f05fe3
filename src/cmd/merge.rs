//! `repro-matrix merge`.

use crate::cli::merge::MergeArgs;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::report::aggregate;
use crate::report::{Report, headline};
use crate::results::{Loaded, csv, load_lenient, merge};

pub fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    if args.output.exists() {
        return Err(Failure::with_help(
            Exit::Usage,
            format!("{} is there already", args.output.display()),
            "results are never changed: give a new directory, and the old one among those to merge",
        ));
    }
    let (mut parts, mut problems) = (Vec::new(), Vec::new());
    for dir in &args.dirs {
        // Unlike a report, a merge does not go on without a directory: nobody would notice later.
        let (part, found) = load_lenient(dir).map_err(|error| Failure::new(error.exit(), error))?;
        parts.push(part);
        problems.extend(found);
    }
    for problem in &problems {
        super::say::note(format_args!("warning: {problem}"));
    }
    let merged = merge::union(&parts).map_err(|error| Failure::new(Exit::IncompatibleRecording, error))?;
    let Some(mut merged) = merged else { return Err(Failure::new(Exit::Usage, "nothing to merge")) };
    let stop = merged.manifest.stop.as_ref();
    let time_over = stop.is_some_and(|rule| {
        let over =
            |part: &Loaded| aggregate::time_over(rule, part.out_of_time, &part.manifest.arms, &part.records);
        parts.iter().all(over)
    });
    merged.out_of_time = time_over;
    merged.write(&args.output).map_err(|error| Failure::new(error.exit(), error))?;
    let summaries = aggregate::summarise_under(stop, time_over, &merged.manifest.arms, &merged.records);
    csv::write(&args.output, &summaries).map_err(|error| Failure::new(error.exit(), error))?;
    let missing = merged.missing();
    if !missing.is_empty() {
        super::say::note(format_args!(
            "note: {} arms of the plan are in no directory: {}",
            missing.len(),
            missing.join(", ")
        ));
    }
    let (again, _) = load_lenient(&args.output).map_err(|error| Failure::new(error.exit(), error))?;
    let report = Report::of(vec![again], Vec::new());
    super::say::note(format_args!("{}: {}", args.output.display(), headline::Headline::of(&report).text));
    Ok(match (problems.is_empty(), missing.is_empty()) {
        (false, _) => Exit::IncompatibleRecording,
        (true, false) => Exit::Inconclusive,
        (true, true) => worst(&report),
    })
}

/// The merged run's own exit code, so that a job that only merges gates as `run` does.
fn worst(report: &Report) -> Exit {
    let exits: Vec<Exit> = report.sections.iter().map(|section| section.exit).collect();
    [Exit::Unexpected, Exit::BuildFailed, Exit::Inconclusive, Exit::OnlyImprovements]
        .into_iter()
        .find(|exit| exits.contains(exit))
        .unwrap_or(Exit::AsExpected)
}
