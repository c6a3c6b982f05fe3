//! Reading a verdict out of any command's output: rules of the matrix → checks. Pure: text in, numbers out.
//!
//! A command is not built by the tool and knows nothing of it. What it says of itself is found by [`Rules`]: its exit
//! code, numbers on lines, values in its JSON, a series of numbers scored against a reference, or the steps of a
//! long-lived session. Rules that find nothing are an error of the run, never "nothing wrong".

mod json;
mod lines;
mod session;

pub use crate::model::extract::{JsonRules, Rules, SeriesRules, Step, StepRules};
pub use lines::{Compiled, Meaning, Reading};
pub use session::Session;

/// What the rules found in a finished run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub total: u64,
    pub wrong: u64,
    pub untouched: u64,
    /// Steps of a session.
    pub steps: Vec<Step>,
}

#[cfg(test)]
mod tests;
