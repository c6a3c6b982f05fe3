//! The life of the private surface in one run, with times: from the simulated device's trace where it is kept, else from
//! the facts, which know the order within a phase but no times.

use xe_sim::trace::{BindOp, Event, Record};

use crate::judge::surface;
use crate::logs::lines::{self, LineSink};
use crate::model::outcome::RunRecord;
use crate::model::repro::{Phase, PhaseMark};

/// One run's timeline. Positions are 0 to 1 along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub phases: Vec<Band>,
    /// Stretches during which the surface was bound.
    pub bound: Vec<(f64, f64)>,
    pub dispatches: Vec<Mark>,
    /// Binds that failed, whatever they were of.
    pub failed: Vec<f64>,
    /// Positions come from times; false = from the order alone.
    pub timed: bool,
    /// Bytes.
    pub surface: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    pub phase: Phase,
    pub from: f64,
    pub to: f64,
    /// Seconds.
    pub seconds: f64,
}

/// A dispatch that reaches the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub at: f64,
    pub n: u64,
    /// The surface was bound when it ran.
    pub bound: bool,
}

impl Timeline {
    /// `trace`: the device's trace as text, if it was kept. `surface`: bytes of the private surface.
    pub fn of(record: &RunRecord, surface: u64, trace: Option<&[u8]>) -> Option<Self> {
        let marks = &record.repro.as_ref()?.phases;
        let timed = trace.and_then(|trace| from_trace(trace, marks, surface));
        timed.or_else(|| from_facts(record, surface))
    }
}

/// Part of the axis that phases share equally; the rest goes by duration. A phase of a millisecond stays visible
/// beside copies that take seconds.
const EQUAL_SHARE: f64 = 0.5;

/// A time axis with a piece for each phase.
struct Axis(Vec<(Phase, u64, u64, f64, f64)>);

impl Axis {
    fn new(marks: &[PhaseMark], end: u64) -> Option<Self> {
        let mut marks = marks.to_vec();
        marks.sort_by_key(|mark| mark.start_ns);
        let first = marks.first()?.start_ns;
        let total = end.saturating_sub(first).max(1) as f64;
        let n = marks.len() as f64;
        let mut pieces = Vec::new();
        let mut at = 0.0;
        for (i, mark) in marks.iter().enumerate() {
            let until = marks.get(i + 1).map_or(end.max(mark.start_ns), |next| next.start_ns);
            let width = EQUAL_SHARE / n + (1.0 - EQUAL_SHARE) * (until - mark.start_ns) as f64 / total;
            pieces.push((mark.phase, mark.start_ns, until, at, (at + width).min(1.0)));
            at += width;
        }
        Some(Axis(pieces))
    }

    fn at(&self, t: u64) -> f64 {
        let Some((_, from, to, left, right)) = self.0.iter().rev().find(|piece| piece.1 <= t) else {
            return 0.0;
        };
        let part = t.saturating_sub(*from) as f64 / (to - from).max(1) as f64;
        left + (right - left) * part.min(1.0)
    }

    fn bands(&self) -> Vec<Band> {
        let band = |(phase, start, end, from, to): &(Phase, u64, u64, f64, f64)| Band {
            phase: *phase,
            from: *from,
            to: *to,
            seconds: (end - start) as f64 / 1e9,
        };
        self.0.iter().map(band).collect()
    }
}

/// What concerns the surface, with times.
#[derive(Default)]
struct Scan {
    surface: u64,
    /// (file, VM, address, object) of ranges of the surface's size.
    ranges: Vec<(u64, u32, u64, Option<u64>)>,
    /// (time, bound).
    changes: Vec<(u64, bool)>,
    dispatches: Vec<(u64, u64, bool)>,
    failed: Vec<u64>,
    last: u64,
}

impl LineSink for Scan {
    fn line(&mut self, line: &[u8]) {
        // Lines that cannot be read are the judge's business; a picture does without them.
        let Ok(Record { t, event, .. }) = serde_json::from_slice(line) else { return };
        self.last = self.last.max(t);
        match event {
            Event::Bind { file, vm, op, addr, range, bo, errno, .. } => match op {
                BindOp::Map | BindOp::MapUserptr | BindOp::MapNull if errno != 0 => self.failed.push(t),
                BindOp::Map if surface::fits(range, self.surface) => {
                    if !self.ranges.iter().any(|known| (known.0, known.1, known.2) == (file, vm, addr)) {
                        self.ranges.push((file, vm, addr, bo));
                    }
                    self.changes.push((t, true));
                }
                BindOp::Unmap if errno == 0 && self.covers(file, vm, addr, range) => {
                    self.changes.push((t, false))
                }
                BindOp::UnmapAll
                    if errno == 0 && self.ranges.iter().any(|known| known.0 == file && known.3 == bo) =>
                {
                    self.changes.push((t, false));
                }
                _ => {}
            },
            Event::VmDestroy { file, vm }
                if self.ranges.iter().any(|known| (known.0, known.1) == (file, vm)) =>
            {
                self.changes.push((t, false));
            }
            Event::Dispatch { n, pointers, .. } => {
                let reached = pointers.iter().find(|p| surface::fits(p.range_len, self.surface));
                if let Some(pointer) = reached {
                    self.dispatches.push((t, n, pointer.bound));
                }
            }
            _ => {}
        }
    }

    fn cut(&mut self) {}
}

impl Scan {
    fn covers(&self, file: u64, vm: u32, addr: u64, range: u64) -> bool {
        self.ranges
            .iter()
            .any(|known| (known.0, known.1) == (file, vm) && addr <= known.2 && known.2 - addr < range.max(1))
    }
}

fn from_trace(trace: &[u8], marks: &[PhaseMark], surface: u64) -> Option<Timeline> {
    let mut scan = Scan { surface, ..Scan::default() };
    lines::feed_all(trace, &mut scan);
    let axis = Axis::new(marks, scan.last)?;
    let mut bound = Vec::new();
    let mut since = None;
    for (t, now) in &scan.changes {
        match (now, since) {
            (true, None) => since = Some(*t),
            (false, Some(from)) => {
                bound.push((axis.at(from), axis.at(*t)));
                since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    bound.extend(since.map(|from| (axis.at(from), 1.0)));
    Some(Timeline {
        phases: axis.bands(),
        bound,
        dispatches: scan
            .dispatches
            .iter()
            .map(|(t, n, bound)| Mark { at: axis.at(*t), n: *n, bound: *bound })
            .collect(),
        failed: scan.failed.iter().map(|t| axis.at(*t)).collect(),
        timed: true,
        surface,
    })
}

/// Events of a phase are spread over it evenly, in their order.
fn from_facts(record: &RunRecord, surface: u64) -> Option<Timeline> {
    let sim = record.facts.sim.as_ref();
    let ranges = sim.map(|sim| &sim.ranges).or_else(|| record.facts.neo.as_ref().map(|neo| &neo.ranges))?;
    let dispatches = sim.map_or(&[][..], |sim| &sim.dispatches);
    let marks = &record.repro.as_ref()?.phases;
    let n = marks.len().max(1) as f64;
    let place = |phase: Option<Phase>| marks.iter().position(|mark| Some(mark.phase) == phase);
    let band = |i: usize| (i as f64 / n, (i + 1) as f64 / n);
    let life = surface::histories(ranges, dispatches, surface);
    let events: Vec<(usize, bool)> = life
        .first()?
        .events
        .iter()
        .filter(|event| event.errno == 0)
        .filter_map(|event| Some((place(event.phase)?, event.bind)))
        .collect();
    let at = |i: usize, phase: usize| {
        let (left, right) = band(phase);
        let of = events.iter().filter(|(p, _)| *p == phase).count().max(1);
        let nth = events.iter().take(i).filter(|(p, _)| *p == phase).count();
        left + (right - left) * (nth as f64 + 0.5) / of as f64
    };
    let mut bound = Vec::new();
    let mut since = None;
    for (i, (phase, bind)) in events.iter().enumerate() {
        match (bind, since) {
            (true, None) => since = Some(at(i, *phase)),
            (false, Some(from)) => {
                bound.push((from, at(i, *phase)));
                since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    bound.extend(since.map(|from| (from, 1.0)));
    let reaching: Vec<Mark> = dispatches
        .iter()
        .filter_map(|d| {
            let (_, _, bound) = d.ranges.iter().find(|(_, len, _)| surface::fits(*len, surface))?;
            let (left, right) = band(place(d.phase)?);
            Some(Mark { at: left + (right - left) * 0.8, n: d.n, bound: *bound })
        })
        .collect();
    let phases = marks
        .iter()
        .enumerate()
        .map(|(i, mark)| {
            let (from, to) = band(i);
            let until = marks.get(i + 1).map_or(mark.start_ns, |next| next.start_ns);
            Band { phase: mark.phase, from, to, seconds: until.saturating_sub(mark.start_ns) as f64 / 1e9 }
        })
        .collect();
    Some(Timeline { phases, bound, dispatches: reaching, failed: Vec::new(), timed: false, surface })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Vec<PhaseMark> {
        [(Phase::Before, 100), (Phase::Copies, 200), (Phase::After, 1000)]
            .map(|(phase, start_ns)| PhaseMark { phase, start_ns })
            .to_vec()
    }

    fn line(seq: u64, t: u64, rest: &str) -> String {
        format!("{{\"seq\":{seq},\"t\":{t},{rest}}}\n")
    }

    #[test]
    fn a_lost_surface_is_unbound_when_the_last_dispatch_reaches_it() {
        let bind = |op: &str, errno: i32, range: u64| {
            format!(
                "\"ev\":\"bind\",\"file\":1,\"vm\":1,\"op\":\"{op}\",\"addr\":4096,\"range\":{range},\"offset\":0,\"flags\":0,\"errno\":{errno}"
            )
        };
        let dispatch = |n: u64, bound: bool| {
            format!(
                "\"ev\":\"dispatch\",\"n\":{n},\"file\":1,\"queue\":1,\"vm\":1,\"kernel\":0,\"groups\":[1,1,1],\"executed\":false,\"pointers\":[{{\"payload_offset\":0,\"role\":\"payload\",\"value\":4096,\"range_addr\":4096,\"range_len\":8192,\"bound\":{bound}}}]"
            )
        };
        let trace = [
            line(1, 110, &bind("map", 0, 8192)),
            line(2, 120, &dispatch(1, true)),
            line(3, 300, &bind("map_userptr", 1, 65536)),
            line(4, 310, &bind("unmap", 0, 8192)),
            line(5, 1100, &dispatch(2, false)),
        ]
        .concat();
        let timeline = from_trace(trace.as_bytes(), &marks(), 8192).unwrap();
        assert_eq!(timeline.bound.len(), 1);
        let (from, to) = timeline.bound[0];
        let copies = timeline.phases[1];
        assert!(from < copies.from && copies.from < to && to < copies.to, "{timeline:?}");
        assert_eq!(timeline.dispatches.iter().map(|d| d.bound).collect::<Vec<_>>(), [true, false]);
        assert!(timeline.dispatches[1].at >= copies.to);
        assert_eq!(timeline.failed.len(), 1);
        assert!(timeline.phases.last().unwrap().to <= 1.0 + 1e-9);
    }
}
