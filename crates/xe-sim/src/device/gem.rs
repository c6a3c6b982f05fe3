//! Buffer objects: GEM_CREATE, GEM_MMAP_OFFSET, GEM_CLOSE, memory accounting.
//!
//! xe evicts VRAM objects to system memory under pressure. The model keeps one kind of memory and counts: objects may
//! be created up to VRAM plus system memory (beyond: ENOMEM), but what is bound at one time and may live in VRAM only
//! must fit VRAM (VM_BIND: ENOMEM).

use super::objects::{Bo, BoId, REGION_VRAM};
use super::{Device, EINVAL, ENOENT, ENOMEM, require};
use crate::arena::Use;
use crate::client::{Caller, Errno};
use crate::fault::{BindKind, Point};
use crate::profile::Family;
use crate::trace::Event;
use crate::uapi::wire::{Argument, GemClose, GemCreate, MmapOffset};

const PAGE: u64 = 4096;
/// DG2's local memory has no smaller pages (xe: `XE_VRAM_FLAGS_NEED64K`).
pub(super) const PAGE_64K: u64 = 64 << 10;
const FLAG_SCANOUT: u32 = 1 << 1;
const FLAG_NEEDS_VISIBLE_VRAM: u32 = 1 << 2;
const FLAG_NO_COMPRESSION: u32 = 1 << 3;
const FLAGS: u32 = 0b1111;
pub(super) const CACHING_WB: u16 = 1;
const CACHING_WC: u16 = 2;
/// Wait for this much closed memory before asking which of it is still mapped: the question reads the client's maps.
const PARTING_BATCH: u64 = 32 << 20;

/// Bytes in use.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) vram: u64,
    pub(super) system: u64,
    /// Of objects that are bound and may live in VRAM only.
    pub(super) bound_vram: u64,
}

/// Memory of closed objects that some client may still have mapped.
#[derive(Debug, Default)]
pub(super) struct Parting {
    /// (offset, bytes)
    blocks: Vec<(u64, u64)>,
    /// Closed since it was last asked what is mapped.
    fresh: u64,
    fresh_bytes: u64,
}

impl Device {
    pub(super) fn needs_64k(&self) -> bool {
        self.profile.family == Family::XeHpg
    }

    pub(super) fn gem_create(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut c = GemCreate::load(a);
        if c.extensions() != 0 {
            // Protected content (PXP) is the only extension; the profiles have none.
            return Err(EINVAL);
        }
        require(
            c.pad0() == 0 && c.pad12() == 0 && c.reserved0() == 0 && c.reserved1() == 0 && c.handle() == 0,
        )?;
        let (size, placement, flags, caching) = (c.size(), c.placement(), c.flags(), c.cpu_caching());
        require(placement != 0 && placement & !0b11 == 0 && flags & !FLAGS == 0)?;
        if flags & FLAG_NO_COMPRESSION != 0 && self.profile.family == Family::XeHpg {
            return Err(super::EOPNOTSUPP);
        }
        require(size != 0 && size.is_multiple_of(PAGE))?;
        let vram = placement & REGION_VRAM != 0;
        require(vram || flags & FLAG_NEEDS_VISIBLE_VRAM == 0)?;
        require(caching == CACHING_WB || caching == CACHING_WC)?;
        require(caching == CACHING_WC || (!vram && flags & FLAG_SCANOUT == 0))?;
        require(!vram || !self.needs_64k() || size.is_multiple_of(PAGE_64K))?;
        let vm = match c.vm_id() {
            0 => None,
            id => Some(self.file(caller)?.vms.get(id).copied().ok_or(ENOENT)?),
        };
        self.inject(Point::GemCreate, BindKind::Other)?;
        let limit = self.profile.vram_bytes.saturating_add(self.profile.sysmem_bytes);
        let used = self.usage.vram + self.usage.system;
        let capacity = if placement == 1 { self.profile.sysmem_bytes } else { limit };
        let of_region = if placement == 1 { self.usage.system } else { used };
        if size > capacity || size > limit.saturating_sub(used) || size > capacity.saturating_sub(of_region) {
            return Err(ENOMEM);
        }
        let id = BoId(self.key());
        let bo = Bo { size, arena: None, placement, caching, vm, handles: 1, bound: 0, mappable: false };
        *self.usage_of(&bo) += size;
        self.bos.insert(id, bo);
        let handle = self.file_mut(caller)?.handles.insert(id);
        c.set_handle(handle);
        c.store(a);
        self.trace.emit(Event::GemCreate {
            file: caller.file.0,
            handle,
            bo: id.0,
            size,
            placement,
            vm: c.vm_id(),
            caching,
        });
        Ok(())
    }

    fn usage_of(&mut self, bo: &Bo) -> &mut u64 {
        if bo.in_vram() { &mut self.usage.vram } else { &mut self.usage.system }
    }

    pub(super) fn gem_mmap_offset(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        const FLAG_PCI_BARRIER: u32 = 1;
        let mut m = MmapOffset::load(a);
        require(m.extensions() == 0 && m.reserved0() == 0 && m.reserved1() == 0)?;
        require(m.flags() & !FLAG_PCI_BARRIER == 0)?;
        self.inject(Point::MmapOffset, BindKind::Other)?;
        if m.flags() & FLAG_PCI_BARRIER != 0 {
            // One page that exists for its writes' ordering: nobody reads it back. It is the arena's first block.
            require(m.handle() == 0)?;
            m.set_offset(0);
        } else {
            let id = self.file(caller)?.handles.get(m.handle()).copied().ok_or(ENOENT)?;
            m.set_offset(self.place(id, Use::Client)?);
            if let Some(bo) = self.bos.get_mut(&id) {
                bo.mappable = true;
            }
        }
        m.store(a);
        Ok(())
    }

    /// Where the object's memory is; gives it some at the first call. ENOMEM when the arena is full.
    pub(super) fn place(&mut self, id: BoId, by: Use) -> Result<u64, Errno> {
        let bo = self.bos.get(&id).ok_or(ENOENT)?;
        if let Some(arena) = bo.arena {
            return Ok(arena);
        }
        let size = bo.size;
        self.maybe_release_parting();
        let arena = match self.arena.alloc(size, by) {
            Some(arena) => arena,
            None => {
                self.release_parting();
                self.arena.alloc(size, by).ok_or(ENOMEM)?
            }
        };
        if let Some(bo) = self.bos.get_mut(&id) {
            bo.arena = Some(arena);
        }
        Ok(arena)
    }

    pub(super) fn gem_close(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let close = GemClose::load(a);
        require(close.pad() == 0)?;
        // The kernel answers EINVAL, not ENOENT, for an unknown handle here.
        let id = self.file_mut(caller)?.handles.remove(close.handle()).ok_or(EINVAL)?;
        let still_bound = self.bos.get(&id).is_some_and(|bo| bo.bound > 0);
        self.trace.emit(Event::GemClose {
            file: caller.file.0,
            handle: close.handle(),
            bo: id.0,
            still_bound,
        });
        self.drop_handle(id);
        Ok(())
    }

    pub(super) fn drop_handle(&mut self, id: BoId) {
        if let Some(bo) = self.bos.get_mut(&id) {
            bo.handles = bo.handles.saturating_sub(1);
            self.release_if_unused(id);
        }
    }

    /// Changes the number of bound pieces of objects after a map or unmap.
    pub(super) fn settle_pieces(&mut self, pieces: &[(BoId, i64)]) {
        for (id, change) in pieces {
            let Some(bo) = self.bos.get_mut(id) else { continue };
            let before = bo.bound;
            bo.bound = bo.bound.saturating_add_signed(*change);
            if bo.only_vram() {
                if before == 0 && bo.bound > 0 {
                    self.usage.bound_vram += bo.size;
                } else if before > 0 && bo.bound == 0 {
                    self.usage.bound_vram -= bo.size;
                }
            }
        }
        for (id, change) in pieces {
            if *change < 0 {
                self.release_if_unused(*id);
            }
        }
    }

    fn release_if_unused(&mut self, id: BoId) {
        if self.bos.get(&id).is_none_or(|bo| bo.handles > 0 || bo.bound > 0) {
            return;
        }
        let Some(bo) = self.bos.remove(&id) else { return };
        *self.usage_of(&bo) -= bo.size;
        let Some(arena) = bo.arena else { return };
        if bo.mappable {
            self.parting.blocks.push((arena, bo.size));
            self.parting.fresh_bytes += bo.size;
            self.parting.fresh += 1;
        } else {
            self.arena.free(arena, bo.size, Use::Device);
        }
    }

    fn maybe_release_parting(&mut self) {
        if self.parting.fresh_bytes >= PARTING_BATCH || self.parting.fresh >= 64 {
            self.release_parting();
        }
    }

    /// For a moment when there is nothing else to do.
    pub(super) fn release_fresh_parting(&mut self) {
        if self.parting.fresh > 0 {
            self.release_parting();
        }
    }

    /// Recycles the memory of closed objects that no client has mapped any more.
    fn release_parting(&mut self) {
        if self.parting.blocks.is_empty() {
            return;
        }
        let mapped = self.mem.arena_mappings().unwrap_or_default();
        let overlaps = |offset: u64, size: u64| {
            mapped.iter().any(|(at, len)| *at < offset + size && offset < at.saturating_add(*len))
        };
        let blocks = std::mem::take(&mut self.parting).blocks;
        for (offset, size) in blocks {
            if overlaps(offset, size) {
                self.parting.blocks.push((offset, size));
            } else {
                self.arena.free(offset, size, Use::Client);
            }
        }
    }
}
