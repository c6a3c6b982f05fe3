//! A run against what the matrix's author said would happen.

use crate::model::arm::{Expectation, ExpectedVerdict};
use crate::model::facts::Facts;
use crate::model::verdict::Verdict;

use super::state::{State, state};

/// How a run compares with its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub met: bool,
    /// One text for each unmet part.
    pub unmet: Vec<String>,
}

/// `None` where nothing was expected.
pub fn compare(expected: Option<&Expectation>, verdict: &Verdict, facts: &Facts) -> Option<Comparison> {
    let expected = expected?;
    let mut unmet = Vec::new();
    if state(expected.verdict, verdict.class()) != State::AsExpected {
        unmet.push(format!("verdict {} expected, {} found", expected.verdict.word(), verdict.word()));
    }
    let (wrong, untouched) = counts(verdict);
    // A count that was not modelled is neither met nor unmet.
    for (name, want, have) in [("wrong", expected.wrong, wrong), ("untouched", expected.untouched, untouched)]
    {
        if let (Some(want), Some(have)) = (want, have)
            && want != have
        {
            unmet.push(format!("{want} {name} elements expected, {have} found"));
        }
    }
    if let Some(want) = expected.per_dispatch {
        let lines = facts.neo.as_ref().map(|neo| &neo.per_dispatch).filter(|lines| !lines.is_empty());
        match lines.map(|lines| lines.iter().any(|l| l.flag)) {
            Some(have) if have == want => {}
            Some(have) => {
                unmet.push(format!("per-dispatch {} expected, {} found", u8::from(want), u8::from(have)));
            }
            None => unmet
                .push(format!("per-dispatch {} expected, the driver printed no such line", u8::from(want))),
        }
    }
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
    Some(Comparison { met: unmet.is_empty(), unmet })
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
        Verdict::Clean { .. }
        | Verdict::Hang { .. }
        | Verdict::Crash { .. }
        | Verdict::DeviceLost { .. }
        | Verdict::BuildFailed { .. }
        | Verdict::Untestable { .. }
        | Verdict::HarnessError { .. } => (None, None),
    }
}
