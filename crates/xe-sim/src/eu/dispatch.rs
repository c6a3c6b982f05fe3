//! What a dispatch is, and what its threads start with.

use super::regs::{LANES, REG, Regs};
use super::thread::{Identity, Thread};

/// Hardware threads of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Dual sub-slices.
    pub dss: u32,
    /// Execution units of each: 16 on DG2.
    pub eus_per_dss: u32,
    /// Threads of an execution unit: 8, or 4 with the large register file.
    pub threads_per_eu: u32,
}

impl Geometry {
    /// Threads of one dual sub-slice.
    pub fn threads_per_dss(&self) -> u32 {
        self.eus_per_dss * self.threads_per_eu
    }
}

/// Local ids that the hardware makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalIds {
    /// Dimensions that get registers: 0 to 3, x first.
    pub emit: u8,
    /// Dimensions from the fastest to the slowest.
    pub order: [u8; 3],
}

/// A dispatch as the COMPUTE_WALKER command and the state before it say. Addresses are GPU virtual addresses.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// First instruction.
    pub kernel_start: u64,
    /// Channels of a thread: 8, 16 or 32.
    pub simd: u8,
    /// Ids of the first group, and behind those of the last one.
    pub group_start: [u32; 3],
    pub group_end: [u32; 3],
    /// Work-items of a group.
    pub local_size: [u32; 3],
    pub threads_per_group: u32,
    /// Channels of a group's last thread; of all others, all run.
    pub last_thread_mask: u32,
    /// `None`: the kernel loads them from its per-thread data.
    pub local_ids: Option<LocalIds>,
    /// 32 bytes that arrive in a register.
    pub inline_data: Option<&'a [u8]>,
    /// Offset of the indirect data from the general state base: r0.0.
    pub indirect_start: u32,
    pub general_base: u64,
    pub surface_base: u64,
    pub bindless_surface_base: u64,
    /// Offsets of the binding table and of the sampler states: r0.4, r0.3.
    pub binding_table: u32,
    pub sampler_state: u32,
    /// CFE_STATE's scratch field, bits 31:10: r0.5.
    pub scratch_field: u32,
    /// Lower bound for the pitch of scratch surfaces, 0 to take the surface state's own.
    pub scratch_per_thread: u32,
    pub slm_bytes: u32,
    pub geometry: Geometry,
}

impl<'a> Dispatch<'a> {
    /// One group of one thread with all its channels, and nothing for it to find.
    pub fn of_one_thread(kernel_start: u64, simd: u8, geometry: Geometry) -> Dispatch<'a> {
        Dispatch {
            kernel_start,
            simd,
            group_start: [0; 3],
            group_end: [1; 3],
            local_size: [simd.into(), 1, 1],
            threads_per_group: 1,
            last_thread_mask: u32::MAX,
            local_ids: None,
            inline_data: None,
            indirect_start: 0,
            general_base: 0,
            surface_base: 0,
            bindless_surface_base: 0,
            binding_table: 0,
            sampler_state: 0,
            scratch_field: 0,
            scratch_per_thread: 0,
            slm_bytes: 0,
            geometry,
        }
    }
}

/// Hands out hardware threads: groups go to the dual sub-slices in turn; within one, its threads in turn, spread
/// over the execution units first. So a dispatch of as many threads as the device has uses each of them once, as
/// if all ran at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spawner {
    geometry: Geometry,
}

impl Spawner {
    pub fn new(geometry: Geometry) -> Self {
        Self { geometry }
    }

    /// Identities for the threads of group `number`.
    pub fn group(&self, number: u64, threads: u32) -> impl Iterator<Item = Identity> + use<> {
        let geometry = self.geometry;
        let slices = u64::from(geometry.dss.max(1));
        let dss = (number % slices) as u32;
        let slots = u64::from(geometry.threads_per_dss().max(1));
        let first = (number / slices).wrapping_mul(threads.into()) % slots;
        (0..threads).map(move |i| identity(geometry, dss, first as u32 + i))
    }
}

/// `slot`: running number of the thread on its dual sub-slice.
fn identity(geometry: Geometry, dss: u32, slot: u32) -> Identity {
    let slot = slot % geometry.threads_per_dss().max(1);
    let eu = slot % geometry.eus_per_dss.max(1);
    let in_eu = slot / geometry.eus_per_dss.max(1);
    let thread = (dss * geometry.eus_per_dss + eu) * 8 + in_eu;
    // sr0.0: thread 2:0, execution unit 5:4 and 7 on, sub-slices above; bits 3 and 6 are no part of the number.
    // The compiler's private-memory addressing squeezes them out, which gives back `thread`.
    let sr0 = thread & 7 | (thread >> 3 & 3) << 4 | (thread >> 5) << 7;
    Identity { thread, sr0 }
}

impl Dispatch<'_> {
    /// Groups in all.
    pub fn groups(&self) -> u64 {
        self.counts().iter().map(|n| u64::from(*n)).product()
    }

    /// Groups, if all lie along x.
    pub fn in_one_row(&self) -> Option<u64> {
        let [x, y, z] = self.counts();
        (y == 1 && z == 1).then_some(x.into())
    }

    pub(super) fn counts(&self) -> [u32; 3] {
        std::array::from_fn(|d| {
            let (start, end) = (self.group_start.get(d), self.group_end.get(d));
            end.copied().unwrap_or(0).saturating_sub(start.copied().unwrap_or(0))
        })
    }

    /// Ids of the `number`-th group, x fastest.
    pub(super) fn group_id(&self, number: u64) -> [u32; 3] {
        let (mut rest, counts) = (number, self.counts());
        std::array::from_fn(|d| {
            let count = u64::from(counts.get(d).copied().unwrap_or(1).max(1));
            let at = (rest % count) as u32;
            rest /= count;
            self.group_start.get(d).copied().unwrap_or(0).wrapping_add(at)
        })
    }

    /// Makes `thread` number `index` of group `group`.
    pub(super) fn start(&self, thread: &mut Thread, id: Identity, group: [u32; 3], index: u32) {
        let simd = u32::from(self.simd.clamp(8, 32));
        let all = u32::MAX >> (32 - simd);
        let mask = if index + 1 == self.threads_per_group { self.last_thread_mask & all } else { all };
        thread.reset(id, mask);
        let regs = &mut thread.regs;
        let header = [
            self.indirect_start & !0x3f,
            group[0],
            // Thread of the group; threads of the group, for the barrier's header.
            index & 0xff | self.threads_per_group << 24,
            self.sampler_state,
            self.binding_table,
            self.scratch_field & !0x3ff | id.thread & 0x3ff,
            group[1],
            group[2],
        ];
        for (k, word) in header.into_iter().enumerate() {
            regs.set(4 * k, word);
        }
        let mut at = REG;
        if let Some(ids) = self.local_ids {
            at = self.write_local_ids(regs, at, ids, index * simd);
        }
        if let Some(data) = self.inline_data {
            for (to, from) in regs.at_mut(at, REG).iter_mut().zip(data) {
                *to = *from;
            }
        }
    }

    /// One register a dimension, two for 32 channels, 16 bits each. Returns the offset behind them.
    fn write_local_ids(&self, regs: &mut Regs, at: usize, ids: LocalIds, first: u32) -> usize {
        let simd = usize::from(self.simd).clamp(8, LANES);
        let registers = simd.div_ceil(16);
        for lane in 0..simd {
            let mut rest = first + lane as u32;
            for dimension in ids.order {
                let size = self.local_size.get(usize::from(dimension)).copied().unwrap_or(1).max(1);
                if dimension < ids.emit {
                    regs.set(
                        at + (usize::from(dimension) * registers * REG) + 2 * lane,
                        (rest % size) as u16,
                    );
                }
                rest /= size;
            }
        }
        at + usize::from(ids.emit.min(3)) * registers * REG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A770: Geometry = Geometry { dss: 32, eus_per_dss: 16, threads_per_eu: 8 };

    #[test]
    fn a_full_device_uses_each_hardware_thread_once() {
        let spawner = Spawner::new(A770);
        let mut seen = vec![0; 4096];
        for number in 0..1024 {
            for id in spawner.group(number, 4) {
                seen[id.thread as usize] += 1;
                // As compiled kernels take the number out of sr0.0.
                let sr0 = id.sr0 & 16383;
                let once = (sr0 >> 1 & !63) | (sr0 & 63);
                assert_eq!((once >> 1 & !7) | (once & 7), id.thread);
            }
        }
        assert!(seen.iter().all(|n| *n == 1), "{seen:?}");
    }

    #[test]
    fn threads_of_a_group_differ() {
        let spawner = Spawner::new(A770);
        let mut ids: Vec<_> = spawner.group(32, 128).map(|id| id.thread).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 128);
        assert!(ids.iter().all(|id| *id < 128), "one dual sub-slice");
    }
}
