//! MI commands and PIPE_CONTROL: control flow, stores, semaphores, registers.

use super::{Effect, Flow, Machine, gpu_ticks, math, qword, word};
use crate::device::vm::VA_MASK;

/// MI_BATCH_BUFFER_START nesting that the hardware supports is 3; deeper is a runaway program.
const MAX_NESTING: usize = 3;

fn address(words: &[u32], at: usize, align: u64) -> u64 {
    qword(words, at) & VA_MASK & !(align - 1)
}

pub(super) fn batch_end(m: &mut Machine<'_>, _: &[u32]) -> Effect {
    Ok(match m.ctx.stack.pop() {
        Some(back) => Flow::Jump(back),
        None => Flow::End,
    })
}

pub(super) fn batch_start(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let target = address(w, 1, 4);
    if header & (1 << 22) != 0 {
        if m.ctx.stack.len() >= MAX_NESTING {
            return Err("batch buffers nested too deep".to_owned());
        }
        let back = m.ctx.next;
        m.ctx.stack.push(back);
    }
    Ok(Flow::Jump(target))
}

pub(super) fn store_data_imm(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    if header & (1 << 22) != 0 {
        m.unsupported("MI_STORE_DATA_IMM (global GTT)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    // The header's length covers what it stores: one dword, one qword, or several dwords.
    let data: Vec<u8> = w.get(3..).unwrap_or_default().iter().flat_map(|d| d.to_le_bytes()).collect();
    m.write(address(w, 1, 4), &data, "MI_STORE_DATA_IMM")?;
    Ok(Flow::Next)
}

pub(super) fn flush_dw(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let value = match (header >> 14) & 3 {
        0 => return Ok(Flow::Next),
        1 => qword(w, 3),
        3 => gpu_ticks(),
        _ => {
            m.unsupported("MI_FLUSH_DW (post-sync operation)", header, m.ctx.ip);
            return Ok(Flow::Next);
        }
    };
    if header & (1 << 21) != 0 {
        m.unsupported("MI_FLUSH_DW (store to status page)", header, m.ctx.ip);
        return Ok(Flow::Next);
    }
    m.write(address(w, 1, 8), &value.to_le_bytes(), "MI_FLUSH_DW")?;
    Ok(Flow::Next)
}

pub(super) fn pipe_control(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let flags = word(w, 1);
    let value = match (flags >> 14) & 3 {
        0 => {
            if flags & (1 << 23) != 0 {
                m.unsupported("PIPE_CONTROL (register post-sync)", word(w, 0), m.ctx.ip);
            }
            return Ok(Flow::Next);
        }
        1 => qword(w, 4),
        // PS depth count: no pixels here.
        2 => 0,
        _ => gpu_ticks(),
    };
    if flags & (1 << 21) != 0 {
        m.unsupported("PIPE_CONTROL (store to status page)", word(w, 0), m.ctx.ip);
        return Ok(Flow::Next);
    }
    m.write(address(w, 2, 4), &value.to_le_bytes(), "PIPE_CONTROL")?;
    Ok(Flow::Next)
}

/// `SAD` (what is in memory) against `SDD` (the command's dword), in the order of the Bspec.
fn compare(operation: u32, sad: u32, sdd: u32) -> bool {
    match operation & 7 {
        0 => sad > sdd,
        1 => sad >= sdd,
        2 => sad < sdd,
        3 => sad <= sdd,
        4 => sad == sdd,
        5 => sad != sdd,
        // Reserved: never passes, as nothing is promised.
        _ => false,
    }
}

pub(super) fn semaphore_wait(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let sdd = if header & (1 << 17) != 0 { m.ctx.gpr(0) as u32 } else { word(w, 1) };
    let sad = if header & (1 << 16) != 0 {
        m.ctx.read_register(word(w, 2), false)
    } else {
        m.read_u32(address(w, 2, 4), "MI_SEMAPHORE_WAIT")?
    };
    Ok(if compare(header >> 12, sad, sdd) { Flow::Next } else { Flow::Park })
}

pub(super) fn conditional_end(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let addr = address(w, 2, 8);
    // With "compare semaphore" the operation field counts; without it the batch ends unless memory > data.
    let operation = if header & (1 << 21) != 0 { header >> 12 } else { 0 };
    let mut sad = m.read_u32(addr, "MI_CONDITIONAL_BATCH_BUFFER_END")?;
    if header & (1 << 19) != 0 {
        sad &= m.read_u32(addr + 4, "MI_CONDITIONAL_BATCH_BUFFER_END")?;
    }
    if compare(operation, sad, word(w, 1)) {
        return Ok(Flow::Next);
    }
    if header & (1 << 18) == 0 {
        m.ctx.stack.clear();
    }
    batch_end(m, w)
}

pub(super) fn load_register_imm(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let relative = word(w, 0) & (1 << 19) != 0;
    for pair in w.get(1..).unwrap_or_default().chunks_exact(2) {
        m.ctx.write_register(word(pair, 0), relative, word(pair, 1));
    }
    Ok(Flow::Next)
}

pub(super) fn load_register_mem(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let value = m.read_u32(address(w, 2, 4), "MI_LOAD_REGISTER_MEM")?;
    m.ctx.write_register(word(w, 1), word(w, 0) & (1 << 19) != 0, value);
    Ok(Flow::Next)
}

pub(super) fn load_register_reg(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let value = m.ctx.read_register(word(w, 1), header & (1 << 18) != 0);
    m.ctx.write_register(word(w, 2), header & (1 << 19) != 0, value);
    Ok(Flow::Next)
}

pub(super) fn store_register_mem(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let value = m.ctx.read_register(word(w, 1), word(w, 0) & (1 << 19) != 0);
    m.write(address(w, 2, 4), &value.to_le_bytes(), "MI_STORE_REGISTER_MEM")?;
    Ok(Flow::Next)
}

pub(super) fn copy_mem_mem(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let value = m.read_u32(address(w, 3, 4), "MI_COPY_MEM_MEM")?;
    m.write(address(w, 1, 4), &value.to_le_bytes(), "MI_COPY_MEM_MEM")?;
    Ok(Flow::Next)
}

pub(super) fn math(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    math::run(m.ctx, w.get(1..).unwrap_or_default())?;
    Ok(Flow::Next)
}

pub(super) fn set_predicate(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    m.ctx.predicate = word(w, 0) & 0xf;
    Ok(Flow::Next)
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn semaphore_compares_memory_against_data() {
        let table = [(0, [false, false, true]), (1, [false, true, true]), (2, [true, false, false])];
        for (op, want) in table {
            assert_eq!([compare(op, 1, 2), compare(op, 2, 2), compare(op, 3, 2)], want, "op {op}");
        }
        assert!(compare(4, 2, 2) && !compare(5, 2, 2) && !compare(7, 2, 2));
    }
}
