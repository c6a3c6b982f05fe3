//! The `sim` observer: the simulated device's trace, reduced to what a verdict needs.

use std::collections::BTreeMap;

use xe_sim::trace::{BindOp, Event, PointerRole, Record, TRACE_VERSION};

use crate::logs::lines::{self, LineSink};
use crate::logs::neo::ranges::Histories;
use crate::model::facts::{BindEvent, DispatchFact, HazardFact, SimFacts, UnmappedFact};
use crate::model::repro::PhaseMark;

use super::phase_at;

/// What the reader knows of the run beside the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    pub phases: &'a [PhaseMark],
    /// Sizes in bytes of the private surfaces to expect (private memory per hardware thread × compute units), to name
    /// the ranges in hazards. Zeros match nothing.
    pub private_surfaces: &'a [u64],
}

/// A trace that this build cannot read, or that proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("the trace is empty: the simulated device never started")]
    Empty,
    #[error("this is no trace of the simulated device: no line of {lines} is a record")]
    NoTrace { lines: u64 },
    #[error("the trace does not begin with a start record")]
    NoStart,
    #[error("the trace has version {found}, this build reads up to {TRACE_VERSION}")]
    TooNew { found: u32 },
}

/// Role of a range whose size is that of a private surface.
pub const PRIVATE_SURFACE: &str = "private surface";
const MAX_KEPT: usize = 1 << 20;

/// Facts of a trace.
///
/// # Errors
/// A trace without its start, or of a newer version than this build reads. Lines that cannot be read are counted, and a trace without its
/// last line (summary) is marked incomplete, its dispatches and hazards counted as far as it goes.
pub fn facts(trace: &[u8], known: Known) -> Result<SimFacts, TraceError> {
    let mut parser = Parser::new(known);
    lines::feed_all(trace, &mut parser);
    parser.finish()
}

#[derive(Debug)]
pub struct Parser<'a> {
    known: Known<'a>,
    facts: SimFacts,
    ranges: Histories,
    /// What is mapped now: the mappings of each VM, which do not overlap.
    live: BTreeMap<(Space, u64), Mapping>,
    started: bool,
    error: Option<TraceError>,
}

/// Numbers of VMs are given by the device file: (file, VM).
type Space = (u64, u32);

#[derive(Clone, Copy, Debug)]
struct Mapping {
    size: u64,
    bo: Option<u64>,
    /// In the histories; absent when those are full.
    history: Option<usize>,
}

impl<'a> Parser<'a> {
    pub fn new(known: Known<'a>) -> Self {
        Parser {
            known,
            facts: SimFacts::default(),
            ranges: Histories::default(),
            live: BTreeMap::new(),
            started: false,
            error: None,
        }
    }

    /// # Errors
    /// See [`facts`].
    pub fn finish(mut self) -> Result<SimFacts, TraceError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.started {
            return Err(match self.facts.not_understood {
                0 => TraceError::Empty,
                lines => TraceError::NoTrace { lines },
            });
        }
        self.facts.dropped += self.ranges.dropped;
        self.facts.ranges = self.ranges.into_list();
        Ok(self.facts)
    }

    fn event(&mut self, record: Record) {
        let phase = phase_at(self.known.phases, record.t);
        if !self.started && !matches!(record.event, Event::Start { .. }) {
            self.error.get_or_insert(TraceError::NoStart);
        }
        match record.event {
            Event::Start { version, device, executes_kernels, faults, .. } => {
                if version > TRACE_VERSION {
                    self.error.get_or_insert(TraceError::TooNew { found: version });
                }
                self.started = true;
                self.facts.device = device;
                self.facts.executes_kernels = executes_kernels;
                self.facts.faults = faults;
            }
            Event::Bind { file, vm, op, addr, range, bo, errno, .. } => {
                let event = |bind| BindEvent { bind, errno, phase };
                let space = (file, vm);
                match op {
                    BindOp::Map | BindOp::MapUserptr | BindOp::MapNull if errno != 0 => {
                        self.ranges.add(space, addr, range, event(true));
                    }
                    BindOp::Map | BindOp::MapUserptr | BindOp::MapNull => {
                        // A map replaces what it covers.
                        self.unmap(space, addr, range, event(false), Some((addr, range)));
                        let history = self.ranges.add(space, addr, range, event(true));
                        if self.live.len() < MAX_KEPT {
                            self.live.insert((space, addr), Mapping { size: range, bo, history });
                        } else {
                            self.facts.dropped += 1;
                        }
                    }
                    BindOp::Unmap if errno != 0 => _ = self.ranges.add(space, addr, range, event(false)),
                    BindOp::Unmap => self.unmap(space, addr, range, event(false), None),
                    BindOp::UnmapAll if errno == 0 => self.unmap_object(space, bo, event(false)),
                    BindOp::UnmapAll | BindOp::Prefetch => {}
                }
            }
            Event::VmDestroy { file, vm } => {
                self.unmap((file, vm), 0, u64::MAX, BindEvent { bind: false, errno: 0, phase }, None);
            }
            Event::Dispatch { n, kernel, groups, pointers, .. } => {
                if self.facts.dispatches.len() >= MAX_KEPT {
                    self.facts.dropped += 1;
                } else {
                    let mut ranges: Vec<_> =
                        pointers.iter().map(|p| (p.range_addr, p.range_len, p.bound)).collect();
                    ranges.sort_unstable();
                    ranges.dedup();
                    self.facts.dispatches.push(DispatchFact { n, kernel, groups, phase, ranges });
                }
                if !self.facts.complete {
                    self.facts.summary.dispatches += 1;
                }
            }
            Event::Executed { n, unmapped, .. } => {
                for missed in unmapped {
                    if self.facts.unmapped.len() >= MAX_KEPT {
                        self.facts.dropped += 1;
                        continue;
                    }
                    let role = self.role(PointerRole::Payload, missed.range_len);
                    let (range_len, read, written) = (missed.range_len, missed.read, missed.written);
                    self.facts.unmapped.push(UnmappedFact { n, phase, range_len, role, read, written });
                }
            }
            Event::Hazard { n, vm, pointer, role, range_addr, range_len, .. } => {
                if self.facts.hazards.len() >= MAX_KEPT {
                    self.facts.dropped += 1;
                } else {
                    let role = self.role(role, range_len);
                    let hazard = HazardFact { n, phase, vm, pointer, range_addr, range_len, role };
                    self.facts.hazards.push(hazard);
                }
                if !self.facts.complete {
                    self.facts.summary.hazards += 1;
                }
            }
            Event::FaultInjected { rule, .. } if !self.facts.complete => {
                *self.facts.summary.injected.entry(rule).or_default() += 1;
            }
            Event::Summary(summary) => {
                self.facts.summary = summary;
                self.facts.complete = true;
            }
            _ => {}
        }
    }

    /// The driver rounds an allocation up to a page: 4 KiB, 64 KiB in device memory, 2 MiB for large ones.
    fn role(&self, pointer: PointerRole, size: u64) -> Option<String> {
        match pointer {
            PointerRole::Payload => {}
            PointerRole::Kernel => return Some("kernel".to_owned()),
            PointerRole::ScratchState => return Some("scratch surface state".to_owned()),
            PointerRole::Scratch => return Some("scratch".to_owned()),
        }
        let fits = |&expected: &u64| {
            expected != 0
                && [1u64, 4 << 10, 64 << 10, 2 << 20]
                    .iter()
                    .any(|&page| expected.checked_next_multiple_of(page) == Some(size))
        };
        self.known.private_surfaces.iter().any(fits).then(|| PRIVATE_SURFACE.to_owned())
    }

    /// Ends all mappings that overlap; a mapping that is cut counts as ended, since a user of it may meet the hole.
    /// `same` is mapped again at once with the same bounds and needs no end.
    fn unmap(&mut self, space: Space, addr: u64, range: u64, event: BindEvent, same: Option<(u64, u64)>) {
        let end = addr.saturating_add(range);
        // Mappings do not overlap, so only the last one before `addr` can reach into it.
        let first = self
            .live
            .range(..(space, addr))
            .next_back()
            .filter(|((of, start), mapping)| *of == space && start.saturating_add(mapping.size) > addr)
            .map_or((space, addr), |(key, _)| *key);
        let ended: Vec<_> =
            self.live.range(first..(space, end)).map(|(key, mapping)| (*key, *mapping)).collect();
        for (key, mapping) in ended {
            self.live.remove(&key);
            if let Some(index) = mapping.history
                && same != Some((key.1, mapping.size))
            {
                self.ranges.add_to(index, event);
            }
        }
    }

    fn unmap_object(&mut self, space: Space, bo: Option<u64>, event: BindEvent) {
        let ended: Vec<_> = self
            .live
            .range((space, 0)..=(space, u64::MAX))
            .filter(|(_, mapping)| bo.is_some() && mapping.bo == bo)
            .map(|(key, mapping)| (*key, mapping.history))
            .collect();
        for (key, history) in ended {
            self.live.remove(&key);
            if let Some(index) = history {
                self.ranges.add_to(index, event);
            }
        }
    }
}

/// Events that no fact is made of, by their tag: a trace is mostly these, and need not be taken apart.
const SKIPPED: [&[u8]; 7] = [
    b"\"ev\":\"copy\"",
    b"\"ev\":\"exec\"",
    b"\"ev\":\"wait_end\"",
    b"\"ev\":\"gem_create\"",
    b"\"ev\":\"gem_close\"",
    b"\"ev\":\"unmapped_access\"",
    b"\"ev\":\"ioctl_failed\"",
];

impl LineSink for Parser<'_> {
    fn line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let head = line.get(..96).unwrap_or(line);
        let tag = memchr::memmem::find(head, b"\"ev\":").and_then(|at| head.get(at..));
        let whole = line.starts_with(b"{") && line.ends_with(b"}");
        if whole && tag.is_some_and(|tag| SKIPPED.iter().any(|skipped| tag.starts_with(skipped))) {
            return;
        }
        match Record::read(line) {
            Ok(record) => self.event(record),
            Err(_) => self.facts.not_understood += 1,
        }
    }

    fn cut(&mut self) {
        // The head of a long line does not parse and was counted by `line`.
    }
}

#[cfg(test)]
mod tests {
    use xe_sim::trace::{Summary, Unmapped};

    use super::*;
    use crate::model::repro::Phase;

    fn record(seq: u64, t: u64, event: Event) -> String {
        serde_json::to_string(&Record { seq, t, event }).unwrap() + "\n"
    }

    fn bind(op: BindOp, addr: u64, range: u64, errno: i32) -> Event {
        Event::Bind {
            file: 1,
            vm: 1,
            op,
            addr,
            range,
            bo: Some(7),
            offset: 0,
            cpu_addr: None,
            flags: 0,
            errno,
        }
    }

    fn hazard(n: u64, range_len: u64) -> Event {
        Event::Hazard {
            n,
            file: 1,
            queue: 1,
            vm: 1,
            pointer: 0x1000,
            payload_offset: 0,
            role: PointerRole::Payload,
            range_addr: 0x1000,
            range_len,
            history: Vec::new(),
        }
    }

    fn start(version: u32) -> Event {
        let (device, profile) = ("A770".to_owned(), "a770".to_owned());
        Event::Start { version, device, profile, executes_kernels: false, faults: Vec::new() }
    }

    fn events(facts: &SimFacts, index: usize) -> Vec<(bool, i32)> {
        facts.ranges[index].events.iter().map(|e| (e.bind, e.errno)).collect()
    }

    #[test]
    fn histories_phases_hazards_and_the_summary() {
        let marks = [
            PhaseMark { phase: Phase::Before, start_ns: 100 },
            PhaseMark { phase: Phase::Copies, start_ns: 200 },
            PhaseMark { phase: Phase::After, start_ns: 300 },
        ];
        let trace = [
            record(1, 1, start(TRACE_VERSION)),
            record(2, 50, bind(BindOp::Map, 0x1000, 0x5900000, 0)),
            record(3, 210, bind(BindOp::MapUserptr, 0x9000_0000, 0x1000, 1)),
            record(4, 220, bind(BindOp::Unmap, 0x1000, 0x5900000, 0)),
            record(5, 310, hazard(2, 0x5900000)),
            record(6, 320, hazard(3, 0x5800000)),
            record(7, 400, Event::Summary(Summary { hazards: 2, dispatches: 5, ..Summary::default() })),
        ]
        .concat();
        let known = Known { phases: &marks, private_surfaces: &[22784 * 4096] };
        let facts = facts(trace.as_bytes(), known).unwrap();
        assert!(facts.complete);
        assert_eq!(facts.summary.dispatches, 5);
        assert_eq!(facts.not_understood, 0);
        assert_eq!(events(&facts, 0), [(true, 0), (false, 0)]);
        assert_eq!(facts.ranges[0].events[0].phase, None, "before the first mark");
        assert_eq!(facts.ranges[0].events[1].phase, Some(Phase::Copies));
        assert_eq!(events(&facts, 1), [(true, 1)]);
        let roles: Vec<_> = facts.hazards.iter().map(|h| (h.n, h.role.as_deref(), h.phase)).collect();
        assert_eq!(roles, [(2, Some(PRIVATE_SURFACE), Some(Phase::After)), (3, None, Some(Phase::After))]);
    }

    #[test]
    fn what_kernels_missed_has_its_role() {
        let missed = |range_len, read, written| Unmapped {
            range_addr: 0x1000,
            range_len,
            first: 0x1000,
            read,
            written,
        };
        let executed = Event::Executed {
            n: 3,
            groups: 1,
            threads: 1,
            instructions: 10,
            messages: 2,
            read: 0,
            written: 0,
            unmapped: vec![missed(0x10000, 64, 0), missed(0, 0, 32)],
            native_groups: 0,
            native_bytes: 0,
            sampled_groups: 0,
            ns: 5,
        };
        let trace = record(1, 1, start(TRACE_VERSION)) + &record(2, 2, executed);
        let known = Known { private_surfaces: &[0x10000], ..Known::default() };
        let facts = facts(trace.as_bytes(), known).unwrap();
        let seen: Vec<_> =
            facts.unmapped.iter().map(|u| (u.n, u.role.as_deref(), u.read, u.written)).collect();
        assert_eq!(seen, [(3, Some(PRIVATE_SURFACE), 64, 0), (3, None, 0, 32)]);
        assert_eq!(facts.not_understood, 0);
    }

    #[test]
    fn overlaps_end_what_they_cover() {
        let trace = [
            record(0, 0, start(TRACE_VERSION)),
            record(1, 1, bind(BindOp::Map, 0x10000, 0x4000, 0)),
            record(2, 2, bind(BindOp::Map, 0x14000, 0x4000, 0)),
            // Covers the end of the first and the start of the second.
            record(3, 3, bind(BindOp::Unmap, 0x12000, 0x4000, 0)),
            record(4, 4, bind(BindOp::Map, 0x14000, 0x4000, 0)),
            // The same bounds again: no end between.
            record(5, 5, bind(BindOp::Map, 0x14000, 0x4000, 0)),
            record(6, 6, bind(BindOp::UnmapAll, 0, 0, 0)),
        ]
        .concat();
        let facts = facts(trace.as_bytes(), Known::default()).unwrap();
        assert_eq!(events(&facts, 0), [(true, 0), (false, 0)]);
        assert_eq!(events(&facts, 1), [(true, 0), (false, 0), (true, 0), (true, 0), (false, 0)]);
    }

    #[test]
    fn destroying_a_vm_ends_its_mappings_only() {
        let mut other = bind(BindOp::Map, 0x10000, 0x4000, 0);
        if let Event::Bind { vm, .. } = &mut other {
            *vm = 2;
        }
        let trace = [
            record(0, 0, start(TRACE_VERSION)),
            record(1, 1, bind(BindOp::Map, 0x10000, 0x4000, 0)),
            record(2, 2, other),
            record(3, 3, Event::VmDestroy { file: 1, vm: 1 }),
        ]
        .concat();
        let facts = facts(trace.as_bytes(), Known::default()).unwrap();
        assert_eq!(events(&facts, 0), [(true, 0), (false, 0)]);
        assert_eq!(events(&facts, 1), [(true, 0)]);
    }

    #[test]
    fn a_truncated_trace_is_incomplete_and_counted_so_far() {
        let whole =
            [record(1, 1, start(1)), record(2, 2, hazard(1, 4096)), record(3, 3, hazard(2, 4096))].concat();
        let cut = &whole.as_bytes()[..whole.len() - 20];
        let facts = facts(cut, Known::default()).unwrap();
        assert!(!facts.complete);
        assert_eq!((facts.hazards.len(), facts.summary.hazards, facts.not_understood), (1, 1, 1));
    }

    #[test]
    fn skipped_events_are_whole_lines() {
        let copy =
            Event::Copy { file: 1, queue: 1, vm: 1, command: "XY".to_owned(), bytes: 1, src: 2, dst: 3 };
        let trace = record(1, 1, start(1)) + &record(2, 2, copy);
        let whole = facts(trace.as_bytes(), Known::default()).unwrap();
        assert_eq!(whole.not_understood, 0);
        let cut = facts(&trace.as_bytes()[..trace.len() - 3], Known::default()).unwrap();
        assert_eq!(cut.not_understood, 1);
    }

    #[test]
    fn traces_that_prove_nothing_are_errors() {
        let of = |trace: &str| facts(trace.as_bytes(), Known::default()).unwrap_err();
        assert_eq!(of(""), TraceError::Empty);
        assert_eq!(of("\0\n{}\n"), TraceError::NoTrace { lines: 2 });
        assert_eq!(
            of(&record(1, 1, start(TRACE_VERSION + 1))),
            TraceError::TooNew { found: TRACE_VERSION + 1 }
        );
        let open = record(1, 1, Event::Open { file: 1, process: 7 });
        assert_eq!(of(&open), TraceError::NoStart);
        assert_eq!(of(&(open + &record(2, 2, start(1)))), TraceError::NoStart);
    }

    #[test]
    fn vms_of_two_files_are_two() {
        let mut other = bind(BindOp::Map, 0x10000, 0x4000, 0);
        if let Event::Bind { file, .. } = &mut other {
            *file = 2;
        }
        let trace = [
            record(1, 1, start(1)),
            record(2, 2, bind(BindOp::Map, 0x10000, 0x4000, 0)),
            record(3, 3, other),
            record(4, 4, bind(BindOp::Unmap, 0x10000, 0x4000, 0)),
        ]
        .concat();
        let facts = facts(trace.as_bytes(), Known::default()).unwrap();
        assert_eq!(events(&facts, 0), [(true, 0), (false, 0)]);
        assert_eq!(events(&facts, 1), [(true, 0)]);
    }
}
