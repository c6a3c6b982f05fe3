//! From what is known of one run to a verdict, its reasons, and what its instruments disagree on. Pure: no clock,
//! no files, no processes.
//!
//! [`reduce`] turns facts into a few small enums, [`table`] is the truth table over them, and the rest words the
//! answer.

pub mod agree;
pub mod context;
pub mod dress;
mod ended;
pub mod expect;
pub mod reduce;
pub mod residency;
pub mod signature;
pub mod state;
mod story;
mod subject;
pub mod surface;
pub mod table;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;

use crate::model::facts::Facts;
use crate::model::verdict::{Compared, Evidence, RunEnd, Verdict};

pub use context::{Account, Context, ExpectedDriver};
pub use subject::{NOT_ECHOED, READ_OTHERWISE};

/// What the judge says of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub evidence: Vec<Evidence>,
    /// What instruments were compared on, and where they contradict each other.
    pub compared: Vec<Compared>,
    pub disagreements: Vec<String>,
    pub signature: String,
}

/// Judges one run.
pub fn judge(end: &RunEnd, account: &Account, facts: &Facts, context: &Context<'_>) -> Judgement {
    let mut evidence = Vec::new();
    let reduced = reduce::reduce(end, account, facts, context, &mut evidence);
    let kind = table::decide(&reduced);
    let verdict = dress::dress(kind, end, account, facts, context, &evidence);
    let (compared, disagreements) = agree::compare(&reduced, account, facts, context);
    let signature = signature::signature(&verdict, account, facts, context);
    Judgement { verdict, evidence, compared, disagreements, signature }
}
