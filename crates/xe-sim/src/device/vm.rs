//! One GPU address space: what is bound where, and what ever was.

use std::collections::HashMap;

use super::interval::{IntervalMap, Piece};
use super::objects::BoId;
use crate::client::{FileId, ProcessId};
use crate::trace::HistoryEntry;

/// GPU addresses have 48 bits; drivers pass them sign-extended in commands and payloads.
pub const VA_MASK: u64 = (1 << 48) - 1;

/// What stands behind a bound range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// An object's memory, by its offset in the arena.
    Bo { bo: BoId, arena: u64 },
    /// Memory of a client process, by CPU address.
    User { process: ProcessId, addr: u64 },
    /// `DRM_XE_VM_BIND_FLAG_NULL`: reads give zeros, writes vanish.
    Null,
}

/// Index of a range's history in its VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeId(u32);

#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub back: Backing,
    pub readonly: bool,
    pub range: RangeId,
}

impl Piece for Binding {
    fn advance(&self, by: u64) -> Self {
        let back = match self.back {
            Backing::Bo { bo, arena } => Backing::Bo { bo, arena: arena + by },
            Backing::User { process, addr } => Backing::User { process, addr: addr + by },
            Backing::Null => Backing::Null,
        };
        Binding { back, ..*self }
    }
}

impl Piece for RangeId {
    fn advance(&self, _by: u64) -> Self {
        *self
    }
}

/// Everything that happened to one (address, length) as the client bound it.
#[derive(Clone, Debug)]
pub struct RangeHistory {
    pub addr: u64,
    pub len: u64,
    pub entries: Vec<HistoryEntry>,
}

#[derive(Debug)]
pub struct Vm {
    pub file: FileId,
    /// The id that the client knows.
    pub id: u32,
    /// `DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE`.
    pub scratch: bool,
    /// `DRM_XE_VM_CREATE_FLAG_LR_MODE`.
    pub long_running: bool,
    /// Exec queues that run in it.
    pub queues: u32,
    live: IntervalMap<Binding>,
    /// The latest range that covered an address, whether or not it is still bound.
    ever: IntervalMap<RangeId>,
    ranges: Vec<RangeHistory>,
    by_place: HashMap<(u64, u64), RangeId>,
}

/// What an address means to the residency oracle.
#[derive(Debug)]
pub struct Known<'a> {
    pub range: &'a RangeHistory,
    pub bound: bool,
}

impl Vm {
    pub fn new(file: FileId, id: u32, scratch: bool, long_running: bool) -> Vm {
        Vm {
            file,
            id,
            scratch,
            long_running,
            queues: 0,
            live: IntervalMap::default(),
            ever: IntervalMap::default(),
            ranges: Vec::new(),
            by_place: HashMap::new(),
        }
    }

    /// Binds `[addr, addr + len)`, replacing what was there. `seq` and `t` are those of the trace event. `pieces` gets
    /// the change in the number of bound pieces of each object touched.
    pub fn map(
        &mut self,
        addr: u64,
        len: u64,
        back: Backing,
        readonly: bool,
        (seq, t): (u64, u64),
        pieces: &mut Vec<(BoId, i64)>,
    ) {
        self.unmap(addr, len, (seq, t), pieces);
        let range = match self.by_place.get(&(addr, len)) {
            Some(range) => *range,
            None => {
                let range = RangeId(u32::try_from(self.ranges.len()).unwrap_or(u32::MAX));
                self.ranges.push(RangeHistory { addr, len, entries: Vec::new() });
                self.by_place.insert((addr, len), range);
                range
            }
        };
        self.note(range, HistoryEntry { seq, t, bound: true });
        self.ever.remove(addr, len, |_| {});
        self.ever.insert(addr, len, range);
        self.live.insert(addr, len, Binding { back, readonly, range });
        if let Backing::Bo { bo, .. } = back {
            pieces.push((bo, 1));
        }
    }

    /// Unbinds everything in `[addr, addr + len)`; ranges that reach over its edges are split.
    pub fn unmap(&mut self, addr: u64, len: u64, (seq, t): (u64, u64), pieces: &mut Vec<(BoId, i64)>) {
        let ranges = &mut self.ranges;
        self.live.remove(addr, len, |cut| {
            if let Some(history) = ranges.get_mut(cut.value.range.0 as usize) {
                // A range that was cut into pieces is unbound once an event, not once a piece.
                if history.entries.last().is_none_or(|e| e.seq != seq) {
                    history.entries.push(HistoryEntry { seq, t, bound: false });
                }
            }
            if let Backing::Bo { bo, .. } = cut.value.back {
                pieces.push((bo, i64::from(cut.left) - 1));
            }
        });
    }

    fn note(&mut self, range: RangeId, entry: HistoryEntry) {
        if let Some(history) = self.ranges.get_mut(range.0 as usize) {
            history.entries.push(entry);
        }
    }

    /// What `addr` (48 bit) is bound to, and how many bytes from there are bound in one piece.
    pub fn lookup(&self, addr: u64) -> Option<(Binding, u64)> {
        let (start, len, binding) = self.live.get(addr)?;
        Some((binding.advance(addr - start), len - (addr - start)))
    }

    /// The whole bound range that holds `addr`: its start, its length, and its binding as of the start.
    pub fn lookup_range(&self, addr: u64) -> Option<(u64, u64, Binding)> {
        self.live.get(addr).map(|(start, len, binding)| (start, len, *binding))
    }

    /// Bytes from `addr` to the next bound address (`u64::MAX` when there is none).
    pub fn gap(&self, addr: u64) -> u64 {
        self.live.next_start(addr).map_or(u64::MAX, |next| next - addr)
    }

    /// The range that `addr` belongs or belonged to.
    pub fn known(&self, addr: u64) -> Option<Known<'_>> {
        let (_, _, range) = self.ever.get(addr)?;
        let range = self.ranges.get(range.0 as usize)?;
        Some(Known { range, bound: self.live.get(addr).is_some() })
    }

    /// The bound ranges of one object: address and length.
    pub fn ranges_of(&self, bo: BoId) -> Vec<(u64, u64)> {
        let of = |b: &Binding| matches!(b.back, Backing::Bo { bo: b, .. } if b == bo);
        self.live.iter().filter(|(_, _, b)| of(b)).map(|(start, len, _)| (start, len)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}
