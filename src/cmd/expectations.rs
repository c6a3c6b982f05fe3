//! `repro-matrix expectations`, and the baseline that `run` goes by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::expectations::{ExpectationsArgs, ExpectationsCommand, UpdateArgs};
use crate::cmd::Failure;
use crate::cmd::plan::load_matrix;
use crate::exit::Exit;
use crate::expectations::range::{Range, Version};
use crate::expectations::update::{self, Observed, Words};
use crate::expectations::{self, Baseline, Subject};
use crate::judge::state::{State, state};
use crate::matrix::{Matrix, expand};
use crate::model::arm::{Arm, ExpectedVerdict};
use crate::plan::Plan;
use crate::report::Section;
use crate::report::aggregate::ArmSummary;
use crate::report::regression::neo_version;
use crate::report::words::plural;
use crate::results::manifest::INJECTED;

/// The baseline beside `matrix`, checked against it: a row that can never occur is an error before anything runs.
pub fn baseline(path: &Path, matrix: &Matrix) -> Result<Option<Baseline>, Failure> {
    let invalid = |error| Failure::from_report(Exit::InvalidMatrix, error);
    let Some(baseline) = expectations::load(&expectations::beside(path)).map_err(invalid)? else {
        return Ok(None);
    };
    let dead = expectations::review::dead(&baseline, matrix);
    if !dead.is_empty() {
        return Err(invalid(expectations::file::invalid(&baseline.name, &baseline.text, dead)));
    }
    Ok(Some(baseline))
}

/// Applies the baseline beside `path` to the plan. `versions`: driver name → what it says of itself; `device`: what an
/// arm's device really is.
pub fn apply(
    path: &Path,
    matrix: &Matrix,
    plan: &mut Plan,
    versions: &BTreeMap<String, String>,
    device: impl Fn(&Arm) -> String,
) -> Result<(), Failure> {
    let Some(baseline) = baseline(path, matrix)? else { return Ok(()) };
    let notes = expectations::apply(&baseline, plan.arms.iter_mut(), |arm| Subject {
        version: versions.get(&arm.driver).and_then(|text| version(text)),
        device: device(arm),
    });
    plan.notes.extend(notes);
    // Of which version a driver build is that is not here, nobody knows: any row about the arm may be the one.
    for out in plan.excluded.iter_mut().filter(|out| out.lacks_subject) {
        out.unanswered |= expectations::apply::speaks_of(&baseline, &out.id);
    }
    Ok(())
}

fn version(versions: &str) -> Option<Version> {
    neo_version(versions)?.parse().ok()
}

pub fn expectations(args: &ExpectationsArgs) -> Result<Exit, Failure> {
    match &args.command {
        ExpectationsCommand::Update(args) => update(args),
    }
}

fn update(args: &UpdateArgs) -> Result<Exit, Failure> {
    let matrix = load_matrix(&args.matrix)?;
    let path = expectations::beside(&args.matrix);
    let old = expectations::load(&path).map_err(|e| Failure::from_report(Exit::InvalidMatrix, e))?;
    let old = old.map(|baseline| baseline.text.to_string()).unwrap_or_default();
    let report = crate::cmd::report::load(&args.dirs)?;
    if let Some(problem) = report.problems.iter().find(|problem| problem.loses_runs) {
        return Err(Failure::with_help(
            Exit::IncompatibleRecording,
            format!("{problem}: a baseline is not made of a part of the runs"),
            "give whole results: `run … --resume DIR` does what is missing, or run again",
        ));
    }
    whole(&report.sections)?;
    let version = one_version(&report.sections)?;
    let drivers = args.drivers.clone().unwrap_or_else(|| format!(">={version}"));
    let range: Range =
        drivers.parse().map_err(|why| Failure::new(Exit::Usage, format!("--drivers: {why}")))?;
    if !range.holds(Some(&version)) {
        let why = format!("--drivers {range} does not hold {version}, which these results are of");
        return Err(Failure::new(Exit::Usage, why));
    }
    let observed: Vec<Observed> = report
        .sections
        .iter()
        .filter(|s| s.key.matrix == matrix.name)
        .flat_map(|s| observed(s, &matrix))
        .collect();
    let words = Words {
        matrix: &matrix.name,
        drivers: &drivers,
        devices: "*",
        reason: args.reason.as_deref().unwrap_or("?"),
        tracker: args.tracker.as_deref().unwrap_or("?"),
    };
    let new = update::updated(&old, &observed, &words).map_err(|e| Failure::new(Exit::InvalidMatrix, e))?;
    let difference = update::difference(&old, &new);
    if difference.is_empty() {
        super::say::note(format_args!("{}: says what the results show", path.display()));
        return Ok(Exit::AsExpected);
    }
    crate::cmd::say::print(&format!("--- {0}\n+++ {0}\n{difference}", path.display()))?;
    if !args.write {
        super::say::note(format_args!("nothing was written (--write does)"));
        return Ok(Exit::Unexpected);
    }
    let adds = difference.lines().any(|line| line.starts_with("+id") || line.starts_with("+verdict"));
    if adds && (args.reason.is_none() || args.tracker.is_none()) {
        return Err(Failure::with_help(
            Exit::Usage,
            "new rows need --reason and --tracker",
            "the reason says why this is expected, the tracker where it is being worked on",
        ));
    }
    crate::cmd::report::write(Some(&path), &new)?;
    Ok(Exit::AsExpected)
}

/// Refuses results that do not say what the driver does: of devices that injected faults, and of arms that look clean because
/// runs are missing.
fn whole(sections: &[Section]) -> Result<(), Failure> {
    if let Some(section) = sections.iter().find(|section| section.key.device.contains(INJECTED)) {
        return Err(Failure::with_help(
            Exit::Usage,
            format!(
                "these results are of {}: they say nothing of the driver without the faults",
                section.key.device
            ),
            "give results of runs without --fault",
        ));
    }
    let cut = |arm: &&ArmSummary| arm.verdict.word == "clean" && (arm.lacks_runs() || arm.out_of_time());
    match sections.iter().flat_map(|section| &section.summaries).find(cut) {
        Some(arm) => Err(Failure::with_help(
            Exit::IncompatibleRecording,
            format!(
                "{} has {} of its {}: a baseline is not made of a part of the runs",
                arm.id,
                arm.runs,
                plural(arm.planned, "run")
            ),
            "`run … --resume DIR` does what is missing",
        )),
        None => Ok(()),
    }
}

fn one_version(sections: &[Section]) -> Result<Version, Failure> {
    let all: BTreeSet<&str> =
        sections.iter().flat_map(|s| s.drivers.values()).filter_map(|d| neo_version(&d.versions)).collect();
    let list: Vec<&str> = all.into_iter().collect();
    match list[..] {
        [one] => one.parse().map_err(|why: String| Failure::new(Exit::Usage, why)),
        [] => Err(Failure::new(Exit::Usage, "the results say no driver version")),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("results of several driver versions ({}): give those of one", list.join(", ")),
        )),
    }
}

fn observed(section: &Section, matrix: &Matrix) -> Vec<Observed> {
    let of_matrix: BTreeMap<String, Option<ExpectedVerdict>> = expand::expand(matrix)
        .into_iter()
        .map(|cell| (cell.arm.id, cell.arm.expect.map(|e| e.verdict)))
        .collect();
    section
        .arms
        .iter()
        .zip(&section.summaries)
        .filter_map(|(arm, summary)| {
            let record = section
                .runs_of(&arm.id)
                .map(|(r, _)| r)
                .find(|r| r.verdict.word() == summary.verdict.word)?;
            // A harness error is nothing that could be expected.
            let verdict = record.verdict.class()?;
            let state = match &arm.expect {
                Some(expect) => state(expect.verdict, Some(verdict)),
                // A fault of which nobody said anything.
                None if verdict != ExpectedVerdict::Clean => State::Unexpected,
                None => State::AsExpected,
            };
            let matrix_says = of_matrix.get(&arm.id).copied().flatten();
            Some(Observed { arm: arm.id.clone(), verdict, state, matrix_says })
        })
        .collect()
}
