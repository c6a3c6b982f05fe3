//! The faults that the simulated device was to inject, and how often it did.

use std::fmt;

use super::SimFacts;

/// One rule of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injected<'a> {
    pub rule: &'a str,
    pub times: u64,
}

impl SimFacts {
    /// Every rule of the run, in the order in which they were given.
    pub fn injected(&self) -> impl Iterator<Item = Injected<'_>> {
        self.faults.iter().map(|rule| {
            let times = self.summary.injected.get(rule).copied().unwrap_or(0);
            Injected { rule, times }
        })
    }
}

impl fmt::Display for Injected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.times {
            0 => write!(f, "fault {} never fired", self.rule),
            1 => write!(f, "fault {} fired once", self.rule),
            times => write!(f, "fault {} fired {times} times", self.rule),
        }
    }
}
