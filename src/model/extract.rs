//! How a verdict is read out of a command's output: the rules as values, and what they find step by step.

use serde::{Deserialize, Serialize};

/// `[variants.NAME.extract]`, resolved. At least one rule is set; a matrix without any is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Exit codes that mean that something was wrong; 0 is right, any other code is a failure of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_wrong: Option<Vec<i32>>,
    /// Regular expression with one group: elements that are wrong. The last line that matches counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// The same for elements that were never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untouched: Option<String>,
    /// The same for the number of elements that were checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
    /// Values in JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<JsonRules>,
    /// A series of numbers against a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesRules>,
    /// The steps of a session, each judged by itself; the first is the check before the trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepRules>,
    /// A line that ends what came before the trigger: what the device does after it is "after".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// JSON pointers (RFC 6901) into a file that the command writes, or into its last line of output that is JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonRules {
    /// Below the run's directory; the output's last JSON line if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub wrong: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untouched: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<String>,
}

/// Numbers on lines, one a match, against numbers that are right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeriesRules {
    /// Regular expression with one group: the number.
    pub pattern: String,
    /// What is right, in order, as decimal text (exact where the tolerance is 0).
    pub reference: Vec<String>,
    /// Largest |value − reference| that is right, as decimal text; `0` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
}

/// A session that goes on for many steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepRules {
    /// Regular expression with one group, matched at the end of each step: its score.
    pub pattern: String,
    /// A step with a lower score is wrong, as decimal text. One of `minimum` and `maximum` is set, or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<String>,
    /// A step with a higher score is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<String>,
    /// Steps that a whole session has; fewer are an error of the run.
    pub count: u32,
    /// Bytes of an allocation whose binds and unbinds are counted up to each step, from the driver's log
    /// (`PrintBOBindingResult`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<u64>,
}

impl Rules {
    /// Says nothing: no rule could ever find anything wrong.
    pub fn is_empty(&self) -> bool {
        let Rules { exit_wrong, wrong, json, series, steps, untouched: _, total: _, after: _ } = self;
        exit_wrong.is_none() && wrong.is_none() && json.is_none() && series.is_none() && steps.is_none()
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub number: u32,
    /// As the command printed it.
    pub score: String,
    pub wrong: bool,
    /// Of the named allocation, from the start to the end of this step.
    pub binds: u64,
    pub unbinds: u64,
}
