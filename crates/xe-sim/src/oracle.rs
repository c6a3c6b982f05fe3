//! The residency oracle: does everything a dispatch points at still exist?
//!
//! A value in the payload counts as a pointer when it is a canonical address inside a range that is or was bound in
//! the queue's VM. Pointers sit on 8-byte boundaries in practice; 4-byte ones are tried where no aligned pointer
//! overlaps, so that the two halves of neighbours are not read as a third.

use crate::cs::Heaps;
use crate::cs::memory::GpuMemory;
use crate::device::vm::VA_MASK;
use crate::trace::{HistoryEntry, Pointer, PointerRole};

/// Lowest address taken for a pointer: small integers are everywhere in payloads, and drivers never bind there.
const LOWEST: u64 = 0x1_0000;

/// A pointer to a range that was bound and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    pub pointer: u64,
    pub payload_offset: u32,
    pub role: PointerRole,
    pub range_addr: u64,
    pub range_len: u64,
    pub history: Vec<HistoryEntry>,
}

#[derive(Debug, Default)]
pub struct Found {
    pub pointers: Vec<Pointer>,
    pub stale: Vec<Stale>,
}

/// Looks at a dispatch: its payload (inline data, then indirect data), its kernel, its scratch.
pub fn inspect(memory: &GpuMemory<'_>, heaps: &Heaps, kernel: u64, payload: &[u8]) -> Found {
    let mut found = Found::default();
    scan_payload(memory, payload, &mut found);
    if heaps.instruction.is_some() {
        found.check(memory, kernel, 0, PointerRole::Kernel);
    }
    if heaps.scratch_state != 0
        && let Some(base) = heaps.surface
    {
        let state = base.wrapping_add(u64::from(heaps.scratch_state)) & VA_MASK;
        found.check(memory, state, 0, PointerRole::ScratchState);
        // RENDER_SURFACE_STATE: surface base address in dwords 8 and 9.
        let mut address = [0u8; 8];
        if memory.read(state + 32, &mut address).missed == 0 {
            let scratch = u64::from_le_bytes(address);
            if scratch != 0 {
                found.check(memory, scratch & VA_MASK, 0, PointerRole::Scratch);
            }
        }
    }
    found
}

fn scan_payload(memory: &GpuMemory<'_>, payload: &[u8], found: &mut Found) {
    let value_at = |offset: usize| -> Option<u64> {
        let bytes = payload.get(offset..offset + 8)?;
        canonical(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut taken = vec![false; payload.len().div_ceil(8)];
    for (slot, is_pointer) in taken.iter_mut().enumerate() {
        if let Some(value) = value_at(slot * 8) {
            *is_pointer = found.check(memory, value, (slot * 8) as u32, PointerRole::Payload);
        }
    }
    let free = |slot: usize| taken.get(slot).is_some_and(|t| !t);
    for slot in 0..taken.len() {
        if free(slot)
            && free(slot + 1)
            && let Some(value) = value_at(slot * 8 + 4)
        {
            found.check(memory, value, (slot * 8 + 4) as u32, PointerRole::Payload);
        }
    }
}

/// The 48-bit address of a canonical pointer (bits 47..63 all equal, or plainly zero above 47).
fn canonical(value: u64) -> Option<u64> {
    let high = value >> 48;
    let sign = value >> 47 & 1;
    let ok = high == 0 || (high == 0xffff && sign == 1);
    let address = value & VA_MASK;
    (ok && address >= LOWEST).then_some(address)
}

impl Found {
    /// Records `address` if its range is known. Returns whether it is.
    fn check(
        &mut self,
        memory: &GpuMemory<'_>,
        address: u64,
        payload_offset: u32,
        role: PointerRole,
    ) -> bool {
        let Some(known) = memory.vm.known(address) else { return false };
        self.pointers.push(Pointer {
            payload_offset,
            role,
            value: address,
            range_addr: known.range.addr,
            range_len: known.range.len,
            bound: known.bound,
        });
        if !known.bound {
            self.stale.push(Stale {
                pointer: address,
                payload_offset,
                role,
                range_addr: known.range.addr,
                range_len: known.range.len,
                history: known.range.entries.clone(),
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn oracle_canonical_addresses_lose_their_sign_bits() {
        assert_eq!(canonical(0xffff_d556_aaa0_0000), Some(0xd556_aaa0_0000));
        assert_eq!(canonical(0xd556_aaa0_0000), Some(0xd556_aaa0_0000));
        assert_eq!(canonical(0xffff_1556_aaa0_0000), None, "sign bits without the sign");
        assert_eq!(canonical(0x0001_0000_0000_0000), None);
        assert_eq!(canonical(4096), None);
    }
}
