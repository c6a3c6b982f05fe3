//! Operands as places in the register block.

use super::super::float;
use super::super::micro::{At, Source, Target};
use super::super::regs::{self, REG};
use super::{Refusal, refuse};
use crate::isa::{Dst, ExecSize, Place, RegFile, Region, Src, SrcMod, Type};

fn direct(file: RegFile, reg: u8, sub: usize, reach: usize) -> Result<u32, Refusal> {
    let Some((start, len)) = regs::span(file) else { return refuse(format!("register file {file:?}")) };
    // Flag registers are four bytes each and lie side by side.
    let at = usize::from(reg) * if file == RegFile::Flag { 4 } else { REG } + sub;
    if at + reach > len {
        return refuse("operand beyond its register file");
    }
    Ok((start + at) as u32)
}

pub(super) fn target(dst: &Dst, lanes: ExecSize) -> Result<Target, Refusal> {
    let size = usize::from(dst.ty.size());
    let step = usize::from(dst.hstride.max(1)) * size;
    let reach = step * (usize::from(lanes.lanes()) - 1) + size;
    Ok(match dst.place {
        Place::Direct { file: RegFile::Null, .. } => Target::Null,
        Place::Direct { file, reg, sub } => {
            if matches!(file, RegFile::Ip | RegFile::Ce) {
                return refuse(format!("writing {file:?}"));
            }
            Target::Line { off: direct(file, reg, sub.into(), reach)?, step: step as u16 }
        }
        Place::Macro { file: RegFile::Null, .. } => Target::Null,
        Place::Macro { file, reg, .. } => {
            Target::Line { off: direct(file, reg, 0, reach)?, step: step as u16 }
        }
        Place::Indirect { addr, offset } => Target::Moving { addr, imm: offset, step: step as u16 },
    })
}

/// `dst` is the instruction's destination, by which the elements of an immediate vector are chosen.
pub(super) fn source(src: &Src, dst: Option<&Dst>, lanes: ExecSize) -> Result<Source, Refusal> {
    let n = usize::from(lanes.lanes());
    match *src {
        Src::Imm { bits, ty } => immediate(bits, ty, dst, n),
        Src::Reg { place: Place::Direct { file: RegFile::Null, .. }, ty, modifier, .. } => {
            Ok(Source { at: At::Imm(0), ty, modifier })
        }
        Src::Reg { place, region, modifier, ty } => {
            let size = usize::from(ty.size());
            if size == 0 {
                return refuse("source type");
            }
            // Rows of `w` elements `h` apart, `v` from one row to the next; in bytes from here on.
            let (v, w, h) = match region {
                Region::Vwh { v, w, h } => (v, w.max(1), h),
                Region::Vxh { w, h } => (0, w.max(1), h),
                Region::Vh { v, h } => (v, if h == 0 || v < h { 1 } else { v / h }, h),
                Region::H { h } => (h, 1, h),
            };
            if !w.is_power_of_two() {
                return refuse("source region");
            }
            let shift = w.trailing_zeros() as u8;
            let (v, h) = (usize::from(v) * size, usize::from(h) * size);
            let rows = (n - 1) >> shift;
            let in_row = (n - 1).min(usize::from(w) - 1);
            let reach = rows * v + in_row * h + size;
            let linear = if n == 1 {
                Some(0)
            } else if w == 1 {
                Some(v)
            } else if usize::from(w) >= n || v == usize::from(w) * h {
                Some(h)
            } else {
                None
            };
            let at = match place {
                Place::Indirect { addr, offset } if matches!(region, Region::Vxh { .. }) => {
                    if usize::from(addr) + rows >= 16 {
                        return refuse("addresses beyond a0");
                    }
                    At::PerRow { addr, imm: offset, h: h as u16, shift }
                }
                Place::Indirect { addr, offset } => {
                    At::Moving { addr, imm: offset, v: v as u16, h: h as u16, shift }
                }
                Place::Direct { .. } if matches!(region, Region::Vxh { .. }) => {
                    return refuse("source region");
                }
                Place::Direct { file, reg, sub } => {
                    let off = direct(file, reg, sub.into(), reach)?;
                    match linear {
                        Some(step) => At::Line { off, step: step as u16 },
                        None => At::Grid { off, v: v as u16, h: h as u16, shift },
                    }
                }
                Place::Macro { file, reg, .. } => {
                    let off = direct(file, reg, 0, size * n)?;
                    At::Line { off, step: size as u16 }
                }
            };
            Ok(Source { at, ty, modifier })
        }
    }
}

fn immediate(bits: u64, ty: Type, dst: Option<&Dst>, lanes: usize) -> Result<Source, Refusal> {
    let nibble = |i: usize| (bits >> (4 * i) & 15) as i8;
    let (at, ty) = match ty {
        Type::V | Type::Uv => {
            let apart = elements_apart(dst, lanes, 2)?;
            let signed = |n: i8| if ty == Type::V && n > 7 { n - 16 } else { n };
            let elements = std::array::from_fn(|i| signed(nibble(i * apart % 8)));
            (At::Vector(elements), if ty == Type::V { Type::W } else { Type::Uw })
        }
        Type::Vf => {
            elements_apart(dst, lanes, 4)?;
            let value = |i: usize| float::from_restricted((bits >> (8 * i)) as u8);
            (At::Floats(std::array::from_fn(value)), Type::F)
        }
        Type::U1 | Type::U2 | Type::S2 | Type::U4 | Type::S4 => return refuse("immediate type"),
        ty => (At::Imm(bits), ty),
    };
    Ok(Source { at, ty, modifier: SrcMod::None })
}

/// From one channel's element of an immediate vector to the next's. The elements lie as if the vector were `size`-byte numbers
/// from an octaword's start on: a channel takes the one at its destination's place.
///
/// The destination is to have the elements' stride (PRM, "Immediate"). Of other strides the compiler relies on the one of
/// doublewords for integer elements, within the octaword: channel `i` takes element `2 i` (IGC, `fixDstAlignmentWithVectorImm`).
fn elements_apart(dst: Option<&Dst>, lanes: usize, size: usize) -> Result<usize, Refusal> {
    let Some(dst) = dst else { return Ok(1) };
    if matches!(dst.place, Place::Direct { sub, .. } if sub % 16 != 0) {
        return refuse("immediate vector and a destination off an octaword's start");
    }
    match usize::from(dst.hstride.max(1)) * usize::from(dst.ty.size()) {
        step if step == size => Ok(1),
        4 if size == 2 && lanes <= 4 => Ok(2),
        step => refuse(format!("immediate vector and a destination stride of {step} bytes")),
    }
}
