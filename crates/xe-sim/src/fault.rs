//! Fault injection: rules such as `vm_bind:ENOMEM@17`.

/// A rule that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault rule `{rule}`, column {column}: expected {expected}")]
pub struct FaultParseError {
    pub rule: String,
    /// 1-based, in characters.
    pub column: usize,
    pub expected: &'static str,
}

#[derive(Default)]
pub struct FaultPlan {
    rules: Vec<String>,
}

impl FaultPlan {
    pub fn parse(rules: &[String]) -> Result<FaultPlan, FaultParseError> {
        Ok(FaultPlan { rules: rules.to_vec() })
    }
}
