//! MI_ATOMIC: read-modify-write of 4 or 8 bytes by the streamer.
//!
//! Not atomic against a client that writes the same bytes at the same moment: the model reads, computes and writes.

use super::{Effect, Flow, Machine, word};
use crate::device::vm::VA_MASK;

const BY: &str = "MI_ATOMIC";

pub(super) fn run(m: &mut Machine<'_>, w: &[u32]) -> Effect {
    let header = word(w, 0);
    let addr = (u64::from(word(w, 1) & !3) | u64::from(word(w, 2)) << 32) & VA_MASK;
    let opcode = (header >> 8) & 0xff;
    let wide = match (header >> 19) & 3 {
        0 => false,
        1 => true,
        _ => {
            m.unsupported("MI_ATOMIC (128 bit)", header, m.ctx.ip);
            return Ok(Flow::Next);
        }
    };
    // Operands are inline (dwords 3, 5 and 4, 6) or in general-purpose registers 0 and 1.
    let (first, second) = if header & (1 << 18) != 0 {
        let pair = |i| u64::from(word(w, i)) | u64::from(word(w, i + 2)) << 32;
        (pair(3), pair(4))
    } else {
        (m.ctx.gpr(0), m.ctx.gpr(1))
    };
    let old = if wide { m.read_u64(addr, BY)? } else { u64::from(m.read_u32(addr, BY)?) };
    let Some(new) = compute(opcode & 0x1f, wide, old, first, second) else {
        m.unsupported("MI_ATOMIC (operation)", header, m.ctx.ip);
        return Ok(Flow::Next);
    };
    let bytes = new.to_le_bytes();
    m.write(addr, if wide { &bytes } else { &bytes[..4] }, BY)?;
    if header & (1 << 16) != 0 {
        m.ctx.set_gpr(0, old);
    }
    Ok(Flow::Next)
}

/// The new value; `None` for an operation without a model. Opcodes as in the Bspec's list for 4 bytes (8-byte ones
/// are the same plus 0x20).
fn compute(opcode: u32, wide: bool, old: u64, first: u64, second: u64) -> Option<u64> {
    let mask = if wide { u64::MAX } else { u64::from(u32::MAX) };
    let first = first & mask;
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as u32 as i32) };
    let new = match opcode {
        0x01 => old & first,
        0x02 => old | first,
        0x03 => old ^ first,
        0x04 => first,
        0x05 => old.wrapping_add(1),
        0x06 => old.wrapping_sub(1),
        0x07 => old.wrapping_add(first),
        0x08 => old.wrapping_sub(first),
        0x09 => first.wrapping_sub(old),
        0x0a => {
            if signed(old) >= signed(first) {
                old
            } else {
                first
            }
        }
        0x0b => {
            if signed(old) <= signed(first) {
                old
            } else {
                first
            }
        }
        0x0c => old.max(first),
        0x0d => old.min(first),
        0x0e => {
            if old == first {
                second
            } else {
                old
            }
        }
        _ => return None,
    };
    Some(new & mask)
}

#[cfg(test)]
mod tests {
    use super::compute;

    #[test]
    fn atomic_decrement_wraps_in_its_own_width() {
        assert_eq!(compute(0x06, false, 0, 0, 0), Some(0xffff_ffff));
        assert_eq!(compute(0x06, true, 0, 0, 0), Some(u64::MAX));
    }

    #[test]
    fn atomic_signed_maximum_looks_at_the_sign() {
        assert_eq!(compute(0x0a, false, 0xffff_ffff, 1, 0), Some(1));
        assert_eq!(compute(0x0c, false, 0xffff_ffff, 1, 0), Some(0xffff_ffff));
    }

    #[test]
    fn atomic_compare_and_write_changes_only_on_equality() {
        assert_eq!(compute(0x0e, true, 7, 7, 9), Some(9));
        assert_eq!(compute(0x0e, true, 8, 7, 9), Some(8));
        assert_eq!(compute(0x1f, true, 8, 7, 9), None);
    }
}
