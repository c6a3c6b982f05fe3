//! The kernel's log: what xe and i915 say, within a window of time and of one device.

mod record;
mod time;

use crate::model::facts::{KernelFault, KernelLogFacts};

use super::lines::{self, LineSink};
use super::{count, text};
use record::{Kind, Record};
use time::{Assumed, Stamp};

/// Half-open `[from, until)` in ns. What a job leaves behind when it is killed comes after `until` and is not
/// evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: u64,
    pub until: u64,
}

impl Span {
    fn holds(self, at: u64) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// Which records count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// By CLOCK_MONOTONIC, for `[ 5121.400112]`. Preferred where a record has both.
    pub monotonic: Option<Span>,
    /// By wall time in UTC, for `2026-09-11T08:03:40`.
    pub wall: Option<Span>,
    /// Seconds east of UTC, for stamps without a zone.
    pub utc_offset: i32,
    /// "0000:c3:00.0". Records without an address are kept: old i915 lines have none.
    pub device: Option<String>,
}

const MAX_LINES: usize = 1000;
/// Counted records nearer than this belong to one incident.
const INCIDENT_GAP_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub struct Parser {
    options: Options,
    assumed: Assumed,
    facts: KernelLogFacts,
    /// A fault block that is being read, with its text so far.
    block: Option<Block>,
    /// The last fault waits for its response.
    unanswered: bool,
    last: Option<u64>,
    /// Lines with neither a stamp nor a record of a graphics driver.
    foreign: u64,
}

#[derive(Debug)]
struct Block {
    fault: KernelFault,
    lines: Vec<u8>,
    stamp: Stamp,
}

/// Whether a record counts.
enum Place {
    Inside,
    Outside,
    Untimed,
    OtherDevice,
}

impl Parser {
    pub fn new(options: Options) -> Self {
        let year = options.wall.map(|span| time::year_of(span.from));
        let assumed = Assumed { utc_offset: options.utc_offset, year };
        let facts = KernelLogFacts { readable: true, ..KernelLogFacts::default() };
        Parser { options, assumed, facts, block: None, unanswered: false, last: None, foreign: 0 }
    }

    fn place(&self, stamp: Stamp, device: Option<&[u8]>) -> Place {
        if let (Some(wanted), Some(device)) = (&self.options.device, device)
            && !wanted.as_bytes().eq_ignore_ascii_case(device)
        {
            return Place::OtherDevice;
        }
        let inside = match (self.options.monotonic, stamp.monotonic, self.options.wall, stamp.wall) {
            (None, _, None, _) => true,
            (Some(span), Some(at), ..) | (_, _, Some(span), Some(at)) => span.holds(at),
            _ => return Place::Untimed,
        };
        if inside { Place::Inside } else { Place::Outside }
    }

    fn record(&mut self, stamp: Stamp, record: Record, line: &[u8]) {
        let kind = record::classify(record.message);
        let interesting = record.head_only || !matches!(kind, Kind::Guc(_) | Kind::Other);
        match self.place(stamp, record.device) {
            Place::Inside => {}
            Place::Outside => {
                self.facts.outside_window += u64::from(interesting);
                // The driver's firmware is named at boot, before any window.
                if let Kind::Guc(version) = kind {
                    self.facts.guc_firmware = Some(version);
                }
                return;
            }
            Place::Untimed => return self.facts.untimed += u64::from(interesting),
            Place::OtherDevice => return self.facts.other_device += u64::from(interesting),
        }
        self.facts.entries += 1;
        if record.head_only {
            self.block =
                Some(Block { fault: KernelFault::default(), lines: line.trim_ascii_end().to_vec(), stamp });
            return;
        }
        self.count(kind);
        if interesting {
            self.incident(stamp);
            if let Some(process) = record::process(record.message) {
                count(&mut self.facts.processes, process.as_bytes(), 256, &mut self.facts.dropped);
            }
            self.keep(line);
        }
    }

    fn count(&mut self, kind: Kind) {
        let answers = std::mem::take(&mut self.unanswered);
        let facts = &mut self.facts;
        match kind {
            Kind::FaultResponse(errno) => {
                let key = format!("fault response {errno}");
                count(&mut facts.errors, key.as_bytes(), 256, &mut facts.dropped);
                match facts.fault_details.last_mut() {
                    Some(fault) if answers => fault.response = Some(errno),
                    // Its block was lost, as line filters do.
                    _ => {
                        facts.faults += 1;
                        self.keep_fault(KernelFault { response: Some(errno), ..KernelFault::default() });
                    }
                }
            }
            Kind::EngineReset => facts.engine_resets += 1,
            Kind::TimedOutJob => facts.timed_out_jobs += 1,
            Kind::CatError => facts.cat_errors += 1,
            Kind::Coredump => facts.devcoredumps += 1,
            Kind::VmWorkerError(errno) => {
                facts.vm_worker_errors += 1;
                let key = format!("VM worker error {errno}");
                count(&mut facts.errors, key.as_bytes(), 256, &mut facts.dropped);
            }
            Kind::QueueResetDetected => facts.queue_resets_detected += 1,
            Kind::BannedUse => facts.banned_uses += 1,
            Kind::GpuHang => facts.gpu_hangs += 1,
            Kind::ContextReset => facts.context_resets += 1,
            Kind::ChipReset => facts.chip_resets += 1,
            Kind::FailedReset => facts.failed_resets += 1,
            Kind::FenceTimeout => facts.fence_timeouts += 1,
            Kind::Guc(version) => facts.guc_firmware = Some(version),
            Kind::Other => self.unanswered = answers,
        }
    }

    fn keep_fault(&mut self, fault: KernelFault) {
        if self.facts.fault_details.len() < MAX_LINES {
            self.facts.fault_details.push(fault);
        } else {
            self.facts.dropped += 1;
        }
    }

    fn end_block(&mut self) {
        let Some(block) = self.block.take() else { return };
        self.facts.faults += 1;
        self.unanswered = self.facts.fault_details.len() < MAX_LINES;
        self.keep_fault(block.fault);
        self.incident(block.stamp);
        self.keep(&block.lines);
    }

    fn incident(&mut self, stamp: Stamp) {
        let Some(at) = stamp.monotonic.or(stamp.wall) else { return };
        if self.last.is_none_or(|last| at.abs_diff(last) >= INCIDENT_GAP_NS) {
            self.facts.incidents += 1;
        }
        self.last = Some(at);
    }

    fn keep(&mut self, line: &[u8]) {
        if self.facts.lines.len() < MAX_LINES {
            // A fault block is longer than other records.
            let cut = line.get(..1024).unwrap_or(line);
            self.facts.lines.push(String::from_utf8_lossy(cut).trim_end().to_owned());
        } else {
            self.facts.dropped += 1;
        }
    }

    /// Lines so far that nothing shows to be of a kernel's log.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    pub fn finish(mut self) -> KernelLogFacts {
        self.end_block();
        self.facts
    }
}

impl LineSink for Parser {
    fn line(&mut self, line: &[u8]) {
        // Lines of a block are indented; some readers repeat the stamp before each.
        if let Some(block) = &mut self.block {
            let body = time::split(line, self.assumed).1;
            if record::fault_line(body, &mut block.fault) {
                if block.lines.len() < 1024 {
                    block.lines.push(b'\n');
                    block.lines.extend_from_slice(body.trim_ascii());
                }
                return;
            }
            self.end_block();
        }
        // Most of a kernel's log is of other drivers.
        let head = line.get(..160).unwrap_or(line);
        let ours = [&b"xe "[..], b"i915", b"[drm]"].iter().any(|n| memchr::memmem::find(head, n).is_some());
        if !ours {
            let (stamp, body) = time::split(line, self.assumed);
            self.foreign += u64::from(stamp == Stamp::default() && !body.trim_ascii().is_empty());
            return;
        }
        let (stamp, body) = time::split(line, self.assumed);
        // /dev/kmsg escapes the newlines of a block.
        let mut parts = Escaped(body);
        let first = parts.next().unwrap_or_default();
        let Some(record) = record::split(first) else { return };
        self.record(stamp, record, line);
        if let Some(block) = &mut self.block {
            for part in parts {
                record::fault_line(part, &mut block.fault);
            }
        }
    }

    fn cut(&mut self) {
        self.facts.long_lines += 1;
    }
}

/// Parts of a record between `\x0a` escapes.
struct Escaped<'a>(&'a [u8]);

impl<'a> Iterator for Escaped<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let (part, rest) = match memchr::memmem::find(self.0, b"\\x0a") {
            Some(at) => (self.0.get(..at)?, self.0.get(at + 4..)?),
            None => (self.0, &[][..]),
        };
        self.0 = rest;
        Some(part)
    }
}

/// Facts of one log in memory.
pub fn parse(bytes: &[u8], options: &Options) -> KernelLogFacts {
    let mut parser = Parser::new(options.clone());
    lines::feed_all(bytes, &mut parser);
    parser.finish()
}

/// Facts when there is no log to read.
pub fn unreadable(why: &str) -> KernelLogFacts {
    KernelLogFacts { why_not: Some(text(why.as_bytes())), ..KernelLogFacts::default() }
}
