//! From what instruments recorded of one run to facts: pure functions of bytes, phase marks and time windows.

pub mod kernel_log;
pub mod maps;
pub mod neo_log;
pub mod sim;
pub mod strace;

use crate::model::repro::{Phase, PhaseMark};

/// The phase at a CLOCK_MONOTONIC time; `None` before the first mark.
pub fn phase_at(marks: &[PhaseMark], t: u64) -> Option<Phase> {
    marks.iter().filter(|mark| mark.start_ns <= t).max_by_key(|mark| mark.start_ns).map(|mark| mark.phase)
}
