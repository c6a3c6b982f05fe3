//! GPU memory as an executing thread sees it: the queue's VM, with the translations it used last at hand.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::user::{Fetch, Place, Recent, UserPages};
use crate::arena::Arena;
use crate::client::ProcessId;
use crate::device::vm::{Backing, VA_MASK, Vm};
use crate::eu::{self, Access, Fault};

/// What all views of a dispatch share.
pub(super) struct Space<'a> {
    pub vm: &'a Vm,
    pub arena: &'a Arena,
    pub pages: UserPages,
    /// What the views that are done did not find.
    pub tally: Mutex<Tally>,
}

/// Bytes read and written with nothing behind them, by the range they fell in: its address and length as last bound,
/// or zeros where nothing ever was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(pub BTreeMap<(u64, u64), Missed>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Missed {
    pub read: u64,
    pub written: u64,
    /// Where the first of them was.
    pub first: u64,
}

impl Tally {
    fn add(&mut self, range: (u64, u64), missed: Missed) {
        let sum = self.0.entry(range).or_insert(Missed { first: missed.first, ..Missed::default() });
        sum.read += missed.read;
        sum.written += missed.written;
        sum.first = sum.first.min(missed.first);
    }
}

#[derive(Clone, Copy, Debug)]
enum Behind {
    /// Offset in the arena of the range's start.
    Arena(u64),
    /// Client address of the range's start.
    User(ProcessId, u64),
    Zero,
    Nothing,
}

/// Addresses `[start, end)` and what lies behind them.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    behind: Behind,
    readonly: bool,
}

const NONE: Range = Range { start: 0, end: 0, behind: Behind::Nothing, readonly: false };
const KEPT: usize = 8;

pub(super) struct View<'a, F: Fetch> {
    space: &'a Space<'a>,
    fetch: F,
    recent: Recent,
    /// The translation used last comes first.
    ranges: [Range; KEPT],
    tally: Tally,
    /// The known range that was missed last.
    lost: (u64, u64),
}

impl<'a, F: Fetch> View<'a, F> {
    pub fn new(space: &'a Space<'a>, fetch: F) -> Self {
        let (tally, recent) = (Tally::default(), Recent::default());
        View { space, fetch, recent, ranges: [NONE; KEPT], tally, lost: (0, 0) }
    }

    /// What was not found so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Goes back to what [`Self::tally`] gave before.
    pub fn set_tally(&mut self, tally: Tally) {
        self.tally = tally;
    }

    #[inline]
    fn locate(&mut self, addr: u64) -> Range {
        let holds = |r: &Range| addr.wrapping_sub(r.start) < r.end - r.start;
        let [first, ..] = &self.ranges;
        if holds(first) {
            return *first;
        }
        match self.ranges.iter().position(holds) {
            Some(found) => self.ranges.get_mut(..=found).unwrap_or_default().rotate_right(1),
            None => {
                self.ranges.rotate_right(1);
                self.ranges[0] = self.translate(addr);
            }
        }
        self.ranges[0]
    }

    fn translate(&self, addr: u64) -> Range {
        match self.space.vm.lookup_range(addr) {
            Some((start, len, binding)) => {
                let behind = match binding.back {
                    Backing::Bo { arena, .. } => Behind::Arena(arena),
                    Backing::User { process, addr } => Behind::User(process, addr),
                    Backing::Null => Behind::Zero,
                };
                Range { start, end: start + len, behind, readonly: binding.readonly }
            }
            None => {
                let end = addr.saturating_add(self.space.vm.gap(addr)).min(VA_MASK + 1);
                Range { start: addr, end, ..NONE }
            }
        }
    }

    #[cold]
    fn miss(&mut self, addr: u64, bytes: u64, write: bool) -> Result<Access, Fault> {
        let (start, len) = self.lost;
        if addr.wrapping_sub(start) >= len {
            self.lost = self.space.vm.known(addr).map_or((0, 0), |k| (k.range.addr, k.range.len));
        }
        let (read, written) = if write { (0, bytes) } else { (bytes, 0) };
        self.tally.add(self.lost, Missed { read, written, first: addr });
        if self.space.vm.scratch { Ok(Access { missed: bytes }) } else { Err(Fault { addr, write }) }
    }

    /// Calls `part` for each piece of `len` bytes at `addr` that lies in one range. False from it: nothing there.
    #[inline]
    fn each(
        &mut self,
        addr: u64,
        len: usize,
        write: bool,
        mut part: impl FnMut(&mut Self, Range, u64, std::ops::Range<usize>) -> bool,
    ) -> Result<Access, Fault> {
        let (mut done, mut missed) = (0usize, 0);
        while done < len {
            let at = addr.wrapping_add(done as u64) & VA_MASK;
            let range = self.locate(at);
            let n = (range.end - at).min((len - done) as u64) as usize;
            if !part(self, range, at - range.start, done..done + n) {
                missed += self.miss(at, n as u64, write)?.missed;
            }
            done += n;
        }
        Ok(Access { missed })
    }
}

/// Where an access at `offset` of a user range goes.
fn place(range: Range, process: ProcessId, cpu: u64, offset: u64) -> Place {
    Place { process, addr: cpu + offset, window: (cpu, cpu + (range.end - range.start)) }
}

impl<F: Fetch> eu::GpuMemory for View<'_, F> {
    #[inline]
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<Access, Fault> {
        let len = buf.len();
        self.each(addr, len, false, |view, range, offset, part| {
            let Some(buf) = buf.get_mut(part) else { return false };
            let found = match range.behind {
                Behind::Arena(start) => view.space.arena.read(start + offset, buf),
                Behind::User(process, cpu) => view.space.pages.read(
                    &mut view.recent,
                    &mut view.fetch,
                    place(range, process, cpu, offset),
                    buf,
                ),
                Behind::Zero => {
                    buf.fill(0);
                    true
                }
                Behind::Nothing => false,
            };
            if !found {
                buf.fill(0);
            }
            found
        })
    }

    #[inline]
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<Access, Fault> {
        self.each(addr, data.len(), true, |view, range, offset, part| {
            let Some(data) = data.get(part) else { return false };
            match range.behind {
                _ if range.readonly => false,
                Behind::Arena(start) => view.space.arena.write(start + offset, data),
                Behind::User(process, cpu) => view.space.pages.write(
                    &mut view.recent,
                    &mut view.fetch,
                    place(range, process, cpu, offset),
                    data,
                ),
                Behind::Zero => true,
                Behind::Nothing => false,
            }
        })
    }

    fn atomic(
        &mut self,
        addr: u64,
        size: usize,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Result<(u64, Access), Fault> {
        let mut old = 0;
        let access = self.each(addr, size, true, |view, range, offset, _| {
            let found = match range.behind {
                _ if range.readonly => None,
                Behind::Arena(start) => view.space.arena.update(start + offset, size, update),
                Behind::User(process, cpu) => view.space.pages.update(
                    &mut view.recent,
                    &mut view.fetch,
                    place(range, process, cpu, offset),
                    size,
                    update,
                ),
                Behind::Zero => Some(0),
                Behind::Nothing => None,
            };
            old = found.unwrap_or(0);
            found.is_some()
        })?;
        Ok((old, access))
    }
}

impl<F: Fetch> Drop for View<'_, F> {
    fn drop(&mut self) {
        let mut sum = self.space.tally.lock().unwrap_or_else(PoisonError::into_inner);
        for (range, missed) in std::mem::take(&mut self.tally.0) {
            sum.add(range, missed);
        }
    }
}
