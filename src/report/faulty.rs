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
        // Whole per cents, rounded down: 99.9 % is not "always".
        match (self.hits * 100).checked_div(self.of) {
            None => Bucket::Unknown,
            Some(100) => Bucket::Always,
            Some(75..=99) => Bucket::Frequently,
            Some(50..=74) => Bucket::Sometimes,
            Some(26..=49) => Bucket::Rarely,
            Some(_) => Bucket::Sporadic,
        }
    }

    /// Whether so many runs allow the bucket: the true rate may be in one next to it, not further off.
    pub fn earned(self) -> bool {
        let (from, to) = match self.bucket() {
            Bucket::Always => (0.75, 1.0),
            Bucket::Frequently => (0.5, 1.0),
            Bucket::Sometimes => (0.26, 1.0),
            Bucket::Rarely => (0.0, 0.75),
            Bucket::Sporadic => (0.0, 0.5),
            Bucket::Unknown => return false,
        };
        self.interval().is_some_and(|interval| from <= interval.low && interval.high <= to)
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

    #[test]
    fn few_runs_earn_no_bucket() {
        // n of n leave 0.025^(1/n) to 1: 0.735 for 12 runs, 0.753 for 13.
        for (hits, of, earned) in [
            (0, 0, false),
            (1, 1, false),
            (5, 5, false),
            (12, 12, false),
            (13, 13, true),
            (1, 2, false),
            (60, 100, true),
        ] {
            assert_eq!(Faulty { hits, of, stopped: false }.earned(), earned, "{hits} of {of}");
        }
        // A rule that stopped at a hit leaves more room than the exact interval.
        assert!(!Faulty { hits: 13, of: 13, stopped: true }.earned());
    }
}
