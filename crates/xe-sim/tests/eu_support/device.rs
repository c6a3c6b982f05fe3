//! Launches a kernel through the device: objects bound in a VM, heaps and a walker in a batch on a queue.

use std::collections::BTreeMap;

use xe_sim::client::Errno;
use xe_sim::eu::Dispatch;
use xe_sim::testkit::{Batch, Bench};
use xe_sim::trace::{Event, Unmapped};

use super::launch::Launch;
use super::memory::Memory;

const K64: u64 = 64 << 10;
const BATCH: u64 = 0x7_0000_0000;
/// Where [`OnDevice`] maps client memory for user pointers, by GPU address.
const CLIENT: u64 = 0x5000_0000_0000;
const SCRATCH: u32 = 1;
const LR: u32 = 2;
const COMPUTE: u16 = 4;

pub struct OnDevice {
    pub bench: Bench,
    pub vm: u32,
    pub queue: u32,
    batch: u32,
    objects: BTreeMap<u64, u32>,
    /// Ranges that become client memory and not objects.
    pub user: Vec<u64>,
    /// Threads have 256 registers.
    pub large_registers: bool,
    /// The walker takes its group counts from the registers, as zeKernelLaunchIndirect has it; its own are wrong.
    pub indirect: bool,
}

/// What a launch did.
#[derive(Debug)]
pub struct Ran {
    pub instructions: u64,
    pub ns: u64,
    pub native_groups: u64,
    pub native_bytes: u64,
    pub sampled_groups: u64,
    pub unmapped: Vec<Unmapped>,
}

impl OnDevice {
    pub fn new(profile: &str, scratch: bool) -> Self {
        let mut bench = Bench::new(profile, &[]);
        let vm = bench.vm(LR | if scratch { SCRATCH } else { 0 }).expect("vm");
        let queue = bench.queue(vm, COMPUTE).expect("queue");
        let batch = bench.bo(K64, 1).expect("batch object");
        bench.map(vm, batch, 0, BATCH, K64).expect("bind batch");
        let (objects, user) = (BTreeMap::new(), Vec::new());
        OnDevice { bench, vm, queue, batch, objects, user, large_registers: false, indirect: false }
    }

    /// Where a range of client memory lies in the client.
    pub fn client_address(addr: u64) -> u64 {
        CLIENT + addr % (1 << 44)
    }

    fn place(&mut self, addr: u64, bytes: &[u8]) {
        let size = (bytes.len() as u64).max(1).next_multiple_of(K64);
        if self.user.contains(&addr) {
            let cpu = Self::client_address(addr);
            self.bench.memory.map(cpu, size, true, false);
            self.bench.memory.poke(cpu, bytes);
            self.bench.map_userptr(self.vm, cpu, addr, size, 0).expect("user pointer");
            return;
        }
        let object = match self.objects.get(&addr) {
            Some(object) => *object,
            None => {
                let object = self.bench.bo(size, 1).expect("object");
                self.bench.map(self.vm, object, 0, addr, size).expect("bind");
                self.objects.insert(addr, object);
                object
            }
        };
        self.bench.write_bo(object, 0, bytes);
    }

    /// Binds what `memory` has, launches, and reads everything back. `lost`: ranges that are unbound before.
    pub fn run(&mut self, launch: &Launch<'_>, memory: &mut Memory, lost: &[u64]) -> Result<Ran, Errno> {
        let batch = launch.with_dispatch(memory, |dispatch, memory| {
            for (addr, bytes) in memory.ranges() {
                self.place(addr, bytes);
            }
            batch_of(dispatch, self.large_registers, self.indirect)
        });
        for addr in lost {
            let bytes = memory.bytes(*addr).len() as u64;
            self.bench.unmap(self.vm, *addr, bytes.next_multiple_of(K64)).expect("unbind");
        }
        self.bench.write_bo(self.batch, 0, &batch.bytes());
        self.bench.exec(self.queue, BATCH, None)?;
        let sizes: Vec<(u64, usize)> = memory.ranges().map(|(addr, bytes)| (addr, bytes.len())).collect();
        for (addr, len) in sizes {
            let bytes = match self.objects.get(&addr) {
                Some(object) => self.bench.read_bo(*object, len),
                None => self.bench.memory.peek(Self::client_address(addr), len),
            };
            memory.map(addr, bytes);
        }
        let ran = self.bench.events().into_iter().rev().find_map(|event| match event {
            Event::Executed {
                instructions,
                ns,
                native_groups,
                native_bytes,
                sampled_groups,
                unmapped,
                ..
            } => Some(Ran { instructions, ns, native_groups, native_bytes, sampled_groups, unmapped }),
            _ => None,
        });
        ran.ok_or(Errno(libc::EIO))
    }
}

/// STATE_COMPUTE_MODE, STATE_BASE_ADDRESS, CFE_STATE and COMPUTE_WALKER that say what the dispatch says.
fn batch_of(d: &Dispatch<'_>, large_registers: bool, indirect: bool) -> Batch {
    const DISPATCH_DIMENSIONS: [u32; 3] = [0x2500, 0x2504, 0x2508];
    let mode = [0x6105_0000, 1 << 31 | u32::from(large_registers) << 15];
    let mut bases = [0u32; 22];
    bases[0] = 0x6101_0014;
    for (at, base) in [
        (1, d.general_base),
        (4, d.surface_base),
        (10, d.kernel_start & !0xfff),
        (16, d.bindless_surface_base),
    ] {
        (bases[at], bases[at + 1]) = (base as u32 | 1, (base >> 32) as u32);
    }
    let cfe = [0x7200_0004, d.scratch_field, 0, 0, 0, 0];
    let mut w = [0u32; 39];
    w[0] = 0x7208_0025;
    w[3] = d.indirect_start;
    w[4] = match d.simd {
        8 => 0,
        16 => 1,
        _ => 2,
    } << 30;
    if let Some(ids) = d.local_ids {
        assert_eq!(ids.order, [0, 1, 2]);
        w[4] |= 1 << 29 | ((1u32 << ids.emit) - 1) << 26;
    }
    if let Some(inline) = d.inline_data {
        w[4] |= 1 << 25;
        for (slot, chunk) in w[31..].iter_mut().zip(inline.chunks_exact(4)) {
            *slot = u32::from_le_bytes(chunk.try_into().expect("four"));
        }
    }
    w[5] = d.last_thread_mask;
    w[6] = (d.local_size[0] - 1) | (d.local_size[1] - 1) << 10 | (d.local_size[2] - 1) << 20;
    w[7..10].copy_from_slice(&d.group_end);
    w[10..13].copy_from_slice(&d.group_start);
    w[18] = d.kernel_start as u32 & 0xfff;
    w[22] = d.binding_table;
    w[23] = d.threads_per_group | (d.slm_bytes / 1024).next_power_of_two().ilog2().wrapping_add(1) << 16;
    let mut batch = Batch::new();
    if indirect {
        for (register, count) in DISPATCH_DIMENSIONS.into_iter().zip(d.group_end) {
            batch = batch.words(&[0x1100_0001, register, count]);
        }
        w[0] |= 1 << 10;
        w[7..10].fill(1);
    }
    batch.words(&mode).words(&bases).words(&cfe).words(&w).end()
}
