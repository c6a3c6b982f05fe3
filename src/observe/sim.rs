//! The simulated device's trace (`xe_sim::trace`, JSON lines) → [`SimFacts`].

use std::collections::HashMap;

use xe_sim::trace::{BindOp, Event, Record, TRACE_VERSION};

use crate::model::facts::{BindEvent, DispatchFact, HazardFact, RangeHistory, SimFacts};
use crate::model::repro::{Phase, PhaseMark};

/// What the caller knows of the run besides its trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// From the reproducer's result; empty = no event gets a phase.
    pub phases: &'a [PhaseMark],
    /// Bytes of the checked kernel's private surface, to name the range in hazards.
    pub private_surface: Option<u64>,
}

/// A trace that this build cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("the trace is empty: the simulated device never started")]
    Empty,
    #[error("the trace does not begin with a start record")]
    NoStart,
    #[error("trace format {found}; this build reads up to {TRACE_VERSION}")]
    TooNew { found: u32 },
}

/// Reads a whole trace. A line that is no record (a torn last line, say) is counted and passed over; without the
/// summary at the end the facts are not `complete`.
pub fn facts(trace: &[u8], known: Known<'_>) -> Result<SimFacts, TraceError> {
    let mut facts = SimFacts::default();
    let mut ranges = Ranges::default();
    let mut started = false;
    for line in trace.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(record) = serde_json::from_slice::<Record>(line) else {
            facts.not_understood += 1;
            continue;
        };
        let phase = phase_at(known.phases, record.t);
        match record.event {
            Event::Start { version, device, executes_kernels, .. } => {
                if version > TRACE_VERSION {
                    return Err(TraceError::TooNew { found: version });
                }
                started = true;
                facts.device = device;
                facts.executes_kernels = executes_kernels;
            }
            _ if !started => return Err(TraceError::NoStart),
            Event::Bind { file, vm, op, addr, range, errno, .. } => match op {
                BindOp::Map | BindOp::MapUserptr => {
                    ranges.push((file, vm, addr, range), BindEvent { bind: true, errno, phase });
                }
                BindOp::Unmap => {
                    ranges.push((file, vm, addr, range), BindEvent { bind: false, errno, phase })
                }
                // Neither binds memory nor takes it away from a range that has some.
                BindOp::UnmapAll | BindOp::Prefetch | BindOp::MapNull => {}
            },
            Event::Dispatch { n, kernel, groups, pointers, .. } => {
                let mut reached: Vec<(u64, u64, bool)> =
                    pointers.iter().map(|p| (p.range_addr, p.range_len, p.bound)).collect();
                reached.sort_unstable();
                reached.dedup();
                facts.dispatches.push(DispatchFact { n, kernel, groups, phase, ranges: reached });
            }
            Event::Hazard { n, vm, pointer, range_addr, range_len, .. } => {
                let role = (known.private_surface == Some(range_len)).then(|| "private surface".to_owned());
                facts.hazards.push(HazardFact { n, phase, vm, pointer, range_addr, range_len, role });
            }
            Event::Summary(summary) => {
                facts.summary = summary;
                facts.complete = true;
            }
            Event::Open { .. }
            | Event::Close { .. }
            | Event::UnsupportedIoctl { .. }
            | Event::IoctlFailed { .. }
            | Event::GemCreate { .. }
            | Event::GemClose { .. }
            | Event::VmCreate { .. }
            | Event::VmDestroy { .. }
            | Event::QueueCreate { .. }
            | Event::QueueDestroy { .. }
            | Event::QueueBanned { .. }
            | Event::Exec { .. }
            | Event::Copy { .. }
            | Event::UnmappedAccess { .. }
            | Event::UnsupportedCommand { .. }
            | Event::WaitEnd { .. }
            | Event::FaultInjected { .. } => {}
        }
    }
    if !started {
        return Err(TraceError::Empty);
    }
    facts.ranges = ranges.in_order;
    Ok(facts)
}

/// The phase that had begun at `t`, ns of CLOCK_MONOTONIC.
fn phase_at(phases: &[PhaseMark], t: u64) -> Option<Phase> {
    phases.iter().rev().find(|mark| mark.start_ns <= t).map(|mark| mark.phase)
}

/// (file, VM, address, length).
type Key = (u64, u32, u64, u64);

/// Bind histories in order of first appearance.
#[derive(Default)]
struct Ranges {
    in_order: Vec<RangeHistory>,
    place: HashMap<Key, usize>,
}

impl Ranges {
    fn push(&mut self, key: Key, event: BindEvent) {
        let (_, vm, start, size) = key;
        let place = *self.place.entry(key).or_insert_with(|| {
            self.in_order.push(RangeHistory { vm, start, size, events: Vec::new() });
            self.in_order.len() - 1
        });
        if let Some(range) = self.in_order.get_mut(place) {
            range.events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(events: &[&str]) -> Vec<u8> {
        let start = format!(
            r#""ev":"start","version":{TRACE_VERSION},"device":"sim:a770","profile":"a770","executes_kernels":false,"faults":[]"#
        );
        let mut text = String::new();
        for (i, event) in std::iter::once(start.as_str()).chain(events.iter().copied()).enumerate() {
            text.push_str(&format!("{{\"seq\":{},\"t\":{},{event}}}\n", i + 1, (i + 1) * 10));
        }
        text.into_bytes()
    }

    const MARKS: [PhaseMark; 3] = [
        PhaseMark { phase: Phase::SetUp, start_ns: 0 },
        PhaseMark { phase: Phase::Copies, start_ns: 25 },
        PhaseMark { phase: Phase::After, start_ns: 35 },
    ];

    #[test]
    fn histories_are_kept_by_range_with_their_phase() {
        let bind = |op: &str, errno: i32| {
            format!(
                r#""ev":"bind","file":1,"vm":1,"op":"{op}","addr":4096,"range":8192,"offset":0,"flags":2,"errno":{errno}"#
            )
        };
        let (map, unmap, refused) = (bind("map", 0), bind("unmap", 0), bind("map_userptr", 1));
        let text = trace(&[&map, &unmap, &refused]);
        let known = Known { phases: &MARKS, private_surface: None };
        let facts = facts(&text, known).expect("a trace");
        let event = |bind, errno, phase| BindEvent { bind, errno, phase: Some(phase) };
        assert_eq!(facts.ranges.len(), 1);
        assert_eq!(
            facts.ranges[0].events,
            [event(true, 0, Phase::SetUp), event(false, 0, Phase::Copies), event(true, 1, Phase::After)]
        );
        assert!(!facts.complete, "no summary: the trace is not whole");
    }

    #[test]
    fn torn_last_line_is_counted_and_the_rest_kept() {
        let mut text = trace(&[r#""ev":"open","file":1,"process":7"#]);
        text.truncate(text.len() - 5);
        let facts = facts(&text, Known::default()).expect("a trace");
        assert_eq!((facts.not_understood, facts.complete), (1, false));
    }

    #[test]
    fn traces_that_prove_nothing_are_errors() {
        assert_eq!(facts(b"", Known::default()), Err(TraceError::Empty));
        assert_eq!(facts(b"\x00\xff\n{}\n", Known::default()), Err(TraceError::Empty));
        let newer = r#"{"seq":1,"t":1,"ev":"start","version":99,"device":"x","profile":"x","executes_kernels":false,"faults":[]}"#;
        assert_eq!(facts(newer.as_bytes(), Known::default()), Err(TraceError::TooNew { found: 99 }));
        let headless = br#"{"seq":1,"t":1,"ev":"open","file":1,"process":7}"#;
        assert_eq!(facts(headless, Known::default()), Err(TraceError::NoStart));
    }
}
