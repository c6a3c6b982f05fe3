//! A long-lived session: the score of each step, and how often an allocation was bound and unbound by then.

use regex::Regex;

use super::lines::expression;
use super::{Step, StepRules};

/// Steps being read.
#[derive(Clone, Debug)]
pub struct Session {
    pattern: Regex,
    minimum: f64,
    count: u32,
    surface: Option<String>,
    binds: u64,
    unbinds: u64,
    steps: Vec<Step>,
}

impl Session {
    pub fn new(rules: &StepRules) -> Result<Session, String> {
        let minimum: f64 = rules
            .minimum
            .trim()
            .parse()
            .ok()
            .filter(|minimum: &f64| minimum.is_finite())
            .ok_or_else(|| format!("steps: minimum `{}` is not a number", rules.minimum))?;
        if rules.count < 2 {
            return Err("steps: a session has two steps or more, the first is the check before".to_owned());
        }
        Ok(Session {
            pattern: expression("steps", &rules.pattern, 1)?,
            minimum,
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
        let wrong = score.trim().parse::<f64>().map_or(true, |score| score.is_nan() || score < self.minimum);
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
