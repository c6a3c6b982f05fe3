//! State and dispatch commands of the compute pipe.

use super::memory::Touch;
use super::{Effect, Flow, Machine, gpu_ticks, qword, word};
use crate::device::vm::VA_MASK;
use crate::eu::{self, ExecError, Geometry};
use crate::launch;
use crate::oracle;
use crate::profile::Family;
use crate::trace::Event;

/// Where the parts of COMPUTE_WALKER lie, in dwords. Same order in both families; Xe2 has one more dword before the
/// interface descriptor.
struct Layout {
    descriptor: usize,
    post_sync: usize,
    inline: usize,
}

const XE_HPG: Layout = Layout { descriptor: 18, post_sync: 26, inline: 31 };
const XE2: Layout = Layout { descriptor: 19, post_sync: 27, inline: 32 };

pub(super) fn state_base_address(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    // Each base has its "modify" bit in bit 0; the address is in 12..63.
    let base = |at: usize| {
        let value = qword(w, at);
        (value & 1 != 0).then_some(value & VA_MASK & !0xfff)
    };
    let heaps = &mut m.ctx.heaps;
    heaps.general = base(1).or(heaps.general);
    heaps.surface = base(4).or(heaps.surface);
    heaps.instruction = base(10).or(heaps.instruction);
    heaps.bindless_surface = base(16).or(heaps.bindless_surface);
    Ok(Flow::Next)
}

pub(super) fn cfe_state(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    // Bits 10..31 hold bits 6..27 of the surface state's offset.
    m.ctx.heaps.scratch_state = (word(w, 1) >> 10) << 6;
    Ok(Flow::Next)
}

pub(super) fn compute_mode(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    // Bit 15, written where its mask bit (31) is set.
    let dword = word(w, 1);
    if dword >> 31 != 0 {
        m.ctx.heaps.large_registers = dword >> 15 & 1 != 0;
    }
    Ok(Flow::Next)
}

/// A dispatch: what it points at is looked at, then it runs (where the card's instruction set has a model).
pub(super) fn walker(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let layout = match m.family {
        Family::XeHpg => XE_HPG,
        Family::Xe2Hpg => XE2,
    };
    let indirect_len = word(w, 2) & 0x1_ffff;
    let indirect_start = word(w, 3) & !0x3f;
    let indirect = word(w, 0) & (1 << 10) != 0;
    let groups = if indirect {
        // The group counts come from the dispatch-dimension registers.
        [0x2500u32, 0x2504, 0x2508].map(|r| m.ctx.read_register(r, false))
    } else {
        [word(w, 7), word(w, 8), word(w, 9)]
    };
    m.counters.dispatches += 1;
    let n = m.counters.dispatches;
    let kernel =
        m.ctx.heaps.instruction.unwrap_or(0).wrapping_add(u64::from(word(w, layout.descriptor) & !0x3f))
            & VA_MASK;
    let inline_words = if word(w, 4) & (1 << 25) != 0 {
        w.get(layout.inline..layout.inline + 8).unwrap_or_default()
    } else {
        &[]
    };
    let mut payload: Vec<u8> = inline_words.iter().flat_map(|d| d.to_le_bytes()).collect();
    let mut missed_payload = None;
    if indirect_len > 0 {
        let at = m.ctx.heaps.general.unwrap_or(0).wrapping_add(u64::from(indirect_start)) & VA_MASK;
        let inline_len = payload.len();
        payload.resize(inline_len + indirect_len as usize, 0);
        let touch = m.memory.read(at, payload.get_mut(inline_len..).unwrap_or_default());
        missed_payload = (touch.missed > 0).then_some(touch);
    }
    let found = oracle::inspect(&m.memory, &m.ctx.heaps, kernel, &payload);
    let (file, queue, vm) = (m.ids.file, m.ids.queue, m.ids.vm);
    let executed = m.geometry.is_some();
    m.trace.emit(Event::Dispatch { n, file, queue, vm, kernel, groups, pointers: found.pointers, executed });
    for stale in found.stale {
        m.counters.hazards += 1;
        m.trace.emit(Event::Hazard {
            n,
            file,
            queue,
            vm,
            pointer: stale.pointer,
            payload_offset: stale.payload_offset,
            role: stale.role,
            range_addr: stale.range_addr,
            range_len: stale.range_len,
            history: stale.history,
        });
    }
    if let Some(touch) = missed_payload {
        m.settle(touch, false, "COMPUTE_WALKER indirect data")?;
    }
    let mut first = [0u8; 16];
    let code = m.memory.read(kernel, &mut first);
    m.settle(code, false, "COMPUTE_WALKER kernel")?;
    let started = gpu_ticks();
    if let Some(geometry) = m.geometry {
        if code.missed == first.len() as u64 {
            // The threads execute the scratch page's zeros and never end.
            m.ctx.adrift = true;
            return Ok(Flow::Park);
        }
        execute(m, w, n, indirect.then_some(groups), geometry)?;
    }
    post_sync(m, w, layout.post_sync, started)?;
    Ok(Flow::Next)
}

/// Runs dispatch `n`. What the model does not have is named in the trace and ends the queue.
fn execute(
    m: &mut Machine<'_>,
    w: &[u32],
    n: u64,
    groups: Option<[u32; 3]>,
    geometry: Geometry,
) -> Result<(), String> {
    let began = std::time::Instant::now();
    let heaps = eu::Heaps {
        general: m.ctx.heaps.general.unwrap_or(0),
        surface: m.ctx.heaps.surface.unwrap_or(0),
        instruction: m.ctx.heaps.instruction.unwrap_or(0),
        bindless_surface: m.ctx.heaps.bindless_surface.unwrap_or(0),
        // As CFE_STATE has it: bits 6 to 27 of the offset in bits 10 to 31.
        cfe_scratch: (m.ctx.heaps.scratch_state >> 6) << 10,
    };
    let threads_per_eu = geometry.threads_per_eu / if m.ctx.heaps.large_registers { 2 } else { 1 };
    let geometry = Geometry { threads_per_eu, ..geometry };
    let mut inline = [0; 32];
    let dispatch = match eu::dispatch_from_walker(w, &heaps, groups, geometry, &mut inline) {
        Ok(dispatch) => dispatch,
        Err(error) => return Err(refuse(m, w, &error.to_string())),
    };
    let outcome = launch::run(&m.memory, m.kernels, &dispatch, m.attendant);
    for missed in &outcome.unmapped {
        m.counters.kernel_unmapped_read += missed.read;
        m.counters.kernel_unmapped_written += missed.written;
    }
    if outcome.refused > 0 {
        let touch = Touch { missed: outcome.refused, first: 0 };
        m.settle(touch, true, "a kernel's writes to client memory that is gone")?;
    }
    let stats = match outcome.result {
        Ok(stats) => stats,
        Err(ExecError::Fault { fault, .. } | ExecError::KernelFault { fault, .. }) => {
            let touch = Touch { missed: 1, first: fault.addr };
            // Without a scratch page this is the fault; with one there is none.
            m.settle(touch, fault.write, "a kernel")?;
            return Err(format!("page fault of a kernel at {:#x}", fault.addr));
        }
        Err(
            error @ (ExecError::Unsupported { .. }
            | ExecError::Budget { .. }
            | ExecError::Ended { .. }
            | ExecError::BarrierDeadlock { .. }
            | ExecError::BadDispatch(_)),
        ) => return Err(refuse(m, w, &error.to_string())),
    };
    let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    m.counters.executed += 1;
    m.counters.instructions += stats.instructions;
    m.counters.executing_ns += ns;
    m.counters.native_dispatches += u64::from(outcome.native.groups > 0);
    m.counters.native_bytes += outcome.native.bytes;
    m.counters.sampled_groups += outcome.native.sampled;
    m.trace.emit(Event::Executed {
        n,
        groups: stats.groups,
        threads: stats.threads,
        instructions: stats.instructions,
        messages: stats.messages,
        read: stats.memory.read,
        written: stats.memory.written,
        unmapped: outcome.unmapped,
        native_groups: outcome.native.groups,
        native_bytes: outcome.native.bytes,
        sampled_groups: outcome.native.sampled,
        ns,
    });
    Ok(())
}

fn refuse(m: &mut Machine<'_>, w: &[u32], why: &str) -> String {
    m.unsupported(&format!("kernel execution: {why}"), word(w, 0), m.ctx.ip);
    format!("the device model cannot execute this dispatch: {why}")
}

/// `started`: when the dispatch began, in GPU ticks.
fn post_sync(m: &mut Machine<'_>, w: &[u32], at: usize, started: u64) -> Result<(), String> {
    const BY: &str = "COMPUTE_WALKER post-sync";
    let addr = qword(w, at + 1) & VA_MASK;
    match word(w, at) & 3 {
        0 => Ok(()),
        1 => m.write(addr, &qword(w, at + 3).to_le_bytes(), BY),
        3 => {
            // Context start, global start, context end, global end: 32 bits each before Xe2, 64 bits from there on.
            let start = started.max(2);
            let end = gpu_ticks().max(start + 1);
            let stamps = [start, start, end, end];
            let bytes: Vec<u8> = match m.family {
                Family::XeHpg => stamps.iter().flat_map(|t| (*t as u32).max(2).to_le_bytes()).collect(),
                Family::Xe2Hpg => stamps.iter().flat_map(|t| t.to_le_bytes()).collect(),
            };
            m.write(addr, &bytes, BY)
        }
        _ => {
            m.unsupported("COMPUTE_WALKER (post-sync operation)", word(w, 0), m.ctx.ip);
            Ok(())
        }
    }
}
