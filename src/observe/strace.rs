//! The `strace` observer.

use crate::logs;
use crate::model::facts::StraceFacts;

/// Facts of strace's output: a full trace, a table, or both one after the other.
pub fn facts(log: &[u8]) -> StraceFacts {
    logs::strace::parse(log)
}
