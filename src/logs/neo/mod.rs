//! The debug output of compute-runtime (NEO), releases 20.36 to 26.31.
//!
//! Messages are found wherever they start: behind the prefixes of `DebugMessagesBitmask`, glued behind a message
//! without a newline, or behind text of the program or of another thread. A message that starts and does not end is
//! counted in `not_understood`; text that is nobody's message only in `lines`.

mod bind;
mod ioctl;
mod memory;
mod messages;
pub(crate) mod ranges;
mod search;
mod xe;

use crate::model::facts::{BindEvent, CallCount, KmdTime, NeoFacts, Outcomes, RangeRole, ThreadMemoryKind};
use crate::model::repro::Phase;

use super::lines::{self, LineSink};
use super::scan::Cursor;
use super::{count, errno_name, text};
use ranges::Histories;
use search::Anchors;

/// Which byte stream a line came from. Lines of one file that took both (`2>&1`) are `Mixed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
    #[default]
    Mixed,
}

/// Distinct values kept in each list or map of the facts.
const MAX_DISTINCT: usize = 4096;
const MAX_ROLES: usize = 1 << 16;

/// What one stream carries from line to line.
#[derive(Debug, Default)]
struct StreamState {
    phase: Option<Phase>,
    /// An abort whose file is the next line.
    abort: Option<u64>,
    /// Inside the table of ioctl times.
    times: bool,
}

#[derive(Debug, Default)]
pub struct Parser {
    facts: NeoFacts,
    ranges: Histories,
    xe_ranges: Histories,
    streams: [StreamState; 3],
    anchors: Anchors,
    /// Lines with no message and no start of one.
    foreign: u64,
}

/// What stands at some place of a line.
enum Seen {
    /// A message, up to where the cursor is now.
    Message,
    /// The start of a message without its end.
    Torn,
    Foreign,
}

/// `Some` = it parsed.
fn whole<T>(parsed: Option<T>, act: impl FnOnce(T)) -> Seen {
    match parsed {
        Some(value) => {
            act(value);
            Seen::Message
        }
        None => Seen::Torn,
    }
}

impl Parser {
    /// One line, without its newline.
    pub fn line(&mut self, stream: Stream, line: &[u8]) {
        self.facts.lines += 1;
        if self.continues(stream, line) {
            return;
        }
        if !self.messages(stream, line) && !line.trim_ascii().is_empty() {
            self.foreign += 1;
        }
    }

    /// Takes the messages of a line. False = there was none, nor the start of one.
    fn messages(&mut self, stream: Stream, line: &[u8]) -> bool {
        let mut here = line;
        let mut any = false;
        self.anchors.restart();
        loop {
            let mut c = Cursor::new(search::without_prefixes(here));
            let start = c.rest();
            match self.message(stream, &mut c) {
                Seen::Message => {
                    any = true;
                    if c.rest().trim_ascii().is_empty() {
                        return true;
                    }
                    // `message` always consumes something, so this ends.
                    here = c.rest();
                    if self.glued(here) {
                        continue;
                    }
                }
                Seen::Torn => {
                    any = true;
                    self.facts.not_understood += 1;
                    here = start.get(search::anchor_length(start)..).unwrap_or_default();
                }
                Seen::Foreign => here = start.get(1..).unwrap_or_default(),
            }
            let from = line.len() - here.len();
            match self.anchors.next(line, from) {
                Some(at) => here = line.get(at..).unwrap_or_default(),
                None => return any,
            }
        }
    }

    /// A message may follow another with no more between them than a prefix.
    fn glued(&self, rest: &[u8]) -> bool {
        let text = search::without_prefixes(rest);
        search::ANCHORS.iter().any(|a| text.starts_with(a.trim_ascii_start()))
    }

    /// A line was longer than the limit and its tail not read.
    pub fn cut(&mut self) {
        self.facts.long_lines += 1;
    }

    /// Lines so far that hold nothing of the driver: the program's own, or those of another log.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    pub fn finish(mut self) -> NeoFacts {
        for state in &mut self.streams {
            if let Some(line) = state.abort.take() {
                self.facts.aborts.push(format!("?:{line}"));
            }
        }
        self.facts.dropped += self.ranges.dropped + self.xe_ranges.dropped;
        self.facts.ranges = self.ranges.into_list();
        self.facts.xe.ranges = self.xe_ranges.into_list();
        self.facts
    }

    /// The phase that a stream is in.
    pub fn phase(&self, stream: Stream) -> Option<Phase> {
        self.streams.get(stream as usize).and_then(|s| s.phase)
    }

    fn state(&mut self, stream: Stream) -> &mut StreamState {
        let [out, err, mixed] = &mut self.streams;
        match stream {
            Stream::Stdout => out,
            Stream::Stderr => err,
            Stream::Mixed => mixed,
        }
    }

    /// Second lines and table rows. True = the line is done.
    fn continues(&mut self, stream: Stream, line: &[u8]) -> bool {
        if let Some(number) = self.state(stream).abort.take() {
            let file = messages::source_file(line);
            let place = format!("{}:{number}", file.as_deref().unwrap_or("?"));
            keep(&mut self.facts.aborts, place, MAX_DISTINCT, &mut self.facts.dropped);
            return file.is_some();
        }
        if !self.state(stream).times {
            return false;
        }
        if let Some((name, row)) = ioctl::time_row(line) {
            self.add_times(name, row);
            return true;
        }
        if line.trim_ascii_start().starts_with(b"Request  Total time(ns)") {
            return true;
        }
        self.state(stream).times = false;
        false
    }

    /// Parses what stands at the cursor. `Message` implies that the cursor moved.
    fn message(&mut self, stream: Stream, c: &mut Cursor) -> Seen {
        let phase = self.phase(stream);
        let facts = &mut self.facts;
        let start = c.rest();
        match start.first().copied().unwrap_or(0) {
            b'b' | b'u' if c.starts(b"bind BO-") || c.starts(b"unbind BO-") => {
                let parsed = bind::parse(c);
                whole(parsed, |line| self.add_bind(line, phase))
            }
            b'v' if xe::looks_like_vm_line(start) => {
                let parsed = xe::vm_line(c);
                whole(parsed, |line| self.add_vm_line(line, phase))
            }
            b'-' if c.maybe(b"-> ") => match xe::call_line(c) {
                Some(line) => {
                    self.add_call_line(line);
                    Seen::Message
                }
                None => Seen::Foreign,
            },
            b'-' if c.maybe(b"--- Ioctls statistics ---") => {
                self.state(stream).times = true;
                Seen::Message
            }
            b'P' if c.starts(b"Private Memory Per Dispatch ") => whole(memory::per_dispatch(c), |value| {
                keep_all(&mut facts.per_dispatch, value, MAX_ROLES, &mut facts.dropped);
            }),
            b'p' if c.starts(b"perHwThread") => whole(memory::thread_memory(c), |value| {
                if value.kind == ThreadMemoryKind::Private {
                    keep(&mut facts.per_thread_private, value.per_thread, MAX_DISTINCT, &mut facts.dropped);
                }
                keep(&mut facts.thread_memory, value, MAX_DISTINCT, &mut facts.dropped);
            }),
            b'p' if c.starts(b"prefetch") => match ioctl::prefetch(c) {
                Some(Some(true)) => bump(&mut facts.prefetches.ok),
                Some(Some(false)) => bump(&mut facts.prefetches.failed),
                Some(None) => bump(&mut facts.other_known),
                None => Seen::Torn,
            },
            b'c' if c.maybe(b"computeUnits for each thread: ") => whole(c.u64(), |n| {
                facts.compute_units.get_or_insert(n);
            }),
            b'c' if c.maybe(b"createDrmContext VM=0x") => whole(c.hex(), |_| facts.xe.contexts += 1),
            b'g' if c.maybe(b"global memory size: ") => whole(c.u64(), |n| {
                facts.global_memory.get_or_insert(n);
            }),
            b'e' if c.maybe(b"error: bind") || c.maybe(b"error: unbind") => bump(&mut facts.xe.error_lines),
            b'E' if c.starts(b"EXEC ofs=") => rest_of_line(c, &mut facts.xe.other_known),
            b'r' if c.starts(b"r=0x") => rest_of_line(c, &mut facts.xe.other_known),
            b's' if c.starts(b"show bind: (") => rest_of_line(c, &mut facts.xe.other_known),
            b'N' if c.starts(b"Non-default value of debug variable: ") => {
                whole(messages::key(c), |(name, value)| {
                    if facts.accepted_keys.len() < MAX_DISTINCT {
                        facts.accepted_keys.insert(text(name), text(value));
                    } else {
                        facts.dropped += 1;
                    }
                })
            }
            b'S' if c.starts(b"Segmentation fault from GPU at 0x") => {
                whole(messages::gpu_fault(c), |fault| {
                    facts.gpu_segfault = true;
                    keep(&mut facts.gpu_faults, fault, MAX_DISTINCT, &mut facts.dropped);
                })
            }
            b'A' if c.starts(b"Abort was called at ") => {
                let parsed = messages::abort(c);
                whole(parsed, |line| self.state(stream).abort = Some(line))
            }
            b'i' if c.starts(b"ioctl(") => match ioctl::failed(c) {
                Some((name, errno)) => {
                    *facts.failed_ioctls.entry(text(name)).or_default().entry(errno).or_default() += 1;
                    Seen::Message
                }
                // Also how strace writes a call: not ours.
                None => Seen::Foreign,
            },
            b'I' if c.starts(b"IOCTL ") => match ioctl::entry(c) {
                Some(entry) => {
                    add_entry(facts, entry);
                    Seen::Message
                }
                None => Seen::Torn,
            },
            b'D' if c.starts(b"DRM_IOCTL_I915_GETPARAM: param: ") => {
                whole(ioctl::getparam(c), |(name, value)| {
                    if let Some(value) = value {
                        if facts.params.len() < MAX_DISTINCT {
                            facts.params.insert(text(name), value);
                        } else {
                            facts.dropped += 1;
                        }
                    }
                })
            }
            b'D' if c.starts(b"DRM_IOCTL_XE_GEM_CREATE has returned") => self.object(c),
            b'G' if c.starts(b"GEM_CREATE_EXT") => self.object(c),
            b'P' if c.starts(ioctl::CREATE_XE) || c.starts(ioctl::CREATE_I915) => self.object(c),
            b'C' if c.starts(b"Created Graphics Allocation of type ") => {
                c.until(b"type ");
                let kind = c.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
                count(&mut facts.allocations, kind, MAX_DISTINCT, &mut facts.dropped);
                Seen::Message
            }
            b'C' if c.starts(b"Created new BO with") || c.starts(b"Created BO-") => self.object(c),
            b'C' if c.starts(b"Calling gem close on handle: BO-") => self.object(c),
            b'S' if c.starts(b"Skipped closing BO-") => self.object(c),
            b'T' if c.starts(b"ThreadID: ") => whole(memory::allocation(c), |a| {
                let role = RangeRole { start: a.start, size: a.size, kind: text(a.kind) };
                keep_all(&mut facts.roles, role, MAX_ROLES, &mut facts.dropped);
            }),
            b'M' if c.starts(b"Memory type: ") => whole(memory::region(c), |region| {
                keep(&mut facts.memory_regions, region, MAX_DISTINCT, &mut facts.dropped);
            }),
            b'=' if c.starts(crate::model::repro::PHASE_MARKER.as_bytes()) => {
                let parsed = messages::phase(c);
                whole(parsed, |phase| self.state(stream).phase = Some(phase))
            }
            _ => self.plain_message(c),
        }
    }

    fn plain_message(&mut self, c: &mut Cursor) -> Seen {
        let facts = &mut self.facts;
        let start = c.rest();
        if messages::KEPT.iter().any(|k| start.starts_with(k)) {
            if messages::is_hang(start) {
                facts.hang_messages += 1;
            }
            let kept = c.take_while(|_| true);
            count(&mut facts.messages, kept, 256, &mut facts.dropped);
            return Seen::Message;
        }
        if messages::COUNTED.iter().any(|k| start.starts_with(k)) {
            return rest_of_line(c, &mut facts.other_known);
        }
        Seen::Foreign
    }

    fn object(&mut self, c: &mut Cursor) -> Seen {
        let counts = &mut self.facts.objects;
        whole(ioctl::object(c), |object| match object {
            ioctl::Object::Performing => self.facts.other_known += 1,
            ioctl::Object::Created { ok: true } => counts.created += 1,
            ioctl::Object::Created { ok: false } => counts.create_failed += 1,
            ioctl::Object::Userptr => counts.userptr += 1,
            ioctl::Object::Imported => counts.imported += 1,
            ioctl::Object::Closed => counts.closed += 1,
            ioctl::Object::CloseSkipped => counts.close_skipped += 1,
        })
    }

    fn add_bind(&mut self, line: bind::BindLine, phase: Option<Phase>) {
        let facts = &mut self.facts;
        match facts.bind_forms.get_mut(line.form.name()) {
            Some(n) => *n += 1,
            None => _ = facts.bind_forms.insert(line.form.name().to_owned(), 1),
        }
        if let Some(tile) = line.tile
            && !facts.tiles.contains(&tile)
            && facts.tiles.len() < MAX_DISTINCT
        {
            facts.tiles.insert(tile);
        }
        if line.errno != 0 {
            let failures = if line.bind { &mut facts.bind_failures } else { &mut facts.unbind_failures };
            *failures.entry(line.errno).or_default() += 1;
        }
        let event = BindEvent { bind: line.bind, errno: line.errno, phase };
        self.ranges.add((0, line.vm), line.start, line.size, event);
    }

    fn add_vm_line(&mut self, line: xe::VmLine, phase: Option<Phase>) {
        for name in line.operations.into_iter().flatten() {
            let operations = &mut self.facts.xe.operations;
            let key = text(name);
            if operations.len() >= MAX_DISTINCT && !operations.contains_key(&key) {
                self.facts.dropped += 1;
                continue;
            }
            let outcome: &mut Outcomes = operations.entry(key).or_default();
            match line.errno {
                Some(0) => outcome.ok += 1,
                Some(_) => outcome.failed += 1,
                None => outcome.not_said += 1,
            }
            if let (true, Some(errno), Some(bind)) = (line.binds, line.errno, xe::effect(name)) {
                self.xe_ranges.add((0, line.vm), line.start, line.size, BindEvent { bind, errno, phase });
            }
        }
    }

    fn add_call_line(&mut self, line: xe::CallLine) {
        let xe = &mut self.facts.xe;
        match line {
            xe::CallLine::Userptr { ok: true } => xe.userptr.ok += 1,
            xe::CallLine::Userptr { ok: false } => xe.userptr.failed += 1,
            xe::CallLine::ResetStats { value: Some(1..) } => xe.banned_queues += 1,
            xe::CallLine::ResetStats { .. } | xe::CallLine::Other => xe.other_known += 1,
        }
    }

    fn add_times(&mut self, name: &[u8], row: KmdTime) {
        let key = text(name);
        if self.facts.kmd_times.len() >= MAX_DISTINCT && !self.facts.kmd_times.contains_key(&key) {
            self.facts.dropped += 1;
            return;
        }
        let sum = self.facts.kmd_times.entry(key).or_insert(KmdTime { count: 0, total_ns: 0, ..row });
        sum.count = sum.count.saturating_add(row.count);
        sum.total_ns = sum.total_ns.saturating_add(row.total_ns);
        sum.min_ns = sum.min_ns.min(row.min_ns);
        sum.max_ns = sum.max_ns.max(row.max_ns);
    }
}

fn add_entry(facts: &mut NeoFacts, entry: ioctl::Entry) {
    let key = text(entry.name);
    if facts.ioctls.len() >= MAX_DISTINCT && !facts.ioctls.contains_key(&key) {
        facts.dropped += 1;
        return;
    }
    let calls: &mut CallCount = facts.ioctls.entry(key).or_default();
    match entry.errno {
        None => calls.calls += 1,
        Some(0) => {}
        Some(errno) => *calls.errors.entry(errno_name(errno)).or_default() += 1,
    }
}

fn bump(counter: &mut u64) -> Seen {
    *counter += 1;
    Seen::Message
}

fn rest_of_line(c: &mut Cursor, counter: &mut u64) -> Seen {
    c.take_while(|_| true);
    bump(counter)
}

/// Keeps a value once.
fn keep<T: PartialEq>(list: &mut Vec<T>, value: T, limit: usize, dropped: &mut u64) {
    if !list.contains(&value) {
        keep_all(list, value, limit, dropped);
    }
}

fn keep_all<T>(list: &mut Vec<T>, value: T, limit: usize, dropped: &mut u64) {
    if list.len() < limit {
        list.push(value);
    } else {
        *dropped += 1;
    }
}

/// A parser that takes all its lines from one stream.
#[derive(Debug, Default)]
pub struct OneStream {
    pub parser: Parser,
    pub stream: Stream,
}

impl LineSink for OneStream {
    fn line(&mut self, line: &[u8]) {
        self.parser.line(self.stream, line);
    }

    fn cut(&mut self) {
        self.parser.cut();
    }
}

/// Facts of one log in memory.
pub fn parse(bytes: &[u8], stream: Stream) -> NeoFacts {
    let mut sink = OneStream { parser: Parser::default(), stream };
    lines::feed_all(bytes, &mut sink);
    sink.parser.finish()
}
