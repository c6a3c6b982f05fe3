//! How often an arm shows its fault, and the answer that the vendor's form has for it.

use crate::stats::interval::{self, Interval};
use crate::stats::sequence;
use crate::stats::stopping::CONFIDENCE;

use super::aggregate::ArmSummary;

/// Faulty runs among those with a verdict on the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faulty {
    pub hits: usize,
    /// Runs with a verdict: untestable runs, failed builds and harness errors say nothing of how often it fails.
    pub of: usize,
    /// A stopping rule looks at the runs.
    pub stopped: bool,
}

/// The answers of the vendor's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    Always,
    Frequently,
    Sometimes,
    Rarely,
    Sporadic,
    /// No run had a verdict.
    Unknown,
}

impl Faulty {
    /// Runs with any fault of the driver's, whichever it is.
    pub fn of(arm: &ArmSummary) -> Self {
        let of = arm.runs.saturating_sub(arm.inconclusive() + arm.count("build-failed"));
        Faulty { hits: of.saturating_sub(arm.count("clean")), of, stopped: arm.looked_at }
    }

    /// Where the true rate lies, with 95 % confidence; `None` where nothing was counted.
    pub fn interval(self) -> Option<Interval> {
        let (hits, of) = (self.hits as u64, self.of as u64);
        let interval = match self.stopped {
            // A rule that looked at the runs so far spoils the exact interval.
            true => sequence::interval(hits, of, CONFIDENCE),
            false => interval::clopper_pearson(hits, of, CONFIDENCE),
        };
        (of > 0).then_some(interval)
    }

    pub fn bucket(self) -> Bucket {
        if self.of == 0 {
            return Bucket::Unknown;
        }
        // Whole per cents, rounded down: 99.9 % is not "always".
        match self.hits * 100 / self.of {
            100 => Bucket::Always,
            75..=99 => Bucket::Frequently,
            50..=74 => Bucket::Sometimes,
            26..=49 => Bucket::Rarely,
            _ => Bucket::Sporadic,
        }
    }
}

impl std::fmt::Display for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.hits, self.of)
    }
}

impl std::fmt::Display for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Bucket::Always => "Always reproduces - 100%",
            Bucket::Frequently => "Frequently reproduces ~ 75% - 99%",
            Bucket::Sometimes => "Sometimes reproduces ~ 50% - 74%",
            Bucket::Rarely => "Rarely reproduces ~ 26% - 49%",
            Bucket::Sporadic => "Sporadic ~ 0% - 25%",
            Bucket::Unknown => "Not known: no run had a verdict",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_form() {
        let bucket = |hits, of| Faulty { hits, of, stopped: false }.bucket();
        assert_eq!(bucket(10, 10), Bucket::Always);
        assert_eq!(bucket(999, 1000), Bucket::Frequently);
        assert_eq!(bucket(75, 100), Bucket::Frequently);
        assert_eq!(bucket(74, 100), Bucket::Sometimes);
        assert_eq!(bucket(1, 2), Bucket::Sometimes);
        assert_eq!(bucket(49, 100), Bucket::Rarely);
        assert_eq!(bucket(26, 100), Bucket::Rarely);
        assert_eq!(bucket(25, 100), Bucket::Sporadic);
        assert_eq!(bucket(0, 3), Bucket::Sporadic);
        assert_eq!(bucket(0, 0), Bucket::Unknown);
    }
}
