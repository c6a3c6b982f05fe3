//! A run against what the matrix's author said would happen.

use crate::model::arm::{Expectation, ExpectedVerdict};
use crate::model::facts::Facts;
use crate::model::verdict::{Basis, Verdict};

use super::state::{State, state};

/// How a run compares with its expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// One text for each part that came out otherwise.
    pub unmet: Vec<String>,
    /// One text for each part that nothing measured: neither met nor unmet.
    pub not_measured: Vec<String>,
}

impl Comparison {
    /// `None`: what was measured is as expected, and something was not measured.
    pub fn met(&self) -> Option<bool> {
        match (self.unmet.is_empty(), self.not_measured.is_empty()) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => None,
        }
    }
}

/// `None` where nothing was expected.
pub fn compare(expected: Option<&Expectation>, verdict: &Verdict, facts: &Facts) -> Option<Comparison> {
    let expected = expected?;
    let Comparison { mut unmet, mut not_measured } = Comparison::default();
    if state(expected.verdict, verdict.class()) != State::AsExpected {
        unmet.push(format!("verdict {} expected, {} found", expected.verdict.word(), verdict.word()));
    }
    let (wrong, untouched) = counts(verdict);
    for (name, want, have) in [("wrong", expected.wrong, wrong), ("untouched", expected.untouched, untouched)]
    {
        match (want, have) {
            (Some(want), Some(have)) if want != have => {
                unmet.push(format!("{want} {name} elements expected, {have} found"));
            }
            (Some(want), None) => {
                not_measured.push(format!("{want} {name} elements expected, no element was compared"));
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
    }
    if let Some(want) = expected.per_dispatch {
        let expected = format!("per-dispatch {} expected", u8::from(want));
        match facts.neo.as_ref().map(|neo| &neo.per_dispatch) {
            None => not_measured.push(format!("{expected}, the arm has no observer neo-log")),
            Some(lines) if lines.is_empty() => {
                not_measured.push(format!("{expected}, the driver printed no such line"));
            }
            Some(lines) => {
                let have = lines.iter().any(|line| line.flag);
                if have != want {
                    unmet.push(format!("{expected}, {} found", u8::from(have)));
                }
            }
        }
    }
    // On a card there is nothing that could see one: it is of the simulated device alone.
    if let (Some(want), Some(sim)) = (expected.hazard, &facts.sim) {
        let have = sim.summary.hazards > 0 || !sim.hazards.is_empty();
        if have != want {
            let n = sim.summary.hazards;
            unmet.push(if want {
                "a hazard expected, none seen".into()
            } else {
                format!("no hazard expected, {n} seen")
            });
        }
    }
    Some(Comparison { unmet, not_measured })
}

/// A difference that is good news: the fault that was expected is not there.
pub fn is_improvement(expected: ExpectedVerdict, verdict: &Verdict) -> bool {
    state(expected, verdict.class()) == State::Improvement
}

fn counts(verdict: &Verdict) -> (Option<u64>, Option<u64>) {
    match verdict {
        Verdict::Corrupt { wrong, untouched, .. } | Verdict::WrongBefore { wrong, untouched, .. } => {
            (*wrong, *untouched)
        }
        Verdict::Clean { basis: Basis::Data | Basis::Both } => (Some(0), Some(0)),
        Verdict::Clean { basis: Basis::Residency }
        | Verdict::Hang { .. }
        | Verdict::Crash { .. }
        | Verdict::DeviceLost { .. }
        | Verdict::BuildFailed { .. }
        | Verdict::Untestable { .. }
        | Verdict::HarnessError { .. } => (None, None),
    }
}
