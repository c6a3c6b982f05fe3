//! What an expectation makes of a verdict. A new verdict does not compile until it has its place here.

use crate::model::arm::ExpectedVerdict;

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

/// `found`: [`crate::model::verdict::Verdict::class`]; `None` is a harness error.
pub fn state(expected: ExpectedVerdict, found: Option<ExpectedVerdict>) -> State {
    use ExpectedVerdict as E;
    match found {
        None => State::NoVerdict,
        Some(found) if found == expected => State::AsExpected,
        Some(E::Untestable) => State::NoVerdict,
        Some(E::Clean) => match expected {
            E::Corrupt | E::WrongBefore | E::Hang | E::Crash | E::DeviceLost => State::Improvement,
            // What could not be built or tested and is clean now was not known to be faulty: somebody must look.
            E::Clean | E::BuildFailed | E::Untestable => State::Unexpected,
        },
        Some(E::Corrupt | E::WrongBefore | E::Hang | E::Crash | E::DeviceLost | E::BuildFailed) => {
            State::Unexpected
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows: expected. Columns: found, in the same order, then a harness error. `=` as expected, `+` improvement,
    /// `!` unexpected, `?` no verdict.
    const TABLE: [(ExpectedVerdict, &str); 8] = [
        (ExpectedVerdict::Clean, "=!!!!!!??"),
        (ExpectedVerdict::Corrupt, "+=!!!!!??"),
        (ExpectedVerdict::WrongBefore, "+!=!!!!??"),
        (ExpectedVerdict::Hang, "+!!=!!!??"),
        (ExpectedVerdict::Crash, "+!!!=!!??"),
        (ExpectedVerdict::DeviceLost, "+!!!!=!??"),
        (ExpectedVerdict::BuildFailed, "!!!!!!=??"),
        (ExpectedVerdict::Untestable, "!!!!!!!=?"),
    ];

    #[test]
    fn every_pair_has_its_place() {
        let columns: Vec<_> = TABLE.iter().map(|(found, _)| Some(*found)).chain([None]).collect();
        for (expected, row) in TABLE {
            let says = columns.iter().map(|found| match state(expected, *found) {
                State::AsExpected => '=',
                State::Improvement => '+',
                State::Unexpected => '!',
                State::NoVerdict => '?',
            });
            assert_eq!(says.collect::<String>(), row, "{expected:?}");
        }
    }
}
