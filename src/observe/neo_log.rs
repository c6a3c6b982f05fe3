//! The `neo-log` observer: the driver's lines of both output streams, put into one order.
//!
//! Successful binds are printed on stdout and failed ones on stderr. The streams are separate pipes, so the order
//! between them is that of arrival if arrival times are given, and otherwise known only as far as the phase markers
//! (which are on both streams) tell. The facts say which it was.

use crate::logs::lines::MAX_LINE;
use crate::logs::neo::{Parser, Stream};
use crate::model::facts::{NeoFacts, StreamOrder};
use crate::model::repro::{PHASE_MARKER, Phase};

/// One captured stream. A mark says that the bytes from `offset` on (up to the next mark) arrived at `t_ns`; marks
/// are in order. Without marks the arrival is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed<'a> {
    pub bytes: &'a [u8],
    /// (byte offset, CLOCK_MONOTONIC ns).
    pub marks: &'a [(u64, u64)],
}

/// Facts of a run's two streams.
pub fn facts(stdout: Timed, stderr: Timed) -> NeoFacts {
    let order =
        if covered(stdout) && covered(stderr) { StreamOrder::Arrival } else { StreamOrder::PhaseOnly };
    let mut parser = Parser::default();
    let mut out = Lines::new(stdout);
    let mut err = Lines::new(stderr);
    loop {
        let from_out = match (out.peek(), err.peek()) {
            (None, None) => break,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => match order {
                StreamOrder::Arrival => a.arrival <= b.arrival,
                StreamOrder::PhaseOnly => a.phase <= b.phase,
            },
        };
        let (lines, stream) = if from_out { (&mut out, Stream::Stdout) } else { (&mut err, Stream::Stderr) };
        if let Some(line) = lines.next() {
            match line.text.get(..MAX_LINE) {
                Some(head) if line.text.len() > MAX_LINE => {
                    parser.line(stream, head);
                    parser.cut();
                }
                _ => parser.line(stream, line.text),
            }
        }
    }
    let mut facts = parser.finish();
    if !stdout.bytes.is_empty() && !stderr.bytes.is_empty() {
        facts.order = Some(order);
    }
    facts
}

/// Whether all bytes of a stream have an arrival time.
fn covered(stream: Timed) -> bool {
    stream.bytes.is_empty() || stream.marks.first().is_some_and(|&(offset, _)| offset == 0)
}

#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    text: &'a [u8],
    /// When its last byte arrived. Only compared where both streams have times.
    arrival: u64,
    /// The latest phase begun before it, in the order of phases.
    phase: Option<Phase>,
}

/// Lines of one stream, one ahead.
#[derive(Debug)]
struct Lines<'a> {
    rest: &'a [u8],
    marks: &'a [(u64, u64)],
    offset: u64,
    arrival: u64,
    phase: Option<Phase>,
    ahead: Option<Line<'a>>,
}

impl<'a> Lines<'a> {
    fn new(stream: Timed<'a>) -> Self {
        let mut lines = Lines {
            rest: stream.bytes,
            marks: stream.marks,
            offset: 0,
            arrival: 0,
            phase: None,
            ahead: None,
        };
        lines.ahead = lines.read();
        lines
    }

    fn peek(&self) -> Option<Line<'a>> {
        self.ahead
    }

    fn next(&mut self) -> Option<Line<'a>> {
        let line = self.ahead.take();
        self.ahead = self.read();
        line
    }

    fn read(&mut self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        let (text, tail) = self.rest.split_at(end);
        self.rest = tail.get(1..).unwrap_or_default();
        self.offset += text.len() as u64 + 1;
        while let Some((&(start, t), later)) = self.marks.split_first() {
            // `offset` is one behind the newline, the line's last byte.
            if start >= self.offset {
                break;
            }
            self.arrival = self.arrival.max(t);
            self.marks = later;
        }
        // A marker belongs to the phase that it begins, so that both streams turn the page together.
        if let Some(at) = memchr::memmem::rfind(text, PHASE_MARKER.as_bytes())
            && let Some(phase) = Phase::from_marker(text.get(at..).unwrap_or_default())
        {
            self.phase = self.phase.max(Some(phase));
        }
        Some(Line {
            text: text.strip_suffix(b"\r").unwrap_or(text),
            arrival: self.arrival,
            phase: self.phase,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIND: &str = "bind BO-1 to VM 1, vmHandleId = 0, range: 1000 - 2000, size: 4096, result: 0\n";
    const UNBIND: &str = "unbind BO-1 from VM 1, vmHandleId = 0, range: 1000 - 2000, size: 4096, result: 0\n";
    const FAILED: &str =
        "bind BO-1 to VM 1, vmHandleId = 0, range: 1000 - 2000, size: 4096, result: -1, errno: 1(x)\n";

    fn events(facts: &NeoFacts) -> Vec<(bool, i32, Option<Phase>)> {
        facts.ranges[0].events.iter().map(|e| (e.bind, e.errno, e.phase)).collect()
    }

    fn log(parts: &[&str]) -> String {
        parts.concat().replace('@', PHASE_MARKER)
    }

    #[test]
    fn phases_order_streams_without_times() {
        let out = log(&[BIND, "@before\n", "@copies\n", UNBIND, "@after\n", BIND]);
        let err = log(&["@before\n", "@copies\n", FAILED, "@after\n"]);
        let plain = |text| Timed { bytes: text, marks: &[] };
        let facts = facts(plain(out.as_bytes()), plain(err.as_bytes()));
        assert_eq!(facts.order, Some(StreamOrder::PhaseOnly));
        assert_eq!(
            events(&facts),
            [
                (true, 0, None),
                (false, 0, Some(Phase::Copies)),
                (true, 1, Some(Phase::Copies)),
                (true, 0, Some(Phase::After)),
            ]
        );
    }

    #[test]
    fn arrival_times_order_streams() {
        // The failure arrives between bind and unbind; the two stdout lines come in two pieces.
        let out = log(&[BIND, UNBIND]);
        let err = log(&[FAILED]);
        let marks_out = [(0, 10), (BIND.len() as u64, 30)];
        let facts = facts(
            Timed { bytes: out.as_bytes(), marks: &marks_out },
            Timed { bytes: err.as_bytes(), marks: &[(0, 20)] },
        );
        assert_eq!(facts.order, Some(StreamOrder::Arrival));
        assert_eq!(events(&facts), [(true, 0, None), (true, 1, None), (false, 0, None)]);
    }

    #[test]
    fn a_line_in_two_pieces_arrives_with_its_last() {
        let out = log(&[BIND]);
        let err = log(&[FAILED]);
        let facts = facts(
            Timed { bytes: out.as_bytes(), marks: &[(0, 10), (20, 30)] },
            Timed { bytes: err.as_bytes(), marks: &[(0, 20)] },
        );
        assert_eq!(events(&facts), [(true, 1, None), (true, 0, None)]);
    }

    #[test]
    fn one_stream_needs_no_order() {
        let facts = facts(Timed { bytes: BIND.as_bytes(), marks: &[] }, Timed::default());
        assert_eq!(facts.order, None);
    }

    #[test]
    fn a_fault_printed_on_both_streams_is_one() {
        let line =
            b"Segmentation fault from GPU at 0xff00fffffff10000, ctx_id: 4 (CCS) type: 0 (NotPresent), \
                     level: 0 (PTE), access: 0 (Read), banned: 1, aborting.\n";
        let facts = facts(Timed { bytes: line, marks: &[] }, Timed { bytes: line, marks: &[] });
        assert_eq!(facts.gpu_faults.len(), 1);
        assert!(facts.gpu_segfault);
    }
}
