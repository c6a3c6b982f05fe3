//! A long-lived session: the score of each step, and how often an allocation was bound and unbound by then.

use regex::Regex;

use super::lines::expression;
use super::{Step, StepRules};

/// Steps being read.
#[derive(Clone, Debug)]
pub struct Session {
    pattern: Regex,
    minimum: Option<f64>,
    maximum: Option<f64>,
    count: u32,
    surface: Option<String>,
    binds: u64,
    unbinds: u64,
    steps: Vec<Step>,
}

impl Session {
    pub fn new(rules: &StepRules) -> Result<Session, String> {
        let bound = |text: &Option<String>, word: &str| -> Result<Option<f64>, String> {
            let Some(text) = text else { return Ok(None) };
            let bound = text.trim().parse().ok().filter(|bound: &f64| bound.is_finite());
            bound.map(Some).ok_or_else(|| format!("steps: {word} `{text}` is not a number"))
        };
        let (minimum, maximum) = (bound(&rules.minimum, "minimum")?, bound(&rules.maximum, "maximum")?);
        if minimum.is_none() && maximum.is_none() {
            return Err("steps: a minimum or a maximum says which scores are right".to_owned());
        }
        if rules.count < 2 {
            return Err("steps: a session has two steps or more, the first is the check before".to_owned());
        }
        Ok(Session {
            pattern: expression("steps", &rules.pattern, 1)?,
            minimum,
            maximum,
            count: rules.count,
            surface: rules.surface.map(|bytes| format!("size: {bytes},")),
            binds: 0,
            unbinds: 0,
            steps: Vec::new(),
        })
    }

    /// The number of the step that this line ends.
    pub fn line(&mut self, line: &str) -> Option<u32> {
        // `bind BO-15 to VM 1, …, range: …, size: 93323264, result: 0`; a bind that failed bound nothing.
        if let Some(surface) = &self.surface
            && line.contains(surface.as_str())
            && line.contains("result: 0")
        {
            if line.trim_start().starts_with("unbind ") {
                self.unbinds += 1;
            } else if line.trim_start().starts_with("bind ") {
                self.binds += 1;
            }
        }
        let score = self.pattern.captures(line)?.get(1)?.as_str().to_owned();
        if self.steps.len() >= self.count as usize {
            return None;
        }
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1);
        // What is no number is no good score.
        let right = score.trim().parse::<f64>().is_ok_and(|score| {
            self.minimum.is_none_or(|minimum| score >= minimum)
                && self.maximum.is_none_or(|maximum| score <= maximum)
        });
        let wrong = !right;
        self.steps.push(Step { number, score, wrong, binds: self.binds, unbinds: self.unbinds });
        Some(number)
    }

    pub fn finish(self) -> Result<Vec<Step>, String> {
        if self.steps.len() < self.count as usize {
            return Err(format!("the session has {} of {} steps", self.steps.len(), self.count));
        }
        Ok(self.steps)
    }
}
