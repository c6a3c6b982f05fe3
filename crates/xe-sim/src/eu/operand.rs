//! Moving channels between registers and arrays.

use super::micro::{At, Source, Target};
use super::regs::{ADDR, GRF_BYTES, LANES, Raw, Regs};
use crate::isa::{SrcMod, Type};

/// An address register pointed out of the general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutOfRegisters(pub i32);

pub(super) type Lanes<T> = [T; LANES];

fn address(regs: &Regs, addr: u8, imm: i16, extra: usize, size: usize) -> Result<usize, OutOfRegisters> {
    let base = i32::from(regs.get::<u16>(ADDR + usize::from(addr & 15) * 2));
    let at = base + i32::from(imm) + extra as i32;
    usize::try_from(at).ok().filter(|at| at + size <= GRF_BYTES).ok_or(OutOfRegisters(at))
}

/// The first `n` channels of a source, as bits of `T::SIZE` bytes.
#[inline]
pub(super) fn gather<T: Raw>(
    regs: &Regs,
    at: &At,
    n: usize,
    imm: impl Fn(u64) -> T,
    out: &mut Lanes<T>,
) -> Result<(), OutOfRegisters> {
    let out = out.get_mut(..n).unwrap_or_default();
    match *at {
        At::Imm(bits) => out.fill(imm(bits)),
        // The typed readers have taken these already.
        At::Vector(_) | At::Floats(_) => out.fill(T::default()),
        At::Line { off, step } => {
            let (off, step) = (off as usize, usize::from(step));
            if step == T::SIZE {
                let bytes = regs.at(off, n * T::SIZE);
                for (slot, chunk) in out.iter_mut().zip(bytes.chunks_exact(T::SIZE)) {
                    *slot = T::load(chunk);
                }
            } else if step == 0 {
                out.fill(regs.get(off));
            } else {
                for (i, slot) in out.iter_mut().enumerate() {
                    *slot = regs.get(off + i * step);
                }
            }
        }
        At::Grid { off, v, h, shift } => {
            let mask = (1usize << shift) - 1;
            for (i, slot) in out.iter_mut().enumerate() {
                *slot = regs.get(off as usize + (i >> shift) * usize::from(v) + (i & mask) * usize::from(h));
            }
        }
        At::PerRow { addr, imm, h, shift } => {
            let mask = (1usize << shift) - 1;
            for (i, slot) in out.iter_mut().enumerate() {
                let row = (i >> shift) as u8;
                let extra = (i & mask) * usize::from(h);
                *slot = regs.get(address(regs, addr.wrapping_add(row), imm, extra, T::SIZE)?);
            }
        }
        At::Moving { addr, imm, v, h, shift } => {
            let mask = (1usize << shift) - 1;
            for (i, slot) in out.iter_mut().enumerate() {
                let extra = (i >> shift) * usize::from(v) + (i & mask) * usize::from(h);
                *slot = regs.get(address(regs, addr, imm, extra, T::SIZE)?);
            }
        }
    }
    Ok(())
}

/// Writes channels `mask` of `values`.
#[inline]
pub(super) fn scatter<T: Raw>(
    regs: &mut Regs,
    target: Target,
    n: usize,
    mask: u32,
    values: &Lanes<T>,
) -> Result<(), OutOfRegisters> {
    let values = values.get(..n).unwrap_or_default();
    match target {
        Target::Null => {}
        Target::Line { off, step } => {
            let (off, step) = (off as usize, usize::from(step));
            if step == T::SIZE {
                let bytes = regs.at_mut(off, n * T::SIZE);
                if mask == u32::MAX >> (32 - n as u32) {
                    for (value, chunk) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE)) {
                        value.put(chunk);
                    }
                } else {
                    for (i, (value, chunk)) in values.iter().zip(bytes.chunks_exact_mut(T::SIZE)).enumerate()
                    {
                        if mask >> i & 1 != 0 {
                            value.put(chunk);
                        }
                    }
                }
            } else {
                for (i, value) in values.iter().enumerate() {
                    if mask >> i & 1 != 0 {
                        regs.set(off + i * step, *value);
                    }
                }
            }
        }
        Target::Moving { addr, imm, step } => {
            for (i, value) in values.iter().enumerate() {
                if mask >> i & 1 != 0 {
                    let at = address(regs, addr, imm, i * usize::from(step), T::SIZE)?;
                    regs.set(at, *value);
                }
            }
        }
    }
    Ok(())
}

/// Integer channels, extended to 64 bits.
pub(super) fn wide(regs: &Regs, source: &Source, n: usize) -> Result<Lanes<i64>, OutOfRegisters> {
    let mut out = [0i64; LANES];
    if let At::Vector(elements) = &source.at {
        for (slot, element) in out.iter_mut().zip(elements.iter().cycle()) {
            *slot = i64::from(*element);
        }
        return Ok(out);
    }
    macro_rules! take {
        ($raw:ty, $as:ty) => {{
            let mut raw = [0; LANES];
            gather::<$raw>(regs, &source.at, n, |bits| bits as $raw, &mut raw)?;
            for (slot, raw) in out.iter_mut().zip(raw) {
                *slot = raw as $as as i64;
            }
        }};
    }
    match source.ty {
        Type::Ub => take!(u8, u8),
        Type::B => take!(u8, i8),
        Type::Uw => take!(u16, u16),
        Type::W => take!(u16, i16),
        Type::Ud => take!(u32, u32),
        Type::D => take!(u32, i32),
        _ => take!(u64, i64),
    }
    Ok(out)
}

/// Integer channels, extended or cut to 32 bits.
#[inline]
pub(super) fn words(regs: &Regs, source: &Source, n: usize) -> Result<Lanes<u32>, OutOfRegisters> {
    let mut out = [0u32; LANES];
    if matches!(source.at, At::Vector(_)) {
        return Ok(wide(regs, source, n)?.map(|value| value as u32));
    }
    macro_rules! take {
        ($raw:ty, $as:ty) => {{
            let mut raw = [0; LANES];
            gather::<$raw>(regs, &source.at, n, |bits| bits as $raw, &mut raw)?;
            for (slot, raw) in out.iter_mut().zip(raw) {
                *slot = raw as $as as u32;
            }
        }};
    }
    match source.ty {
        Type::Ud | Type::D => gather::<u32>(regs, &source.at, n, |bits| bits as u32, &mut out)?,
        Type::Ub => take!(u8, u8),
        Type::B => take!(u8, i8),
        Type::Uw => take!(u16, u16),
        Type::W => take!(u16, i16),
        _ => {
            for (slot, value) in out.iter_mut().zip(wide(regs, source, n)?) {
                *slot = value as u32;
            }
        }
    }
    Ok(out)
}

/// Modifiers of arithmetic sources.
#[inline]
pub(super) fn modify_words(values: &mut Lanes<u32>, modifier: SrcMod) {
    match modifier {
        SrcMod::None => {}
        SrcMod::Neg => values.iter_mut().for_each(|v| *v = v.wrapping_neg()),
        SrcMod::Abs => values.iter_mut().for_each(|v| *v = (*v as i32).wrapping_abs() as u32),
        SrcMod::NegAbs => {
            values.iter_mut().for_each(|v| *v = (*v as i32).wrapping_abs().wrapping_neg() as u32);
        }
    }
}

pub(super) fn modify_wide(values: &mut Lanes<i64>, modifier: SrcMod) {
    match modifier {
        SrcMod::None => {}
        SrcMod::Neg => values.iter_mut().for_each(|v| *v = v.wrapping_neg()),
        SrcMod::Abs => values.iter_mut().for_each(|v| *v = v.wrapping_abs()),
        SrcMod::NegAbs => values.iter_mut().for_each(|v| *v = v.wrapping_abs().wrapping_neg()),
    }
}
