//! Finds the first bad of an ordered list of releases from runs that fail only sometimes. Pure: it says which position to run
//! next and takes what the runs said; it runs nothing.
//!
//! Silent corruption is one-sided: one corrupt run proves a release bad, a clean run only makes it less likely. The state
//! is the number of answers per position; from it follows, by Bayes' rule, the probability of every place where the fault
//! may have come in ([`posterior`]). The next run goes where it is expected to tell most ([`search`]), so a bad pivot is left
//! at its first corrupt run and a clean one as soon as another place has become more telling. The search ends when one
//! place has at least the asked probability.

pub mod calibrate;
pub mod delta;
pub mod forecast;
pub mod hunt;
pub mod posterior;
pub mod record;
pub mod search;
pub mod text;
pub mod verdict;

pub use hunt::{Ground, hunt};
pub use posterior::{Belief, Model};
pub use search::{Search, Settings, Step, Why};
pub use verdict::{Found, Oddity};

use serde::{Deserialize, Serialize};

use crate::probe::Answer;

/// Answers of one position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub corrupt: u32,
    pub clean: u32,
    pub untestable: u32,
}

impl Tally {
    pub fn add(&mut self, answer: Answer) {
        let slot = match answer {
            Answer::Corrupt => &mut self.corrupt,
            Answer::Clean => &mut self.clean,
            Answer::Untestable => &mut self.untestable,
        };
        *slot = slot.saturating_add(1);
    }

    /// Runs, with an answer or without.
    pub fn all(self) -> u32 {
        self.testable().saturating_add(self.untestable)
    }

    /// Runs with an answer.
    pub fn testable(self) -> u32 {
        self.corrupt.saturating_add(self.clean)
    }
}
