//! Counts out of JSON, by pointer.

use serde_json::Value;

use super::{Found, JsonRules};

pub fn read(rules: &JsonRules, text: &str, found: &mut Found) -> Result<(), String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("json: {error}"))?;
    let count = |pointer: &str| -> Result<u64, String> {
        match value.pointer(pointer) {
            Some(Value::Bool(wrong)) => Ok(u64::from(*wrong)),
            Some(other) => other.as_u64().ok_or_else(|| format!("json: {pointer} is {other}, not a count")),
            None => Err(format!("json: there is no {pointer}")),
        }
    };
    let wrong = count(&rules.wrong)?;
    found.wrong += wrong;
    found.untouched += rules.untouched.as_deref().map_or(Ok(0), count)?;
    found.total += match &rules.total {
        Some(pointer) => count(pointer)?,
        None => wrong.max(1),
    };
    Ok(())
}
