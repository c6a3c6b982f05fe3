//! The state an exec queue keeps between commands: instruction pointer, return stack, registers, heaps.

use std::collections::HashMap;

/// Start of the render engine's register block; other engines' blocks are folded onto it.
const BASE: u32 = 0x2000;
const BLOCK: u32 = 0x1000;

/// Registers that count by themselves.
const TIMESTAMP: u32 = 0x2358;
const TIMESTAMP_HIGH: u32 = 0x235c;
const CTX_TIMESTAMP: u32 = 0x23a8;
/// A write of 1 starts an invalidation; the hardware clears it when done, which here is at once.
const GLOBAL_INVALIDATION: u32 = 0xb404;
pub(crate) const PREDICATE_RESULT_2: u32 = 0x23bc;
pub(crate) const PREDICATE_RESULT_1: u32 = 0x241c;
/// First of 16 general-purpose registers of 64 bits.
pub(crate) const GPR0: u32 = 0x2600;

/// STATE_BASE_ADDRESS and CFE_STATE, as far as dispatches need them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heaps {
    pub general: Option<u64>,
    pub surface: Option<u64>,
    pub instruction: Option<u64>,
    pub bindless_surface: Option<u64>,
    /// Offset of the scratch surface state in the surface state heap; zero: no scratch.
    pub scratch_state: u32,
    /// STATE_COMPUTE_MODE: threads have 256 registers, and an execution unit has half as many of them.
    pub large_registers: bool,
}

#[derive(Debug)]
pub struct Context {
    pub ip: u64,
    /// Address after the command being executed.
    pub(crate) next: u64,
    pub(crate) stack: Vec<u64>,
    pub heaps: Heaps,
    registers: HashMap<u32, u32>,
    /// First register of this engine's block.
    engine_base: u32,
    /// MI_SET_PREDICATE's mode.
    pub(crate) predicate: u32,
    /// Commands were fetched from unbound memory: the queue executes no-ops until it is destroyed.
    pub(crate) adrift: bool,
}

impl Context {
    pub fn new(engine_base: u32) -> Context {
        Context {
            ip: 0,
            next: 0,
            stack: Vec::new(),
            heaps: Heaps::default(),
            registers: HashMap::new(),
            engine_base,
            predicate: 0,
            adrift: false,
        }
    }

    /// Goes to the start of a batch. Registers and heaps stay, as they do in the hardware's context image.
    pub fn start(&mut self, batch: u64) {
        self.ip = batch & crate::device::vm::VA_MASK;
        self.stack.clear();
        self.predicate = 0;
    }

    /// The register that a command means: `relative` is its "add CS MMIO start offset" bit.
    fn fold(&self, offset: u32, relative: bool) -> u32 {
        let offset = offset & 0x7f_fffc;
        if relative {
            return BASE + (offset % BLOCK);
        }
        match offset.checked_sub(self.engine_base) {
            Some(inside) if inside < BLOCK => BASE + inside,
            _ => offset,
        }
    }

    pub(crate) fn read_register(&self, offset: u32, relative: bool) -> u32 {
        match self.fold(offset, relative) {
            TIMESTAMP | CTX_TIMESTAMP => super::gpu_ticks() as u32,
            TIMESTAMP_HIGH => (super::gpu_ticks() >> 32) as u32,
            GLOBAL_INVALIDATION => 0,
            register => self.registers.get(&register).copied().unwrap_or(0),
        }
    }

    pub(crate) fn write_register(&mut self, offset: u32, relative: bool, value: u32) {
        let register = self.fold(offset, relative);
        self.registers.insert(register, value);
    }

    pub(crate) fn gpr(&self, index: u32) -> u64 {
        let at = GPR0 + index * 8;
        u64::from(self.read_register(at, false)) | u64::from(self.read_register(at + 4, false)) << 32
    }

    pub(crate) fn set_gpr(&mut self, index: u32, value: u64) {
        let at = GPR0 + index * 8;
        self.write_register(at, false, value as u32);
        self.write_register(at + 4, false, (value >> 32) as u32);
    }

    /// Whether MI_SET_PREDICATE turns the command with this header into a no-op.
    pub(crate) fn skips(&self, header: u32) -> bool {
        let active = match self.predicate {
            0 => false,
            1 => self.read_register(PREDICATE_RESULT_2, false) & 1 == 0,
            2 => self.read_register(PREDICATE_RESULT_2, false) & 1 != 0,
            3 => self.read_register(PREDICATE_RESULT_1, false) & 1 == 0,
            4 => self.read_register(PREDICATE_RESULT_1, false) & 1 != 0,
            // 0xf: always.
            _ => true,
        };
        active && !super::table::is_set_predicate(header)
    }
}
