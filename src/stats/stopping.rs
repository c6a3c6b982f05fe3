//! When an arm has been run often enough, decided by looking at its runs: the intervals of [`super::sequence`] allow it.

use std::fmt;
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
    /// It has so many runs, with or without an answer. Absent: as many as the matrix plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u64>,
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
        self.max_runs.is_some_and(|most| tally.runs() >= most).then(|| format!("{} runs", tally.runs()))
    }

    /// The number of an arm's runs depends on what they show. A limit of time alone only cuts what was planned.
    pub fn looks(&self) -> bool {
        self.until_width.is_some() || self.until_hits.is_some() || self.max_runs.is_some()
    }
}

/// As the command line says it.
impl fmt::Display for StopRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StopRule { until_width, until_hits, max_runs, max_time } = self;
        let flags = [
            until_width.map(|width| format!("--until-width {width}")),
            until_hits.map(|hits| format!("--until-hits {hits}")),
            max_runs.map(|runs| format!("--max-runs {runs}")),
            max_time.map(|time| {
                let time = humantime::format_duration(time).to_string();
                format!("--max-time {}", time.replace(' ', ""))
            }),
        ];
        f.write_str(&flags.into_iter().flatten().collect::<Vec<_>>().join(" "))
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
        let rule =
            StopRule { until_width: Some(0.2), until_hits: Some(4), max_runs: Some(500), max_time: None };
        assert_eq!(rule.done(tally(3, 30)), None);
        assert_eq!(rule.done(tally(4, 31)).as_deref(), Some("4 failures"));
        assert!(rule.done(tally(0, 60)).is_some_and(|why| why.starts_with("interval")));
        // Runs without an answer are runs: an arm that is never testable must end too.
        let untestable = Tally { untestable: 500, ..Tally::default() };
        assert_eq!(rule.done(untestable).as_deref(), Some("500 runs"));
    }

    #[test]
    fn no_rule_is_met_by_nothing() {
        let rule = StopRule { until_width: Some(0.9), max_runs: Some(10), ..StopRule::default() };
        assert_eq!(rule.done(Tally::default()), None);
    }

    #[test]
    fn a_rule_is_said_in_the_words_of_its_flags() {
        let time = Some(Duration::from_secs(5400));
        let rule =
            StopRule { until_width: Some(0.1), max_runs: Some(1000), max_time: time, ..StopRule::default() };
        assert_eq!(rule.to_string(), "--until-width 0.1 --max-runs 1000 --max-time 1h30m");
    }
}
