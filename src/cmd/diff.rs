//! `repro-matrix diff`.

use std::path::PathBuf;

use crate::cli::diff::DiffArgs;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::report::{Section, diff};

pub fn diff(args: &DiffArgs) -> Result<Exit, Failure> {
    let (a, b) = (one(&args.a)?, one(&args.b)?);
    let diff = diff::diff(&a, &b);
    if diff.rows.is_empty() {
        return Err(Failure::new(Exit::NothingSelected, "the two results have no arm in common"));
    }
    crate::cmd::report::write(args.output.as_deref(), &crate::host::mask::mask(&diff.text()))?;
    Ok(diff.exit())
}

fn one(dir: &PathBuf) -> Result<Section, Failure> {
    let mut report = crate::cmd::report::load(std::slice::from_ref(dir))?;
    match (report.sections.pop(), report.sections.is_empty()) {
        (Some(section), true) => Ok(section),
        _ => Err(Failure::new(
            Exit::Usage,
            format!("{} holds results of several machines: a comparison would mix them", dir.display()),
        )),
    }
}
