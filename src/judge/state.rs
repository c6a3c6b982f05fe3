//! What an expectation makes of a verdict: one table, no wildcard. A new verdict or expectation does not compile until
//! it has its place here.

use crate::model::arm::ExpectedVerdict;
use crate::model::verdict::Verdict;

/// The verdicts that a run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    Clean,
    Corrupt,
    WrongBefore,
    Hang,
    Crash,
    DeviceLost,
    BuildFailed,
    Untestable,
    HarnessError,
}

impl Found {
    pub const ALL: [Found; 9] = [
        Found::Clean,
        Found::Corrupt,
        Found::WrongBefore,
        Found::Hang,
        Found::Crash,
        Found::DeviceLost,
        Found::BuildFailed,
        Found::Untestable,
        Found::HarnessError,
    ];

    pub fn of(verdict: &Verdict) -> Found {
        match verdict {
            Verdict::Clean { .. } => Found::Clean,
            Verdict::Corrupt { .. } => Found::Corrupt,
            Verdict::WrongBefore { .. } => Found::WrongBefore,
            Verdict::Hang { .. } => Found::Hang,
            Verdict::Crash { .. } => Found::Crash,
            Verdict::DeviceLost { .. } => Found::DeviceLost,
            Verdict::BuildFailed { .. } => Found::BuildFailed,
            Verdict::Untestable { .. } => Found::Untestable,
            Verdict::HarnessError { .. } => Found::HarnessError,
        }
    }
}

/// What a verdict is to an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is what was said.
    AsExpected,
    /// A fault that was known is gone: good news, and the expectation must be taken back.
    Improvement,
    /// Something else happened.
    Unexpected,
    /// Nothing was learnt of the driver.
    NoVerdict,
}

/// The table.
pub fn state(expected: ExpectedVerdict, found: Found) -> State {
    use ExpectedVerdict as E;
    use Found as F;
    match (expected, found) {
        (E::Clean, F::Clean)
        | (E::Corrupt, F::Corrupt)
        | (E::WrongBefore, F::WrongBefore)
        | (E::Hang, F::Hang)
        | (E::Crash, F::Crash)
        | (E::DeviceLost, F::DeviceLost)
        | (E::BuildFailed, F::BuildFailed)
        | (E::Untestable, F::Untestable) => State::AsExpected,
        // What could not be tested and is clean now was not known to be faulty: somebody must look.
        (E::Corrupt | E::WrongBefore | E::Hang | E::Crash | E::DeviceLost, F::Clean) => State::Improvement,
        (
            E::Clean | E::Corrupt | E::WrongBefore | E::Hang | E::Crash | E::DeviceLost | E::BuildFailed,
            F::Untestable,
        )
        | (
            E::Clean
            | E::Corrupt
            | E::WrongBefore
            | E::Hang
            | E::Crash
            | E::DeviceLost
            | E::BuildFailed
            | E::Untestable,
            F::HarnessError,
        ) => State::NoVerdict,
        (E::BuildFailed | E::Untestable, F::Clean)
        | (E::Clean, F::Corrupt | F::WrongBefore | F::Hang | F::Crash | F::DeviceLost | F::BuildFailed)
        | (E::Corrupt, F::WrongBefore | F::Hang | F::Crash | F::DeviceLost | F::BuildFailed)
        | (E::WrongBefore, F::Corrupt | F::Hang | F::Crash | F::DeviceLost | F::BuildFailed)
        | (E::Hang, F::Corrupt | F::WrongBefore | F::Crash | F::DeviceLost | F::BuildFailed)
        | (E::Crash, F::Corrupt | F::WrongBefore | F::Hang | F::DeviceLost | F::BuildFailed)
        | (E::DeviceLost, F::Corrupt | F::WrongBefore | F::Hang | F::Crash | F::BuildFailed)
        | (E::BuildFailed, F::Corrupt | F::WrongBefore | F::Hang | F::Crash | F::DeviceLost)
        | (
            E::Untestable,
            F::Corrupt | F::WrongBefore | F::Hang | F::Crash | F::DeviceLost | F::BuildFailed,
        ) => State::Unexpected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: [ExpectedVerdict; 8] = [
        ExpectedVerdict::Clean,
        ExpectedVerdict::Corrupt,
        ExpectedVerdict::WrongBefore,
        ExpectedVerdict::Hang,
        ExpectedVerdict::Crash,
        ExpectedVerdict::DeviceLost,
        ExpectedVerdict::BuildFailed,
        ExpectedVerdict::Untestable,
    ];

    #[test]
    fn a_harness_error_is_never_a_pass_and_a_fault_never_an_improvement() {
        for expected in EXPECTED {
            assert_eq!(state(expected, Found::HarnessError), State::NoVerdict);
            for found in Found::ALL {
                if state(expected, found) == State::Improvement {
                    assert_eq!(found, Found::Clean, "{expected:?}");
                }
            }
            let same =
                Found::ALL.iter().filter(|found| state(expected, **found) == State::AsExpected).count();
            assert_eq!(same, 1, "{expected:?}");
        }
        assert_eq!(state(ExpectedVerdict::Clean, Found::Corrupt), State::Unexpected);
        assert_eq!(state(ExpectedVerdict::Hang, Found::Clean), State::Improvement);
        assert_eq!(state(ExpectedVerdict::Untestable, Found::Clean), State::Unexpected);
    }
}
