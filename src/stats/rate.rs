//! The rate of an arm: hits among the runs that had an answer, with what had none beside it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Interval, interval, sequence};

/// Runs of one arm by what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs that showed the failure.
    pub hits: u64,
    /// Runs with an answer: hits and clean ones.
    pub testable: u64,
    pub untestable: u64,
    pub harness_errors: u64,
}

impl Tally {
    pub fn runs(self) -> u64 {
        self.testable + self.untestable + self.harness_errors
    }

    /// Share of all runs that were untestable; `None` without runs.
    pub fn untestable_share(self) -> Option<f64> {
        share(self.untestable, self.runs())
    }

    pub fn harness_error_share(self) -> Option<f64> {
        share(self.harness_errors, self.runs())
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A rate with its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub hits: u64,
    pub testable: u64,
    pub confidence: f64,
    /// For a number of runs that was fixed beforehand.
    pub exact: Interval,
    pub jeffreys: Interval,
    /// Holds whatever made the runs stop.
    pub anytime: Interval,
}

impl Rate {
    /// `None` if no run had an answer: then there is no rate.
    pub fn of(tally: Tally, confidence: f64) -> Option<Rate> {
        let (k, n) = (tally.hits, tally.testable);
        (n > 0 && k <= n).then(|| Rate {
            hits: k,
            testable: n,
            confidence,
            exact: interval::clopper_pearson(k, n, confidence),
            jeffreys: interval::jeffreys(k, n, confidence),
            anytime: sequence::interval(k, n, confidence),
        })
    }

    pub fn observed(self) -> f64 {
        self.hits as f64 / self.testable as f64
    }

    /// "3/40 = 7.5 % [1.6, 20.4]"; none seen: "0/40: below 8.8 %", never 0 %; all seen: "40/40: above 91.2 %".
    /// `stopped_by_rule`: the runs were ended by looking at them, so the interval is the one that allows it.
    pub fn show(self, stopped_by_rule: bool) -> String {
        let i = if stopped_by_rule { self.anytime } else { self.exact };
        let Rate { hits, testable, .. } = self;
        match hits {
            0 => format!("0/{testable}: below {}", percent(i.high)),
            hits if hits == testable => format!("{hits}/{testable}: above {}", percent(i.low)),
            _ => format!(
                "{hits}/{testable} = {} [{}, {}]",
                percent(self.observed()),
                digits(i.low * 100.0),
                digits(i.high * 100.0)
            ),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show(false))
    }
}

/// "7.5 %": two significant digits or more, never a false 0 or 100.
pub fn percent(rate: f64) -> String {
    format!("{} %", digits(rate * 100.0))
}

fn digits(value: f64) -> String {
    // Close to 100 the distance from it is what counts.
    let small = value.min(100.0 - value);
    match small {
        s if s <= 0.0 => format!("{value:.0}"),
        s if s < 0.1 => format!("{value:.3}"),
        s if s < 1.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(hits: u64, testable: u64) -> Rate {
        Rate::of(Tally { hits, testable, ..Tally::default() }, 0.95).expect("there are runs")
    }

    #[test]
    fn zero_of_n_is_never_called_zero_percent() {
        assert_eq!(rate(0, 40).show(false), "0/40: below 8.8 %");
        assert_eq!(rate(0, 100_000).show(false), "0/100000: below 0.004 %");
        assert_eq!(rate(40, 40).show(false), "40/40: above 91.2 %");
        assert_eq!(rate(3, 40).show(false), "3/40 = 7.5 % [1.6, 20.4]");
        assert!(Rate::of(Tally { untestable: 3, ..Tally::default() }, 0.95).is_none());
    }

    #[test]
    fn shares_are_of_all_runs() {
        let tally = Tally { hits: 1, testable: 6, untestable: 3, harness_errors: 1 };
        assert_eq!(tally.runs(), 10);
        assert_eq!(tally.untestable_share(), Some(0.3));
        assert_eq!(tally.harness_error_share(), Some(0.1));
        assert_eq!(Tally::default().untestable_share(), None);
    }
}
