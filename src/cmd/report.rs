//! `repro-matrix report`.

use std::path::{Path, PathBuf};

use crate::bisect::record::{self, Question};
use crate::cli::report::{Format, ReportArgs};
use crate::cmd::{Failure, say};
use crate::exit::Exit;
use crate::host;
use crate::report::headline::Headline;
use crate::report::words::plural;
use crate::report::{Report, csv, html, issue, json, junit, markdown};
use crate::results::{self, Problem};

pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let report = load(&args.dirs)?;
    let internal = |error: &dyn std::fmt::Display| Failure::new(Exit::Internal, error);
    let text = match args.format {
        Format::Md => markdown::render(&report),
        Format::Csv => csv::render(&report).map_err(|e| internal(&e))?,
        Format::Json => json::render(&report).map_err(|e| internal(&e))?,
        Format::Junit => junit::render(&report).map_err(|e| internal(&e))?,
        Format::Issue => issue::render(&report).map_err(|why| Failure::new(Exit::NothingSelected, why))?,
        Format::Html => {
            let choice = html::Choice { axes: args.axes.clone(), searches: searches(&args.dirs) };
            let logs = |dir: &Path, log: &str| results::logs::read(dir, log);
            html::render(&report, &choice, &logs).map_err(|why| Failure::new(Exit::Usage, why))?
        }
        Format::Badge => Headline::of(&report).badge(),
    };
    let text = if args.unmasked { text } else { host::mask::mask(&text) };
    write(args.output.as_deref(), &text)?;
    Ok(exit(&report))
}

/// Bisections among `dirs`, retraced from their runs. A directory without one is the usual case.
fn searches(dirs: &[PathBuf]) -> Vec<html::SearchPath> {
    let path = |dir: &PathBuf| {
        let text = std::fs::read(dir.join("search.json")).ok()?;
        let question: Question = serde_json::from_slice(&text).ok()?;
        let (loaded, _) = results::load_lenient(dir).ok()?;
        let look_up = |arm: &str, repeat: u32| {
            let record = loaded.records.iter().find(|run| run.arm == arm && run.repeat == repeat)?;
            Some(question.target.see(record))
        };
        let path = record::retrace(&question, look_up).ok()?;
        (question.version <= record::VERSION).then_some(html::SearchPath { question, path })
    };
    dirs.iter().filter_map(path).collect()
}

/// Reads `dirs` as far as they can be read. `Err`: nothing is left of them.
pub fn load(dirs: &[PathBuf]) -> Result<Report, Failure> {
    let mut loaded = Vec::new();
    let mut problems = Vec::new();
    let mut first_error = None;
    for dir in dirs {
        match results::load_lenient(dir) {
            Ok((one, found)) => {
                loaded.push(one);
                problems.extend(found);
            }
            Err(error) => {
                let what = error.to_string();
                problems.push(Problem { path: dir.clone(), line: None, what, loses_runs: true });
                first_error.get_or_insert(error);
            }
        }
    }
    if loaded.is_empty()
        && let Some(error) = first_error
    {
        return Err(Failure::new(error.exit(), error));
    }
    for problem in &problems {
        say::note(format_args!("warning: {problem}"));
    }
    let report = Report::of(loaded, problems);
    if report.repeated() > 0 {
        say::note(format_args!(
            "warning: {} left out: the same run is there more than once, and counts once",
            plural(report.repeated(), "record")
        ));
    }
    if report.machines() > 1 {
        say::note(format_args!(
            "note: results of {} machines: their runs are not counted together",
            report.machines()
        ));
    }
    Ok(report)
}

/// A report was written; not of everything, where something could not be read.
pub fn exit(report: &Report) -> Exit {
    if report.problems.is_empty() { Exit::AsExpected } else { Exit::IncompatibleRecording }
}

/// To the file, whole or not at all, or to stdout.
pub fn write(output: Option<&Path>, text: &str) -> Result<(), Failure> {
    let Some(path) = output else {
        return say::print(text).map(drop);
    };
    say::write_file(path, text)
}
