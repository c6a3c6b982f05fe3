//! Executes messages: the data port in front of memory.

mod atomics;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::Dispatch;
use super::memory::{Fault, GpuMemory};
use super::message::{Access, Message, Model, What};
use super::operand::Lanes;
use super::regs::{ADDR, GRF_BYTES, LANES, REG, Regs};
use crate::isa::Desc;

/// Why a message could not be executed.
#[derive(Debug)]
pub(super) enum Trouble {
    Fault(Fault),
    Unsupported(Box<str>),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Counts over a dispatch, in accesses and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Bytes read from and written to memory; shared local memory is not counted.
    pub read: u64,
    pub written: u64,
    /// Of these, bytes with nothing behind them.
    pub read_missed: u64,
    pub write_missed: u64,
    pub atomics: u64,
    /// Bytes beyond the end of a surface: they read as zeros, writes to them vanish.
    pub out_of_bounds: u64,
}

impl PortStats {
    pub(super) fn add(&mut self, other: &PortStats) {
        self.read += other.read;
        self.written += other.written;
        self.read_missed += other.read_missed;
        self.write_missed += other.write_missed;
        self.atomics += other.atomics;
        self.out_of_bounds += other.out_of_bounds;
    }
}

/// Where a surface is. Source: RENDER_SURFACE_STATE.
#[derive(Clone, Copy, Debug)]
struct Surface {
    base: u64,
    size: u64,
}

/// Memory, shared local memory of the running group, and surface states seen so far.
pub(super) struct Port<'a, M: GpuMemory> {
    pub memory: &'a mut M,
    pub dispatch: &'a Dispatch<'a>,
    pub slm: Vec<u8>,
    pub stats: PortStats,
    surfaces: HashMap<(u64, u32), Surface>,
}

const BUFFER: u32 = 4;
const SCRATCH: u32 = 6;
const NULL: u32 = 7;

/// Address bits that the shared local memory looks at. The compiler lets local pointers begin at 0x1000_0000, so that
/// none is null, and sends them as they are.
const SLM_WINDOW: u64 = 0x0fff_ffff;

/// Largest access of a message: 32 channels of eight quadwords.
const STAGE: usize = LANES * 64;

impl<'a, M: GpuMemory> Port<'a, M> {
    pub fn new(memory: &'a mut M, dispatch: &'a Dispatch<'a>) -> Self {
        let slm = vec![0; dispatch.slm_bytes as usize];
        Self { memory, dispatch, slm, stats: PortStats::default(), surfaces: HashMap::new() }
    }

    /// A descriptor, from the instruction or from a0.
    pub fn descriptor(regs: &Regs, desc: Desc) -> u32 {
        match desc {
            Desc::Imm(bits) => bits,
            Desc::A0 { sub } => regs.get(ADDR + usize::from(sub & 7) * 4),
        }
    }

    fn surface(
        &mut self,
        model: Model,
        message: &Message,
        regs: &Regs,
        thread: u32,
    ) -> Result<Surface, Trouble> {
        let ex_desc = Self::descriptor(regs, message.ex_desc);
        // Bits 31:6 of a register, or bits 31:12 for bits 25:6 of the offset.
        let offset = if message.ex_bso { ex_desc & !0x3f } else { (ex_desc >> 12) << 6 };
        let state = match model {
            Model::Bindless => self.dispatch.bindless_surface_base.wrapping_add(offset.into()),
            Model::Surface => self.dispatch.surface_base.wrapping_add(offset.into()),
            Model::Bti(index) => self.entry(index)?,
            Model::ExBti => self.entry((ex_desc >> 24) as u8)?,
            Model::Flat => return Ok(Surface { base: 0, size: u64::MAX }),
            Model::Stateless => {
                return Ok(Surface { base: self.dispatch.general_base, size: u64::MAX });
            }
            Model::Slm => return Ok(Surface { base: 0, size: self.slm.len() as u64 }),
        };
        self.surface_at(state, thread)
    }

    /// The surface whose state is at `state`.
    fn surface_at(&mut self, state: u64, thread: u32) -> Result<Surface, Trouble> {
        if let Some(surface) =
            self.surfaces.get(&(state, thread)).or_else(|| self.surfaces.get(&(state, u32::MAX)))
        {
            return Ok(*surface);
        }
        let (surface, per_thread) = self.read_surface(state, thread)?;
        self.surfaces.insert((state, if per_thread { thread } else { u32::MAX }), surface);
        Ok(surface)
    }

    /// Address of the surface state that a binding-table entry names.
    fn entry(&mut self, index: u8) -> Result<u64, Trouble> {
        let table = self.dispatch.surface_base.wrapping_add(self.dispatch.binding_table.into());
        let mut entry = [0; 4];
        self.memory.read(table.wrapping_add(u64::from(index) * 4), &mut entry)?;
        Ok(self.dispatch.surface_base.wrapping_add((u32::from_le_bytes(entry) & !0x3f).into()))
    }

    fn read_surface(&mut self, state: u64, thread: u32) -> Result<(Surface, bool), Trouble> {
        let mut bytes = [0u8; 64];
        self.memory.read(state, &mut bytes)?;
        let mut words = [0u32; 16];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = chunk.first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk));
        }
        let base = u64::from(words[9]) << 32 | u64::from(words[8]);
        match words[0] >> 29 {
            BUFFER => {
                // The number of bytes less one, in three pieces.
                let count = (words[2] & 0x7f) | (words[2] >> 16 & 0x3fff) << 7 | (words[3] >> 21) << 21;
                Ok((Surface { base, size: u64::from(count) + 1 }, false))
            }
            SCRATCH => {
                // Each thread has its own piece, as long as the pitch.
                let pitch = u64::from(words[3] & 0x3_ffff) + 1;
                let pitch = pitch.max(self.dispatch.scratch_per_thread.into());
                Ok((Surface { base: base + pitch * u64::from(thread), size: pitch }, true))
            }
            NULL => Ok((Surface { base: 0, size: 0 }, false)),
            other => {
                Err(Trouble::Unsupported(format!("surface type {other} of the state at {state:#x}").into()))
            }
        }
    }

    /// Reads `out` from `offset` of a surface; bytes beyond its end are zeros.
    fn load(&mut self, model: Model, surface: Surface, offset: u64, out: &mut [u8]) -> Result<(), Trouble> {
        let len = out.len() as u64;
        let inside = surface.size.saturating_sub(offset).min(len) as usize;
        let (head, tail) = out.split_at_mut(inside);
        tail.fill(0);
        self.stats.out_of_bounds += tail.len() as u64;
        if head.is_empty() {
            return Ok(());
        }
        if model == Model::Slm {
            let start = offset as usize;
            match self.slm.get(start..start + head.len()) {
                Some(bytes) => head.copy_from_slice(bytes),
                None => head.fill(0),
            }
            return Ok(());
        }
        let found = self.memory.read(surface.base.wrapping_add(offset), head)?;
        self.stats.read += inside as u64;
        self.stats.read_missed += found.missed;
        Ok(())
    }

    fn store(&mut self, model: Model, surface: Surface, offset: u64, data: &[u8]) -> Result<(), Trouble> {
        let inside = surface.size.saturating_sub(offset).min(data.len() as u64) as usize;
        let (head, tail) = data.split_at(inside);
        self.stats.out_of_bounds += tail.len() as u64;
        if head.is_empty() {
            return Ok(());
        }
        if model == Model::Slm {
            let start = offset as usize;
            if let Some(bytes) = self.slm.get_mut(start..start + head.len()) {
                bytes.copy_from_slice(head);
            }
            return Ok(());
        }
        let found = self.memory.write(surface.base.wrapping_add(offset), head)?;
        self.stats.written += inside as u64;
        self.stats.write_missed += found.missed;
        Ok(())
    }

    /// A block at the offset in the header's third dword.
    pub fn block(
        &mut self,
        regs: &mut Regs,
        message: &Message,
        thread: u32,
        (write, bytes, owords, model): (bool, usize, bool, Model),
    ) -> Result<(), Trouble> {
        let surface = self.surface(model, message, regs, thread)?;
        let offset = u64::from(regs.get::<u32>(message.src0 + 8)) * if owords { 16 } else { 1 };
        let mut stage = [0u8; STAGE];
        let stage = part(&mut stage, bytes)?;
        if write {
            // The payload follows the header unless the message is split.
            let from = message.src1.unwrap_or(message.src0 + REG);
            stage.copy_from_slice(Self::payload(regs, from, bytes)?);
            self.store(model, surface, offset, stage)
        } else {
            self.load(model, surface, offset, stage)?;
            let Some(dst) = message.dst else { return Ok(()) };
            Self::payload_mut(regs, dst, bytes)?.copy_from_slice(stage);
            Ok(())
        }
    }

    /// Registers to or from the thread's scratch memory. The header is a copy of r0: its sixth dword names the
    /// surface state. A channel that does not run leaves its dword of memory as it is.
    pub fn spill(
        &mut self,
        regs: &mut Regs,
        message: &Message,
        (thread, exec): (u32, u32),
        (write, bytes, offset): (bool, usize, u32),
    ) -> Result<(), Trouble> {
        let header: u32 = regs.get(message.src0 + 20);
        let state = self.dispatch.surface_base.wrapping_add(u64::from(header >> 10) << 6);
        let surface = self.surface_at(state, thread)?;
        let mut stage = [0u8; STAGE];
        let stage = part(&mut stage, bytes)?;
        if !write {
            let Some(dst) = message.dst else { return Ok(()) };
            if exec != 0 {
                self.load(Model::Surface, surface, offset.into(), stage)?;
                Self::payload_mut(regs, dst, bytes)?.copy_from_slice(stage);
            }
            return Ok(());
        }
        let from = message.src1.unwrap_or(message.src0 + REG);
        stage.copy_from_slice(Self::payload(regs, from, bytes)?);
        let lanes = message.lanes.clamp(1, 32);
        let full = u32::MAX >> (32 - u32::from(lanes));
        if exec & full == full {
            return self.store(Model::Surface, surface, offset.into(), stage);
        }
        if bytes > 4 * usize::from(lanes) {
            return Err(Trouble::Unsupported("spill of more dwords than channels, some of them off".into()));
        }
        for (k, dword) in stage.chunks_exact(4).enumerate() {
            if exec >> k & 1 != 0 {
                self.store(Model::Surface, surface, u64::from(offset) + 4 * k as u64, dword)?;
            }
        }
        Ok(())
    }

    fn payload(regs: &Regs, from: usize, len: usize) -> Result<&[u8], Trouble> {
        if from + len > GRF_BYTES {
            return Err(Trouble::Unsupported("payload beyond the last register".into()));
        }
        Ok(regs.at(from, len))
    }

    fn payload_mut(regs: &mut Regs, from: usize, len: usize) -> Result<&mut [u8], Trouble> {
        if from + len > GRF_BYTES {
            return Err(Trouble::Unsupported("payload beyond the last register".into()));
        }
        Ok(regs.at_mut(from, len))
    }

    /// A gather, scatter, block or atomic. `exec`: channels, from bit 0.
    pub fn access(
        &mut self,
        regs: &mut Regs,
        message: &Message,
        access: &Access,
        exec: u32,
        thread: u32,
    ) -> Result<(), Trouble> {
        let exec = exec & (u32::MAX >> (32 - u32::from(access.lanes.clamp(1, 32))));
        if exec == 0 {
            return Ok(());
        }
        let surface = self.surface(access.model, message, regs, thread)?;
        let lanes = if access.transposed { 1 } else { usize::from(access.lanes) };
        let addr_len = usize::from(access.addr) * lanes;
        let window = if access.model == Model::Slm { SLM_WINDOW } else { u64::MAX };
        let mut offsets: Lanes<u64> = [0; LANES];
        let bytes = Self::payload(regs, message.src0, addr_len)?;
        for (slot, chunk) in offsets.iter_mut().zip(bytes.chunks_exact(access.addr.into())) {
            let mut wide = [0u8; 8];
            wide.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            *slot = u64::from_le_bytes(wide) & window;
        }
        let data = message.src1.unwrap_or(message.src0 + addr_len.next_multiple_of(REG));
        if access.transposed {
            return self.transposed(regs, message, access, surface, (offsets[0], data));
        }
        if let What::Atomic(op) = access.what {
            return self.atomics(regs, message, access, surface, (op, exec, data, &offsets));
        }
        let (size, reg_size, count) =
            (usize::from(access.size), usize::from(access.reg_size), usize::from(access.count));
        let each = size * count;
        // From one element of a channel to the next: whole registers.
        let stride = (lanes * reg_size).next_multiple_of(REG);
        let total = stride * (count - 1) + lanes * reg_size;
        let mut stage = [0u8; STAGE];
        let stage = part(&mut stage, lanes * each)?;
        let load = access.what == What::Load;
        if !load {
            let from = Self::payload(regs, data, total)?;
            for (i, channel) in stage.chunks_exact_mut(each.max(1)).enumerate() {
                for (c, element) in channel.chunks_exact_mut(size.max(1)).enumerate() {
                    let at = c * stride + i * reg_size;
                    element.copy_from_slice(from.get(at..at + size).unwrap_or_default());
                }
            }
        } else if message.dst.is_none() {
            // A prefetch.
            return Ok(());
        }
        // Neighbouring channels at neighbouring addresses move at once.
        let mut lane = 0;
        while lane < lanes {
            if exec >> lane & 1 == 0 {
                lane += 1;
                continue;
            }
            let start = lane;
            lane += 1;
            while lane < lanes
                && exec >> lane & 1 != 0
                && offsets.get(lane - 1).map(|o| o.wrapping_add(each as u64)) == offsets.get(lane).copied()
            {
                lane += 1;
            }
            let offset = offsets.get(start).copied().unwrap_or_default();
            let run = stage.get_mut(start * each..lane * each).unwrap_or_default();
            if load {
                self.load(access.model, surface, offset, run)?;
            } else {
                self.store(access.model, surface, offset, run)?;
            }
        }
        if load && let Some(dst) = message.dst {
            let to = Self::payload_mut(regs, dst, total)?;
            for (i, channel) in stage.chunks_exact(each.max(1)).enumerate() {
                if exec >> i & 1 == 0 {
                    continue;
                }
                for (c, element) in channel.chunks_exact(size.max(1)).enumerate() {
                    let at = c * stride + i * reg_size;
                    let slot = to.get_mut(at..at + reg_size).unwrap_or_default();
                    slot.fill(0);
                    slot.get_mut(..size).unwrap_or_default().copy_from_slice(element);
                }
            }
        }
        Ok(())
    }

    fn transposed(
        &mut self,
        regs: &mut Regs,
        message: &Message,
        access: &Access,
        surface: Surface,
        (offset, data): (u64, usize),
    ) -> Result<(), Trouble> {
        if access.size != access.reg_size {
            return Err(Trouble::Unsupported("block of narrow elements".into()));
        }
        let bytes = usize::from(access.size) * usize::from(access.count);
        let mut stage = [0u8; STAGE];
        let stage = part(&mut stage, bytes)?;
        if access.what == What::Store {
            stage.copy_from_slice(Self::payload(regs, data, bytes)?);
            return self.store(access.model, surface, offset, stage);
        }
        let Some(dst) = message.dst else { return Ok(()) };
        self.load(access.model, surface, offset, stage)?;
        Self::payload_mut(regs, dst, bytes)?.copy_from_slice(stage);
        Ok(())
    }
}

/// The first `len` bytes.
fn part(stage: &mut [u8; STAGE], len: usize) -> Result<&mut [u8], Trouble> {
    stage.get_mut(..len).ok_or_else(|| Trouble::Unsupported(format!("access of {len} bytes at once").into()))
}
