//! When an arm has been run often enough, decided by looking at its runs: the intervals of [`super::sequence`] allow it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Rate, Tally};

/// Confidence of the intervals that rules look at.
pub const CONFIDENCE: f64 = 0.95;

/// An arm is done as soon as one of these holds. Absent: never for this reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// The anytime interval of its rate is at most so wide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_width: Option<f64>,
    /// It has shown so many failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_hits: Option<u64>,
    /// It has so many runs, with or without an answer.
    pub max_runs: u64,
    /// The whole matrix has run so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

impl StopRule {
    /// Why an arm needs no further run; `None`: it does.
    pub fn done(&self, tally: Tally) -> Option<String> {
        if let Some(hits) = self.until_hits
            && tally.hits >= hits
        {
            return Some(format!("{} failures", tally.hits));
        }
        if let Some(width) = self.until_width
            && let Some(rate) = Rate::of(tally, CONFIDENCE)
            && rate.anytime.width() <= width
        {
            return Some(format!("interval of width {:.3}", rate.anytime.width()));
        }
        (tally.runs() >= self.max_runs).then(|| format!("{} runs", tally.runs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(hits: u64, testable: u64) -> Tally {
        Tally { hits, testable, ..Tally::default() }
    }

    #[test]
    fn rules_stop_for_their_own_reason() {
        let rule = StopRule { until_width: Some(0.2), until_hits: Some(4), max_runs: 500, max_time: None };
        assert_eq!(rule.done(tally(3, 30)), None);
        assert_eq!(rule.done(tally(4, 31)).as_deref(), Some("4 failures"));
        assert!(rule.done(tally(0, 60)).is_some_and(|why| why.starts_with("interval")));
        // Runs without an answer are runs: an arm that is never testable must end too.
        let untestable = Tally { untestable: 500, ..Tally::default() };
        assert_eq!(rule.done(untestable).as_deref(), Some("500 runs"));
    }

    #[test]
    fn no_rule_is_met_by_nothing() {
        let rule = StopRule { until_width: Some(0.9), max_runs: 10, ..StopRule::default() };
        assert_eq!(rule.done(Tally::default()), None);
    }
}
