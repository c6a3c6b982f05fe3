//! strace's output: full traces (also with `-f`, `-t…`, `-r`, `-T`, `-y`, `-k`, `-o`) and tables of `-c`.
//!
//! Requests are counted by what they are, not by what they are called: see [`names`].

mod full;
mod names;
mod summary;

use std::collections::{BTreeMap, HashMap};

use crate::model::facts::{CallCount, StraceFacts};

use super::lines::{self, LineSink};
use super::{count, text};
use full::{Line, Outcome};
use names::{Context, Raw};

const MAX_DISTINCT: usize = 4096;
/// Tasks with a call that has not returned yet.
const MAX_PENDING: usize = 1 << 16;

/// One request as printed, before names are settled: that needs the whole trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Request {
    Printed(Box<[u8]>),
    Raw { kind: u64, nr: u64, size: u64 },
}

#[derive(Debug, Default)]
struct Counts {
    calls: u64,
    /// By number would need a table: strace prints names, in English in every locale.
    errors: BTreeMap<String, u64>,
    injected: BTreeMap<String, u64>,
}

#[derive(Debug)]
enum Pending {
    Ioctl(Request),
    Other(Box<[u8]>),
}

#[derive(Debug, Default)]
pub struct Parser {
    facts: StraceFacts,
    requests: HashMap<Request, Counts>,
    first_failed: Option<(Request, String)>,
    pending: HashMap<u64, Pending>,
    /// The line before, if it may be the header of a table.
    header: Option<Box<[u8]>>,
    table: Option<summary::Columns>,
}

impl Parser {
    fn table_line(&mut self, line: &[u8]) -> bool {
        if summary::is_dashes(line) {
            let found = self.header.take().and_then(|header| summary::columns(&header, line));
            if found.is_some() {
                self.table = found;
            } else if self.table.is_none() {
                self.facts.not_understood += 1;
            }
            return true;
        }
        if line.len() < 512 && memchr::memmem::find(line, b"syscall").is_some() && !line.contains(&b'(') {
            self.header = Some(line.into());
            return true;
        }
        if let Some(columns) = &self.table {
            if line.trim_ascii().is_empty() {
                return true;
            }
            if let Some((name, row)) = summary::row(columns, line) {
                if name == "total" {
                    self.facts.summary_total = Some(row);
                    self.table = None;
                } else if self.facts.summary.len() < MAX_DISTINCT {
                    self.facts.summary.insert(name, row);
                } else {
                    self.facts.dropped += 1;
                }
                return true;
            }
        }
        false
    }

    fn full_line(&mut self, line: &[u8]) {
        let (task, body) = full::split_task(line);
        match full::parse(body) {
            Line::Ioctl { request, outcome } => self.add_ioctl(request_of(request), &outcome),
            Line::IoctlStart { request } => self.hold(task, Pending::Ioctl(request_of(request))),
            Line::Other { name, outcome } => self.add_other(name, &outcome),
            Line::OtherStart { name } => self.hold(task, Pending::Other(name.into())),
            Line::Resumed { outcome } => match self.pending.remove(&task) {
                Some(Pending::Ioctl(request)) => self.add_ioctl(request, &outcome),
                Some(Pending::Other(name)) => self.add_other(&name, &outcome),
                None => self.facts.not_understood += 1,
            },
            Line::Signal(name) => count(&mut self.facts.signals, name, 256, &mut self.facts.dropped),
            Line::End(how) => count(&mut self.facts.ends, how, 256, &mut self.facts.dropped),
            Line::Frame => self.facts.frames += 1,
            Line::Note => {}
            Line::Unknown => self.facts.not_understood += 1,
        }
    }

    fn hold(&mut self, task: u64, pending: Pending) {
        if self.pending.len() >= MAX_PENDING && !self.pending.contains_key(&task) {
            self.facts.dropped += 1;
            return;
        }
        // A task has one call at a time: an older one never returned (the task was killed, or lines are missing).
        if self.pending.insert(task, pending).is_some() {
            self.facts.unfinished += 1;
        }
    }

    fn add_ioctl(&mut self, request: Request, outcome: &Outcome) {
        if outcome.injected {
            self.facts.injected += 1;
        }
        if let (Some(error), false, None) = (outcome.error, outcome.injected, &self.first_failed) {
            self.first_failed = Some((request.clone(), text(error)));
        }
        let room = self.requests.len() < MAX_DISTINCT;
        let counts = match self.requests.get_mut(&request) {
            Some(counts) => counts,
            None if room => self.requests.entry(request).or_default(),
            None => {
                self.facts.dropped += 1;
                return;
            }
        };
        counts.calls += 1;
        if let Some(error) = outcome.error {
            let errors = if outcome.injected { &mut counts.injected } else { &mut counts.errors };
            count(errors, error, 256, &mut self.facts.dropped);
        }
    }

    fn add_other(&mut self, name: &[u8], outcome: &Outcome) {
        self.facts.other_calls += 1;
        if outcome.injected {
            self.facts.injected += 1;
        }
        let Some(error) = outcome.error else { return };
        let errors =
            if outcome.injected { &mut self.facts.injected_errors } else { &mut self.facts.other_errors };
        let name = text(name);
        if errors.len() >= MAX_DISTINCT && !errors.contains_key(&name) {
            self.facts.dropped += 1;
            return;
        }
        count(errors.entry(name).or_default(), error, 256, &mut self.facts.dropped);
    }

    /// What the printed names say of the drivers behind the descriptors.
    fn context(&self) -> Context {
        let mut context = Context::default();
        let mut xe = false;
        for request in self.requests.keys() {
            match request {
                Request::Raw { kind, nr, size } => {
                    xe |= names::is_xe(Raw { kind: *kind, nr: *nr, size: *size });
                }
                Request::Printed(name) => {
                    let name = String::from_utf8_lossy(name);
                    let collides = names::is_collision(&name);
                    xe |= name.starts_with("DRM_IOCTL_XE_");
                    context.i915 |= name.starts_with("DRM_IOCTL_I915_");
                    context.virtgpu |= !collides && name.contains("VIRTGPU");
                    context.etnaviv |= !collides && name.contains("ETNAVIV");
                    context.v3d |= !collides && name.contains("V3D");
                }
            }
        }
        context.i915 &= !xe;
        context
    }

    pub fn finish(mut self) -> StraceFacts {
        let context = self.context();
        let first = self.first_failed.take();
        self.facts.first_failed =
            first.map(|(request, error)| format!("{} {error}", settle(&request, context).0));
        let mut requests: Vec<_> = std::mem::take(&mut self.requests).into_iter().collect();
        requests.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (request, counts) in requests {
            let (name, printed) = settle(&request, context);
            if let Some(printed) = printed {
                *self.facts.relabelled.entry(format!("{name} printed as {printed}")).or_default() +=
                    counts.calls;
            }
            if !counts.injected.is_empty() {
                add(self.facts.injected_errors.entry(name.clone()).or_default(), counts.injected);
            }
            let sum: &mut CallCount = self.facts.ioctls.entry(name).or_default();
            sum.calls += counts.calls;
            add(&mut sum.errors, counts.errors);
        }
        self.facts.unfinished += self.pending.len() as u64;
        self.facts
    }
}

fn add(to: &mut BTreeMap<String, u64>, from: BTreeMap<String, u64>) {
    for (key, n) in from {
        *to.entry(key).or_default() += n;
    }
}

fn request_of(printed: &[u8]) -> Request {
    match full::raw_request(printed) {
        Some(Raw { kind, nr, size }) => Request::Raw { kind, nr, size },
        None => Request::Printed(printed.into()),
    }
}

/// The name, and what strace printed where that would mislead.
fn settle(request: &Request, context: Context) -> (String, Option<String>) {
    match request {
        Request::Raw { kind, nr, size } => {
            let raw = Raw { kind: *kind, nr: *nr, size: *size };
            let name = names::of_raw(raw, context);
            (name.unwrap_or_else(|| format!("_IOC({kind:#x}, {nr:#x}, {size:#x})")), None)
        }
        Request::Printed(printed) => {
            let printed = text(printed);
            let named = names::of_printed(&printed, context);
            (named.name, named.relabelled.then_some(printed))
        }
    }
}

impl LineSink for Parser {
    fn line(&mut self, line: &[u8]) {
        self.facts.lines += 1;
        if line.is_empty() || self.table_line(line) {
            return;
        }
        self.full_line(line);
    }

    fn cut(&mut self) {
        self.facts.long_lines += 1;
    }
}

/// Facts of one log in memory.
pub fn parse(bytes: &[u8]) -> StraceFacts {
    let mut parser = Parser::default();
    lines::feed_all(bytes, &mut parser);
    parser.finish()
}
