//! The runs of an arm against its expectation.

use std::fmt;

use crate::judge::expect;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;

/// How the arm compares with its expectation, over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Met,
    /// Met by the runs that there was time for: `--max-time` left others undone.
    MetSoFar,
    /// The only differences are faults that are gone.
    Improved,
    /// No verdict (untestable, harness error).
    NoVerdict,
    /// What was measured is as expected, and something was not measured.
    NotMeasured,
    Unmet,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Expected::Met => "yes",
            Expected::MetSoFar => "yes so far",
            Expected::Improved => "improved",
            Expected::NoVerdict => "no verdict",
            Expected::NotMeasured => "not measured",
            Expected::Unmet => "NO",
        })
    }
}

/// Over all runs of `arm`; `None` where nothing is expected.
pub(super) fn of(arm: &Arm, records: &[&RunRecord]) -> Option<Expected> {
    let want = arm.expect.as_ref()?;
    if records.is_empty() {
        return Some(Expected::NoVerdict);
    }
    let of_run = |record: &&RunRecord| match record.as_expected {
        Some(true) => Expected::Met,
        None if !record.not_measured.is_empty() => Expected::NotMeasured,
        Some(false) | None if !record.verdict.answers() => Expected::NoVerdict,
        Some(false) | None if expect::is_improvement(want.verdict, &record.verdict) => Expected::Improved,
        Some(false) | None => Expected::Unmet,
    };
    let all: Vec<Expected> = records.iter().map(of_run).collect();
    let worst =
        [Expected::Unmet, Expected::NoVerdict, Expected::NotMeasured, Expected::Improved, Expected::Met];
    // An arm that is now clean only sometimes has not improved: it has become flaky.
    if all.contains(&Expected::Improved) && all.contains(&Expected::Met) {
        return Some(Expected::Unmet);
    }
    worst.into_iter().find(|e| all.contains(e))
}

/// Each once, of the runs that came out as expected for the rest.
pub(super) fn not_measured(records: &[&RunRecord]) -> Vec<String> {
    let mut all: Vec<String> = records
        .iter()
        .filter(|record| record.as_expected.is_none())
        .flat_map(|record| record.not_measured.iter().cloned())
        .collect();
    all.sort();
    all.dedup();
    all
}
