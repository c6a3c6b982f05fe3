//! Sizes of private and scratch memory, allocation log, memory regions.
//!
//! Sources: compute-runtime, module_imp.cpp (per dispatch, from 25.05), kernel_helpers.cpp (sizes, from 22.49),
//! logger_neo_only.h and the allocation logs (three layouts: up to 24.35, 24.39, 25.48), memory_info.cpp.

use crate::logs::scan::Cursor;
use crate::logs::to_48_bits;
use crate::model::facts::{MemoryRegion, PerDispatch, ThreadMemory, ThreadMemoryKind};

/// `Private Memory Per Dispatch %d for modulePrivateMemorySize %zu subDevices %zu globalMemorySize %lu`.
pub(super) fn per_dispatch(c: &mut Cursor) -> Option<PerDispatch> {
    c.literal(b"Private Memory Per Dispatch ")?;
    let flag = c.u64()? != 0;
    c.literal(b" for modulePrivateMemorySize ")?;
    let module_private = c.u64()?;
    c.literal(b" subDevices ")?;
    let sub_devices = c.u64()?;
    c.literal(b" globalMemorySize ")?;
    let global_memory = c.u64()?;
    Some(PerDispatch { flag, module_private, sub_devices, global_memory })
}

/// `perHwThreadPrivateMemorySize: %u\t totalPrivateMemorySize: %lu` and its two sisters.
pub(super) fn thread_memory(c: &mut Cursor) -> Option<ThreadMemory> {
    c.literal(b"perHwThread")?;
    let (kind, total): (_, &[u8]) = if c.maybe(b"PrivateMemorySize: ") {
        (ThreadMemoryKind::Private, b"totalPrivateMemorySize: ")
    } else if c.maybe(b"ScratchSize: ") {
        (ThreadMemoryKind::Scratch, b"totalScratchSize: ")
    } else {
        c.literal(b"PrivateScratchSize: ")?;
        (ThreadMemoryKind::PrivateScratch, b"totalPrivateScratchSize: ")
    };
    let per_thread = c.u64()?;
    c.spaces();
    c.literal(total)?;
    Some(ThreadMemory { kind, per_thread, total: c.u64()? })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allocation<'a> {
    pub kind: &'a [u8],
    pub start: u64,
    pub size: u64,
}

/// The detail line. Its end address is *inclusive*, unlike that of the bind lines. Consumes the rest of the line.
pub(super) fn allocation<'a>(c: &mut Cursor<'a>) -> Option<Allocation<'a>> {
    c.literal(b"ThreadID: ")?;
    c.u64()?;
    let kind = if c.maybe(b" AllocationType: ") {
        c.until(b" MemoryPool: ")?
    } else {
        c.literal(b" Type: ")?;
        c.until(b" Pool: ")?
    };
    // The pool's name and, in newer layouts, the CPU address come before this.
    if c.until(b" GPU VA: 0x").is_none() {
        c.until(b" GPU address: 0x")?;
    }
    let start = c.hex()?;
    c.literal(b" - 0x")?;
    let last = c.hex()?;
    let size = last.checked_sub(start)?.checked_add(1)?;
    c.take_while(|_| true);
    Some(Allocation { kind, start: to_48_bits(start), size })
}

/// `Memory type: %d, memory instance: %d, region size: %d`.
pub(super) fn region(c: &mut Cursor) -> Option<MemoryRegion> {
    c.literal(b"Memory type: ")?;
    let memory_type = c.u32()?;
    c.literal(b", memory instance: ")?;
    let instance = c.u32()?;
    c.literal(b", region size: ")?;
    Some(MemoryRegion { memory_type, instance, size: c.u64()? })
}
