//! The objects that clients hold: files, buffer objects, handles.

use std::collections::BTreeMap;

use super::syncobj::Syncobj;

/// A buffer object, unique for the device's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BoId(pub u64);

/// A VM, unique for the device's lifetime (the client's ids are per file and reused).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VmKey(pub u64);

/// An exec queue, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueKey(pub u64);

#[derive(Debug)]
pub struct Bo {
    /// Bytes, page aligned.
    pub size: u64,
    /// Offset in the arena, from the first map or bind on: which of the two it is decides what memory is given.
    pub arena: Option<u64>,
    /// Bit mask of memory region instances.
    pub placement: u32,
    pub caching: u16,
    /// The only VM it may be bound in, if it was created so.
    pub vm: Option<VmKey>,
    /// GEM handles that refer to it.
    pub handles: u32,
    /// Bound pieces, over all VMs.
    pub bound: u64,
    /// Whether a client asked for its mmap offset: if not, nobody can have it mapped.
    pub mappable: bool,
}

/// `DRM_XE` region instances of the profiles: 0 = system memory, 1 = VRAM.
pub const REGION_VRAM: u32 = 1 << 1;

impl Bo {
    pub fn in_vram(&self) -> bool {
        self.placement & REGION_VRAM != 0
    }

    /// No other placement is allowed: it must be in VRAM while it is bound.
    pub fn only_vram(&self) -> bool {
        self.placement == REGION_VRAM
    }
}

/// Small ids from 1, lowest free first, as the kernel's idr and xarray give them.
#[derive(Debug)]
pub struct Ids<T> {
    map: BTreeMap<u32, T>,
    lowest_free: u32,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Ids { map: BTreeMap::new(), lowest_free: 1 }
    }
}

impl<T> Ids<T> {
    pub fn insert(&mut self, value: T) -> u32 {
        let id = self.lowest_free;
        self.map.insert(id, value);
        let mut free = id;
        while self.map.contains_key(&free) {
            free = free.wrapping_add(1);
        }
        self.lowest_free = free;
        id
    }

    pub fn get(&self, id: u32) -> Option<&T> {
        self.map.get(&id)
    }

    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.map.get_mut(&id)
    }

    pub fn remove(&mut self, id: u32) -> Option<T> {
        let value = self.map.remove(&id)?;
        self.lowest_free = self.lowest_free.min(id);
        Some(value)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.map.values()
    }
}

/// One open file description.
#[derive(Debug)]
pub struct File {
    pub handles: Ids<BoId>,
    pub vms: Ids<VmKey>,
    pub queues: Ids<QueueKey>,
    pub syncobjs: Ids<Syncobj>,
}

impl File {
    pub fn new() -> File {
        File {
            handles: Ids::default(),
            vms: Ids::default(),
            queues: Ids::default(),
            syncobjs: Ids::default(),
        }
    }
}
