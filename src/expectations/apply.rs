//! Which expectation an arm has: the baseline's, where it has a row for the arm under this driver and device, else the
//! matrix's own.

use crate::model::arm::{Arm, Expectation};
use crate::plan::select::glob;

use super::file::{Baseline, Row};
use super::range::Version;

/// What an arm runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// NEO's version; absent where the driver build says none.
    pub version: Option<Version>,
    /// `sim:a770`, `pci:0000:09:00.0`.
    pub device: String,
}

/// Which of the rows that fit an arm counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A baseline row with the arm's whole id.
    Exact,
    /// A baseline row with a pattern.
    Pattern,
    /// The matrix's own `expect`.
    Matrix,
    Nothing,
}

/// Precedence, as a table: is there an exact row, a row by pattern, an expectation of the matrix?
pub fn precedence(exact: bool, pattern: bool, matrix: bool) -> Source {
    match (exact, pattern, matrix) {
        (true, true, true) | (true, true, false) | (true, false, true) | (true, false, false) => {
            Source::Exact
        }
        (false, true, true) | (false, true, false) => Source::Pattern,
        (false, false, true) => Source::Matrix,
        (false, false, false) => Source::Nothing,
    }
}

/// Sets the expectations of `arms` by `baseline`. Returns one line for each arm whose expectation it changed.
pub fn apply<'a>(
    baseline: &Baseline,
    arms: impl Iterator<Item = &'a mut Arm>,
    subject: impl Fn(&Arm) -> Subject,
) -> Vec<String> {
    let mut notes = Vec::new();
    for arm in arms {
        let Some(row) = row_for(baseline, arm, &subject(arm)) else { continue };
        let changed = arm.expect.as_ref().map(|expect| expect.verdict) != Some(row.verdict);
        let of_matrix = arm.expect.take();
        arm.expect = Some(Expectation {
            reason: Some(row.reason.clone()),
            tracker: Some(row.tracker.clone()),
            // What the matrix says of an arm with another verdict holds no longer.
            ..match of_matrix {
                Some(expect) if !changed => expect,
                Some(_) | None => Expectation {
                    verdict: row.verdict,
                    wrong: None,
                    untouched: None,
                    per_dispatch: None,
                    hazard: None,
                    reason: None,
                    tracker: None,
                },
            }
        });
        if changed {
            let word = row.verdict.word();
            notes.push(format!("{}: {word} is expected by the baseline ({})", arm.id, row.reason));
        }
    }
    notes
}

/// Whether some row is about the arm, under whatever driver and device.
pub fn speaks_of(baseline: &Baseline, id: &str) -> bool {
    baseline.rows.iter().any(|row| if row.is_pattern() { glob(&row.id, id) } else { row.id == id })
}

/// The row that counts for `arm`.
pub fn row_for<'b>(baseline: &'b Baseline, arm: &Arm, subject: &Subject) -> Option<&'b Row> {
    let fits =
        |row: &&Row| row.drivers.holds(subject.version.as_ref()) && glob(&row.devices, &subject.device);
    let exact = baseline.rows.iter().filter(fits).find(|row| !row.is_pattern() && row.id == arm.id);
    let pattern = baseline.rows.iter().filter(fits).find(|row| row.is_pattern() && glob(&row.id, &arm.id));
    match precedence(exact.is_some(), pattern.is_some(), arm.expect.is_some()) {
        Source::Exact => exact,
        Source::Pattern => pattern,
        Source::Matrix | Source::Nothing => None,
    }
}
