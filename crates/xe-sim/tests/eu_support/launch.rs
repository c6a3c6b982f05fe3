//! Launches a kernel as the driver would: heaps, surface states, payload.

use xe_sim::eu::{Budget, Dispatch, ExecError, ExecStats, Geometry, KernelCache, LocalIds, execute};

use super::memory::Memory;
use super::zebin::{Argument, Kernel};

pub const A770: Geometry = Geometry { dss: 32, eus_per_dss: 16, threads_per_eu: 8 };

const INSTRUCTIONS: u64 = 0x0000_1000_0000;
const GENERAL: u64 = 0x0000_4000_0000;
const SURFACES: u64 = 0x0000_5000_0000;
const CONSTANTS: u64 = 0x0000_6000_0000;
const GLOBALS: u64 = 0x0000_7000_0000;
const SCRATCH: u64 = 0x0008_0000_0000;
/// Where [`launch`] puts private memory.
pub const PRIVATE: u64 = 0x0010_0000_0000;

/// A kernel argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A buffer: address and size for its surface.
    Buffer(u64, u64),
    Value(Vec<u8>),
    /// Bytes of local memory.
    Local(u32),
}

pub fn value<const N: usize>(bytes: [u8; N]) -> Arg {
    Arg::Value(bytes.to_vec())
}

/// How private memory is backed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Private {
    /// For this many hardware threads.
    Threads(u64),
    /// There is an address, with nothing behind it.
    Unmapped,
}

pub struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub args: &'a [Arg],
    pub groups: [u32; 3],
    pub local: [u32; 3],
    pub private: Private,
    /// The hardware makes the local ids; if not, the kernel loads them.
    pub hardware_ids: bool,
    pub budget: u64,
}

impl<'a> Launch<'a> {
    pub fn new(kernel: &'a Kernel, args: &'a [Arg], groups: [u32; 3], local: [u32; 3]) -> Self {
        let private = Private::Threads(4096);
        Self { kernel, args, groups, local, private, hardware_ids: true, budget: 2_000_000_000 }
    }

    pub fn run(&self, memory: &mut Memory) -> ExecStats {
        self.try_run(memory).unwrap_or_else(|error| panic!("{}: {error}", self.kernel.name))
    }

    pub fn try_run(&self, memory: &mut Memory) -> Result<ExecStats, ExecError> {
        let budget = Budget::of(self.budget);
        self.with_dispatch(memory, |dispatch, memory| {
            execute(dispatch, memory, &mut KernelCache::default(), budget)
        })
    }

    /// Puts everything that the launch needs into `memory` and calls `f` with the dispatch.
    pub fn with_dispatch<R>(
        &self,
        memory: &mut Memory,
        f: impl FnOnce(&Dispatch<'_>, &mut Memory) -> R,
    ) -> R {
        let kernel = self.kernel;
        let simd = kernel.simd();
        let mut text = kernel.text.clone();
        for &(offset, kind, addend) in &kernel.relocations {
            let value = CONSTANTS.wrapping_add_signed(addend);
            let at = offset as usize;
            // R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32, R_ZE_SYM_ADDR_32_HI.
            match kind {
                1 => text[at..at + 8].copy_from_slice(&value.to_le_bytes()),
                2 => text[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes()),
                3 => text[at..at + 4].copy_from_slice(&((value >> 32) as u32).to_le_bytes()),
                other => panic!("relocation type {other}"),
            }
        }
        // Memory is bound in pages.
        text.resize(text.len().next_multiple_of(4096), 0);
        memory.map(INSTRUCTIONS, text);
        memory.map(CONSTANTS, kernel.constants.clone());
        memory.map(GLOBALS, kernel.globals.clone());
        let private = kernel.env("private_size").next_multiple_of(64);
        match self.private {
            Private::Threads(threads) if private > 0 => {
                memory.map(PRIVATE, vec![0; (private * threads) as usize]);
            }
            _ => {}
        }
        let scratch = kernel.env("spill_size").max(kernel.env("scratch_size"));
        let (payload, surfaces, slm) = self.payload(scratch as u32);
        if scratch > 0 {
            memory.map(SCRATCH, vec![0; (scratch.next_power_of_two().max(1024) * 4096) as usize]);
        }
        memory.map(SURFACES, surfaces);
        let inline = payload[..32].to_vec();
        let mut indirect = payload[32..].to_vec();
        let items: u32 = self.local.iter().product();
        let threads = items.div_ceil(simd);
        indirect.extend(self.thread_data(threads));
        memory.map(GENERAL, indirect);
        let mut dispatch = Dispatch {
            group_end: self.groups,
            local_size: self.local,
            threads_per_group: threads,
            last_thread_mask: match items % simd {
                0 => u32::MAX,
                rest => (1 << rest) - 1,
            },
            inline_data: (kernel.env("inline_data_payload_size") > 0).then_some(&inline),
            general_base: GENERAL,
            surface_base: SURFACES,
            bindless_surface_base: SURFACES,
            // The first state, offset 64, in the field's place: bits 27:6 of the offset in bits 31:10.
            scratch_field: 64 << 4,
            slm_bytes: (slm + kernel.env("slm_size") as u32).next_power_of_two().max(1024),
            ..Dispatch::of_one_thread(INSTRUCTIONS, simd as u8, A770)
        };
        if self.hardware_ids {
            dispatch.kernel_start += kernel.env("offset_to_skip_per_thread_data_load");
            let per_dimension = simd.max(16) as usize * 2;
            let emit = (kernel.local_id_bytes / per_dimension) as u8;
            dispatch.local_ids = Some(LocalIds { emit, order: [0, 1, 2] });
        }
        f(&dispatch, memory)
    }

    /// Local ids of each thread of a group.
    fn thread_data(&self, threads: u32) -> Vec<u8> {
        let simd = self.kernel.simd();
        let stride = simd.max(16) as usize * 2;
        let mut data = vec![0u8; threads as usize * self.kernel.local_id_bytes];
        if self.kernel.local_id_bytes == 0 {
            return data;
        }
        for (t, thread) in data.chunks_exact_mut(self.kernel.local_id_bytes).enumerate() {
            for lane in 0..simd {
                let item = t as u32 * simd + lane;
                let [x, y, _] = self.local;
                let ids = [item % x, item / x % y, item / x / y];
                for (id, chunk) in ids.iter().zip(thread.chunks_exact_mut(stride)) {
                    chunk[2 * lane as usize..][..2].copy_from_slice(&(*id as u16).to_le_bytes());
                }
            }
        }
        data
    }

    /// Cross-thread data, surface heap, and bytes of local memory for arguments.
    fn payload(&self, scratch: u32) -> (Vec<u8>, Vec<u8>, u32) {
        let size = self.kernel.payload.iter().map(|a| a.offset + a.size).max().unwrap_or(0);
        let mut payload = vec![0u8; size.next_multiple_of(32).max(32)];
        // Slot 1 is the scratch surface.
        let mut surfaces = vec![0u8; 64];
        let pitch = scratch.next_power_of_two().max(1024);
        surfaces.extend(surface(6, SCRATCH, u64::from(pitch) * 4096, pitch));
        let mut slm = self.kernel.env("slm_size") as u32;
        let inline_slm = slm;
        for argument in &self.kernel.payload {
            let words = |w: [u32; 3]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
            let bytes: Vec<u8> = match argument.kind.as_str() {
                "global_id_offset" | "buffer_offset" => vec![0; argument.size],
                "enqueued_local_size" | "local_size" => words(self.local),
                "group_count" => words(self.groups),
                "global_size" => words(std::array::from_fn(|d| self.groups[d] * self.local[d])),
                "work_dimensions" => 3u32.to_le_bytes().to_vec(),
                "const_base" | "global_base" => {
                    let (addr, data) = match argument.kind.as_str() {
                        "const_base" => (CONSTANTS, &self.kernel.constants),
                        _ => (GLOBALS, &self.kernel.globals),
                    };
                    if argument.mode == "bindless" {
                        let offset = surfaces.len() as u32;
                        surfaces.extend(surface(4, addr, data.len().max(1) as u64, 0));
                        offset.to_le_bytes().to_vec()
                    } else {
                        addr.to_le_bytes().to_vec()
                    }
                }
                "private_base_stateless" => PRIVATE.to_le_bytes().to_vec(),
                "arg_bypointer" | "arg_byvalue" => self.argument(argument, &mut surfaces, &mut slm),
                other => panic!("{}: payload argument {other}", self.kernel.name),
            };
            let n = argument.size.min(bytes.len());
            payload[argument.offset..argument.offset + n].copy_from_slice(&bytes[..n]);
        }
        (payload, surfaces, slm - inline_slm)
    }

    fn argument(&self, argument: &Argument, surfaces: &mut Vec<u8>, slm: &mut u32) -> Vec<u8> {
        let index = argument.index.expect("the argument's number");
        match (&self.args[index], argument.mode.as_str()) {
            (Arg::Value(bytes), "") => {
                let end = (argument.source + argument.size).min(bytes.len());
                bytes[argument.source..end].to_vec()
            }
            (Arg::Buffer(addr, _), "stateless") => addr.to_le_bytes().to_vec(),
            (Arg::Buffer(addr, size), "bindless") => {
                let offset = surfaces.len() as u32;
                surfaces.extend(surface(4, *addr, *size, 0));
                offset.to_le_bytes().to_vec()
            }
            (Arg::Local(bytes), "slm") => {
                let offset = slm.next_multiple_of(16);
                *slm = offset + bytes;
                offset.to_le_bytes().to_vec()
            }
            (arg, mode) => panic!("{}: {arg:?} as {mode}", self.kernel.name),
        }
    }
}

/// RENDER_SURFACE_STATE.
fn surface(kind: u32, base: u64, size: u64, pitch: u32) -> Vec<u8> {
    let mut words = [0u32; 16];
    let count = (size - 1) as u32;
    words[0] = kind << 29;
    words[2] = (count & 0x7f) | (count >> 7 & 0x3fff) << 16;
    words[3] = (count >> 21) << 21 | pitch.saturating_sub(1);
    words[8] = base as u32;
    words[9] = (base >> 32) as u32;
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}
