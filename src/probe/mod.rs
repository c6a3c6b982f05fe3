//! The seam of everything that searches: an arm, changed in one place, is run again and answers corrupt, clean or
//! untestable. Searches ([`crate::bisect`], [`crate::threshold`], …) are pure and see only this; the one real probe goes the
//! way of `run` (build → run → observe → judge).

pub mod change;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::model::verdict::Verdict;

pub use change::{Change, Field};

/// What one run says of the failure that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The failure appeared.
    Corrupt,
    /// The run was whole and right.
    Clean,
    /// Nothing is known: no verdict, or another failure than the one that is looked for.
    Untestable,
}

impl Answer {
    pub fn word(self) -> &'static str {
        match self {
            Answer::Corrupt => "corrupt",
            Answer::Clean => "clean",
            Answer::Untestable => "untestable",
        }
    }
}

/// One run as a search sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub answer: Answer,
    /// The verdict's word, as `run` shows it.
    pub verdict: String,
    pub signature: String,
    /// Wall time of the run, seconds.
    pub seconds: f64,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which failure is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Verdict words that count ("corrupt"). Other failures answer nothing.
    pub verdicts: Vec<String>,
    /// Only failures of this class (see [`signature_class`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

impl Default for Target {
    fn default() -> Self {
        Target { verdicts: vec!["corrupt".to_owned()], class: None }
    }
}

/// Verdicts that are failures of the thing under test.
pub const FAILURES: [&str; 5] = ["corrupt", "wrong-before", "hang", "crash", "device-lost"];

impl Target {
    /// Any failure of the thing under test.
    pub fn any() -> Self {
        Target { verdicts: FAILURES.map(str::to_owned).to_vec(), class: None }
    }

    /// What `record` says of this failure.
    pub fn see(&self, record: &RunRecord) -> Seen {
        let word = record.verdict.word();
        let (answer, reason) = match &record.verdict {
            Verdict::Clean { .. } => (Answer::Clean, None),
            Verdict::Untestable { reason } | Verdict::HarnessError { reason } => {
                (Answer::Untestable, Some(format!("{word}: {reason}")))
            }
            Verdict::BuildFailed { what } => (Answer::Untestable, Some(format!("{word}: {what}"))),
            Verdict::Corrupt { .. }
            | Verdict::WrongBefore { .. }
            | Verdict::Hang { .. }
            | Verdict::Crash { .. }
            | Verdict::DeviceLost { .. } => self.failure(word, &record.signature),
        };
        Seen {
            answer,
            verdict: word.to_owned(),
            signature: record.signature.clone(),
            seconds: record.wall_seconds,
            reason,
        }
    }

    fn failure(&self, word: &str, signature: &str) -> (Answer, Option<String>) {
        let wanted = self.verdicts.iter().any(|verdict| verdict == word);
        let class = signature_class(signature);
        match &self.class {
            _ if !wanted => (Answer::Untestable, Some(format!("another failure: {signature}"))),
            Some(want) if *want != class => {
                (Answer::Untestable, Some(format!("another failure: {signature}")))
            }
            Some(_) | None => (Answer::Corrupt, None),
        }
    }
}

/// A signature without the counts that the size of the output decides: `corrupt control=0 role=private-surface align=64K
/// offset=0`. Two arms of different size that fail alike have one class.
pub fn signature_class(signature: &str) -> String {
    let sized = |word: &&str| !(word.starts_with("wrong=") || word.starts_with("untouched="));
    signature.split(' ').filter(sized).collect::<Vec<_>>().join(" ")
}

/// Why a probe could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("interrupted")]
    Interrupted,
    /// `--max-runs` or `--max-time` is spent.
    #[error("{0}")]
    Budget(String),
    /// The machine is no longer one to measure on.
    #[error("stopped: {0}")]
    Poisoned(String),
    /// The prober cannot work (results cannot be written…).
    #[error("{0}")]
    Failed(String),
}

/// Runs arms. (arm id, repeat) names one run for ever: asked twice, or in a resumed search, it answers from the record.
pub trait Probe {
    /// One answer a repeat, in order.
    fn probe(&mut self, arm: &Arm, repeats: Range<u32>) -> Result<Vec<Seen>, Stop>;

    /// Runs that are worth asking for at once.
    fn width(&self) -> u32 {
        1
    }

    /// One line of progress for people.
    fn say(&mut self, _line: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_drops_the_sized_counts_only() {
        let signature =
            "corrupt wrong=131072 untouched=65536 control=0 role=private-surface align=64K offset=0";
        assert_eq!(signature_class(signature), "corrupt control=0 role=private-surface align=64K offset=0");
    }

    #[test]
    fn another_failure_is_no_answer() {
        let target = Target::default();
        assert_eq!(target.failure("corrupt", "corrupt role=x").0, Answer::Corrupt);
        assert_eq!(target.failure("crash", "crash signal=11").0, Answer::Untestable);
        let narrow = Target { class: Some("corrupt role=x".into()), ..Target::default() };
        assert_eq!(narrow.failure("corrupt", "corrupt wrong=3 role=x").0, Answer::Corrupt);
        assert_eq!(narrow.failure("corrupt", "corrupt wrong=3 role=y").0, Answer::Untestable);
        assert_eq!(Target::any().failure("hang", "hang phase=Copies").0, Answer::Corrupt);
    }
}
