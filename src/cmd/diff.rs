//! `repro-matrix diff`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::cli::diff::DiffArgs;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::report::{Section, diff};
use crate::results::merge::{Run, run_of};

pub fn diff(args: &DiffArgs) -> Result<Exit, Failure> {
    let ((a, a_read), (b, b_read)) = (one(&args.a)?, one(&args.b)?);
    let both = runs(&a).intersection(&runs(&b)).count();
    if both > 0 {
        let what =
            format!("A and B have {both} of their runs in common: they are not two results to be compared");
        return Err(Failure::with_help(Exit::Usage, what, "give the directories of two different runs"));
    }
    let diff = diff::diff(&a, &b);
    if diff.rows.is_empty() {
        let sides = [("A", &args.a, &a), ("B", &args.b, &b)];
        let empty = sides.into_iter().filter(|(_, _, section)| section.records.is_empty());
        let empty: Vec<String> =
            empty.map(|(side, dir, _)| format!("{side} ({}) has no runs", dir.display())).collect();
        let why = match empty.is_empty() {
            true => "the two results have no arm in common".to_owned(),
            false => empty.join("; "),
        };
        return Err(Failure::new(Exit::NothingSelected, why));
    }
    crate::cmd::report::write(args.output.as_deref(), &crate::host::mask::mask(&diff.text()))?;
    // Of damaged results, a comparison is of what could be read.
    let damaged = [a_read, b_read].into_iter().find(|exit| *exit != Exit::AsExpected);
    Ok(damaged.unwrap_or_else(|| diff.exit()))
}

fn runs(section: &Section) -> BTreeSet<Run> {
    section.records.iter().map(run_of).collect()
}

fn one(dir: &PathBuf) -> Result<(Section, Exit), Failure> {
    let mut report = crate::cmd::report::load(std::slice::from_ref(dir))?;
    let read = crate::cmd::report::exit(&report);
    match (report.sections.pop(), report.sections.is_empty()) {
        (Some(section), true) => Ok((section, read)),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("{} holds results of several machines: a comparison would mix them", dir.display()),
        )),
    }
}
