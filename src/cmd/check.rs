//! `repro-matrix check`.

use std::path::Path;

use crate::cli::check::CheckArgs;
use crate::cmd::Failure;
use crate::cmd::plan::load_matrix;
use crate::exit::Exit;
use crate::expectations::{self, file, review};
use crate::matrix::tidy;

pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let mut faulty = 0;
    for path in &args.files {
        if let Err(failure) = one(path) {
            super::say::note(format!("{:?}", failure.report).trim_end());
            faulty += 1;
        }
    }
    if faulty == 0 { Ok(Exit::AsExpected) } else { Ok(Exit::InvalidMatrix) }
}

fn one(path: &Path) -> Result<(), Failure> {
    let matrix = load_matrix(path)?;
    let invalid = |error| Failure::from_report(Exit::InvalidMatrix, error);
    let problems = tidy::problems(&matrix);
    if !problems.is_empty() {
        return Err(invalid(file::invalid(&path.display().to_string(), &matrix.text, problems)));
    }
    if let Some(baseline) = file::load(&expectations::beside(path)).map_err(invalid)? {
        let dead = review::dead(&baseline, &matrix);
        if !dead.is_empty() {
            return Err(invalid(file::invalid(&baseline.name, &baseline.text, dead)));
        }
    }
    Ok(())
}
