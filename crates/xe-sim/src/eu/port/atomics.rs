//! Atomics: what becomes of each channel's word.

use super::super::memory::GpuMemory;
use super::super::message::{Access, Atomic, Message, Model};
use super::super::operand::Lanes;
use super::super::regs::{LANES, REG, Regs};
use super::{Port, Surface, Trouble};

impl<M: GpuMemory> Port<'_, M> {
    pub(super) fn atomics(
        &mut self,
        regs: &mut Regs,
        message: &Message,
        access: &Access,
        surface: Surface,
        (op, exec, data, offsets): (Atomic, u32, usize, &Lanes<u64>),
    ) -> Result<(), Trouble> {
        let (size, reg_size) = (usize::from(access.size), usize::from(access.reg_size));
        let lanes = usize::from(access.lanes);
        if size == 1 || (is_float(op) && size != 4) {
            return Err(Trouble::Unsupported("atomic on this data size".into()));
        }
        let stride = (lanes * reg_size).next_multiple_of(REG);
        let mut old: Lanes<u64> = [0; LANES];
        let operand = |regs: &Regs, k: usize, lane: usize| -> u64 {
            let mut wide = [0u8; 8];
            let bytes = regs.at(data + k * stride + lane * reg_size, size);
            wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(wide)
        };
        if let Some(before) = op.operands().checked_sub(1) {
            Self::payload(regs, data, before * stride + lanes * reg_size)?;
        }
        for (lane, (offset, slot)) in offsets.iter().zip(&mut old).enumerate().take(lanes) {
            if exec >> lane & 1 == 0 {
                continue;
            }
            let (a, b) = (operand(regs, 0, lane), operand(regs, 1, lane));
            if offset.saturating_add(size as u64) > surface.size {
                self.stats.out_of_bounds += size as u64;
                continue;
            }
            self.stats.atomics += 1;
            if !offset.wrapping_add(surface.base).is_multiple_of(size as u64) {
                return Err(Trouble::Unsupported(
                    "atomic at an address that is no multiple of its size".into(),
                ));
            }
            let mut update = |old: u64| apply(op, size, old, a, b);
            if access.model == Model::Slm {
                let start = *offset as usize;
                let Some(bytes) = self.slm.get_mut(start..start + size) else { continue };
                let mut wide = [0u8; 8];
                wide.iter_mut().zip(&*bytes).for_each(|(to, from)| *to = *from);
                *slot = u64::from_le_bytes(wide);
                if let Some(new) = update(*slot) {
                    bytes.iter_mut().zip(new.to_le_bytes()).for_each(|(to, from)| *to = from);
                }
            } else {
                let (value, found) =
                    self.memory.atomic(surface.base.wrapping_add(*offset), size, &mut update)?;
                *slot = value;
                self.stats.read += size as u64;
                self.stats.read_missed += found.missed;
            }
        }
        let Some(dst) = message.dst else { return Ok(()) };
        Self::payload(regs, dst, lanes * reg_size)?;
        for (lane, value) in old.iter().enumerate().take(lanes) {
            if exec >> lane & 1 != 0 {
                let at = dst + lane * reg_size;
                if reg_size == 8 { regs.set(at, *value) } else { regs.set(at, *value as u32) }
            }
        }
        Ok(())
    }
}

fn is_float(op: Atomic) -> bool {
    matches!(
        op,
        Atomic::FloatAdd
            | Atomic::FloatSub
            | Atomic::FloatMin
            | Atomic::FloatMax
            | Atomic::FloatCompareExchange
    )
}

/// New value, or none where memory stays as it is. Only the lower `size` bytes count.
fn apply(op: Atomic, size: usize, old: u64, a: u64, b: u64) -> Option<u64> {
    let signed = |value: u64| {
        let shift = 64 - 8 * size.clamp(1, 8) as u32;
        ((value << shift) as i64) >> shift
    };
    let float = |value: u64| f32::from_bits(value as u32);
    let real = |value: f32| Some(u64::from(value.to_bits()));
    match op {
        Atomic::Inc => Some(old.wrapping_add(1)),
        Atomic::Dec => Some(old.wrapping_sub(1)),
        Atomic::Load => None,
        Atomic::Store => Some(a),
        Atomic::Add => Some(old.wrapping_add(a)),
        Atomic::Sub => Some(old.wrapping_sub(a)),
        Atomic::SignedMin => Some(if signed(a) < signed(old) { a } else { old }),
        Atomic::SignedMax => Some(if signed(a) > signed(old) { a } else { old }),
        Atomic::Min => Some(old.min(a)),
        Atomic::Max => Some(old.max(a)),
        Atomic::CompareExchange => (old == a).then_some(b),
        Atomic::And => Some(old & a),
        Atomic::Or => Some(old | a),
        Atomic::Xor => Some(old ^ a),
        Atomic::FloatAdd => real(float(old) + float(a)),
        Atomic::FloatSub => real(float(old) - float(a)),
        Atomic::FloatMin => {
            real(if float(a) < float(old) || float(old).is_nan() { float(a) } else { float(old) })
        }
        Atomic::FloatMax => {
            real(if float(a) > float(old) || float(old).is_nan() { float(a) } else { float(old) })
        }
        Atomic::FloatCompareExchange => (float(old) == float(a)).then_some(b),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::{self, Fault};
    use super::super::super::message::{Kind, What};
    use super::super::tests::dispatch;
    use super::*;
    use crate::isa::{Desc, Sfid};

    /// Zeros everywhere.
    struct Zeros;

    impl GpuMemory for Zeros {
        fn read(&mut self, _: u64, buf: &mut [u8]) -> Result<memory::Access, Fault> {
            buf.fill(0);
            Ok(memory::Access::default())
        }

        fn write(&mut self, _: u64, _: &[u8]) -> Result<memory::Access, Fault> {
            Ok(memory::Access::default())
        }
    }

    #[test]
    fn atomics_need_their_operands_in_registers() {
        let dispatch = dispatch();
        let atomic = |op, register: usize| {
            let message = Message {
                sfid: Sfid::Ugm,
                desc: Desc::Imm(0),
                ex_desc: Desc::Imm(0),
                ex_bso: false,
                eot: false,
                lanes: 8,
                src0: 0,
                src1: Some(register * REG),
                dst: None,
                kind: Ok(Kind::Late),
            };
            let (what, model) = (What::Atomic(op), Model::Flat);
            let access =
                Access { what, model, addr: 4, size: 4, reg_size: 4, count: 1, lanes: 8, transposed: false };
            Port::new(&mut Zeros, &dispatch).access(&mut Regs::new(), &message, &access, 0xff, 0).is_ok()
        };
        assert_eq!([254, 255].map(|register| atomic(Atomic::CompareExchange, register)), [true, false]);
        assert_eq!([255, 256].map(|register| atomic(Atomic::Add, register)), [true, false]);
        assert!(atomic(Atomic::Inc, 256), "it takes none");
    }
}
