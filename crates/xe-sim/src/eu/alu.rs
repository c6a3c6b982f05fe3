//! Executes the arithmetic of a lowered instruction.

#[cfg(test)]
mod tests;

use super::float::{self, Mode, Round};
use super::int;
use super::math::{self, MathOp};
use super::micro::{At, Body, Float, Int, Micro, Source, Target};
use super::operand::{self, Lanes, OutOfRegisters, modify_wide, modify_words, scatter};
use super::regs::{ACC, CR, FLAG, LANES, Regs};
use crate::isa::{CondMod, SrcMod, Type};

type Outcome = Result<(), OutOfRegisters>;

/// `exec`: channels to write, from bit 0. `select`: the predicate of `sel`.
pub(super) fn execute(regs: &mut Regs, micro: &Micro, exec: u32, select: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    match &micro.body {
        Body::Copy(size) => copy(regs, micro, *size, exec),
        Body::Int32(op) => {
            let logic = matches!(op, Int::And | Int::Or | Int::Xor | Int::Not);
            let (a, b, c) =
                (word(regs, micro, 0, logic)?, word(regs, micro, 1, logic)?, word(regs, micro, 2, logic)?);
            store_words(regs, micro, exec, &int::words(*op, n, &a, &b, &c, select))
        }
        Body::Int64(op) => {
            let (a, b, c) =
                (wide(regs, micro, 0, *op)?, wide(regs, micro, 1, *op)?, wide(regs, micro, 2, *op)?);
            let out =
                int::wides(*op, n, &a.map(|v| v as u64), &b.map(|v| v as u64), &c.map(|v| v as u64), select);
            store_wide(regs, micro, exec, &out.map(|v| v as i64))
        }
        Body::Compare32(cond, signed) => {
            let (a, b) = (word(regs, micro, 0, false)?, word(regs, micro, 1, false)?);
            let bits = if *signed {
                compare(*cond, n, &a.map(|v| v as i32), &b.map(|v| v as i32))
            } else {
                compare(*cond, n, &a, &b)
            };
            store_bits(regs, micro, exec, bits)
        }
        Body::CompareInt(cond) => {
            let (a, b) = (wide(regs, micro, 0, Int::Mov)?, wide(regs, micro, 1, Int::Mov)?);
            if micro.src[2].is_some() {
                let bits = compare(*cond, n, &wide(regs, micro, 2, Int::Mov)?, &[0; LANES]);
                return store_wide(regs, micro, exec, &pick(bits, &a, &b));
            }
            store_bits(regs, micro, exec, compare(*cond, n, &a, &b))
        }
        Body::CompareFloat(cond) => {
            let mode = Mode::from_cr0(regs.get(CR));
            let (a, b) = (real(regs, micro, 0, mode)?, real(regs, micro, 1, mode)?);
            if micro.src[2].is_some() {
                let bits = compare(*cond, n, &real(regs, micro, 2, mode)?, &[0.0; LANES]);
                return store_reals(regs, micro, exec, mode, &pick(bits, &a, &b));
            }
            store_bits(regs, micro, exec, compare(*cond, n, &a, &b))
        }
        Body::Float(op) => real_op(regs, micro, *op, exec, select),
        Body::FloatToInt => {
            let mode = Mode::from_cr0(regs.get(CR));
            let a = real(regs, micro, 0, mode)?;
            let (low, high) = limits(micro.dst_ty);
            // Truncated, and held within the destination's range; NaN gives zero.
            let out = a.map(|v| (f64::from(v).trunc() as i128).clamp(low, high) as i64);
            store_wide(regs, micro, exec, &out)
        }
        Body::IntToFloat => int_to_float(regs, micro, exec),
        Body::Carry | Body::Borrow => carry(regs, micro, exec),
        Body::MulAcc => {
            let (a, b) = (wide(regs, micro, 0, Int::Mul)?, wide(regs, micro, 1, Int::Mul)?);
            let mut low = [0u32; LANES];
            for i in 0..n.min(LANES) {
                let product = a[i].wrapping_mul(b[i]);
                low[i] = product as u32;
                if exec >> i & 1 != 0 {
                    regs.acc_high[i] = (product >> 32) as u32;
                }
            }
            scatter(regs, micro.dst, n, exec, &low)
        }
        Body::MulHigh | Body::MulLow => mach(regs, micro, exec),
        Body::Math(op) => math_op(regs, micro, *op, exec),
        _ => Ok(()),
    }
}

fn copy(regs: &mut Regs, micro: &Micro, size: u8, exec: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    let Some(source) = &micro.src[0] else { return Ok(()) };
    macro_rules! take {
        ($raw:ty) => {{
            let mut values = [0; LANES];
            operand::gather::<$raw>(regs, &source.at, n, |bits| bits as $raw, &mut values)?;
            scatter(regs, micro.dst, n, exec, &values)?;
            if micro.acc_write {
                scatter(regs, Target::Line { off: ACC as u32, step: size.into() }, n, exec, &values)?;
            }
        }};
    }
    match size {
        1 => take!(u8),
        2 => take!(u16),
        4 => take!(u32),
        _ => take!(u64),
    }
    after_acc(regs, micro, exec);
    Ok(())
}

/// An integer source as words; `logic`: a negation inverts.
pub(super) fn word(regs: &Regs, micro: &Micro, k: usize, logic: bool) -> Result<Lanes<u32>, OutOfRegisters> {
    let Some(Some(source)) = micro.src.get(k) else { return Ok([0; LANES]) };
    let mut values = operand::words(regs, source, usize::from(micro.lanes))?;
    if logic && source.modifier == SrcMod::Neg {
        values.iter_mut().for_each(|v| *v = !*v);
    } else {
        modify_words(&mut values, source.modifier);
    }
    Ok(values)
}

fn wide(regs: &Regs, micro: &Micro, k: usize, op: Int) -> Result<Lanes<i64>, OutOfRegisters> {
    let Some(Some(source)) = micro.src.get(k) else { return Ok([0; LANES]) };
    let mut values = operand::wide(regs, source, usize::from(micro.lanes))?;
    if matches!(op, Int::And | Int::Or | Int::Xor | Int::Not) && source.modifier == SrcMod::Neg {
        values.iter_mut().for_each(|v| *v = !*v);
    } else {
        modify_wide(&mut values, source.modifier);
    }
    Ok(values)
}

/// A float source as `f32`, which holds `hf` and `bf` exactly.
fn real(regs: &Regs, micro: &Micro, k: usize, mode: Mode) -> Result<Lanes<f32>, OutOfRegisters> {
    let Some(Some(source)) = micro.src.get(k) else { return Ok([0.0; LANES]) };
    let mut out = reals(regs, source, usize::from(micro.lanes), mode)?;
    match source.modifier {
        SrcMod::None => {}
        SrcMod::Neg => out.iter_mut().for_each(|v| *v = -*v),
        SrcMod::Abs => out.iter_mut().for_each(|v| *v = v.abs()),
        SrcMod::NegAbs => out.iter_mut().for_each(|v| *v = -v.abs()),
    }
    Ok(out)
}

fn reals(regs: &Regs, source: &Source, n: usize, mode: Mode) -> Result<Lanes<f32>, OutOfRegisters> {
    let mut out = [0f32; LANES];
    if let At::Floats(values) = &source.at {
        for (slot, value) in out.iter_mut().zip(values.iter().cycle()) {
            *slot = *value;
        }
        return Ok(out);
    }
    match source.ty {
        Type::Hf | Type::Bf => {
            let mut raw = [0u16; LANES];
            operand::gather(regs, &source.at, n, |bits| bits as u16, &mut raw)?;
            for (slot, raw) in out.iter_mut().zip(raw).take(n) {
                *slot = if source.ty == Type::Bf {
                    f32::from_bits(u32::from(raw) << 16)
                } else if !mode.keep16 && raw & 0x7c00 == 0 {
                    float::from_f16(raw & 0x8000)
                } else {
                    float::from_f16(raw)
                };
            }
        }
        _ => {
            let mut raw = [0u32; LANES];
            operand::gather(regs, &source.at, n, |bits| bits as u32, &mut raw)?;
            for (slot, raw) in out.iter_mut().zip(raw).take(n) {
                *slot = f32::from_bits(raw);
            }
            if !mode.keep32 {
                out.iter_mut().for_each(|v| *v = float::flush32(*v));
            }
        }
    }
    Ok(out)
}

/// Bit per channel. NaN is unordered: only `ne` and `un` hold for it.
fn compare<T: PartialOrd>(cond: CondMod, n: usize, a: &Lanes<T>, b: &Lanes<T>) -> u32 {
    #[inline(always)]
    fn collect<T>(n: usize, a: &Lanes<T>, b: &Lanes<T>, f: impl Fn(&T, &T) -> bool) -> u32 {
        let mut bits = 0;
        for (i, (a, b)) in a.iter().zip(b).take(n).enumerate() {
            bits |= u32::from(f(a, b)) << i;
        }
        bits
    }
    match cond {
        CondMod::Eq => collect(n, a, b, |a, b| a == b),
        CondMod::Ne => collect(n, a, b, |a, b| a != b),
        CondMod::Gt => collect(n, a, b, |a, b| a > b),
        CondMod::Ge => collect(n, a, b, |a, b| a >= b),
        CondMod::Lt => collect(n, a, b, |a, b| a < b),
        CondMod::Le => collect(n, a, b, |a, b| a <= b),
        CondMod::Un => collect(n, a, b, |a, b| a.partial_cmp(b).is_none()),
        // Refused when the instruction was lowered.
        CondMod::Ov | CondMod::Eo => 0,
    }
}

fn pick<T: Copy>(bits: u32, a: &Lanes<T>, b: &Lanes<T>) -> Lanes<T> {
    let mut out = *b;
    for (i, (slot, a)) in out.iter_mut().zip(a).enumerate() {
        if bits >> i & 1 != 0 {
            *slot = *a;
        }
    }
    out
}

fn set_flags(regs: &mut Regs, micro: &Micro, exec: u32, bits: u32) {
    let shift = u32::from(micro.flag_bit);
    let (exec, bits) = (u64::from(exec).wrapping_shl(shift), u64::from(bits).wrapping_shl(shift));
    regs.set_flags(regs.flags() & !exec | bits & exec);
}

/// The result of `cmp`: the flag, and all ones or zeros in the destination.
fn store_bits(regs: &mut Regs, micro: &Micro, exec: u32, bits: u32) -> Outcome {
    set_flags(regs, micro, exec, bits);
    if matches!(micro.dst, Target::Null) {
        return Ok(());
    }
    let n = usize::from(micro.lanes);
    let mut ones = [0u32; LANES];
    for (i, slot) in ones.iter_mut().enumerate() {
        *slot = if bits >> i & 1 != 0 { u32::MAX } else { 0 };
    }
    put_words(regs, micro.dst, micro.dst_ty, n, exec, &ones)
}

fn put_words(regs: &mut Regs, dst: Target, ty: Type, n: usize, exec: u32, values: &Lanes<u32>) -> Outcome {
    match ty.size() {
        1 => scatter(regs, dst, n, exec, &values.map(|v| v as u8)),
        2 => scatter(regs, dst, n, exec, &values.map(|v| v as u16)),
        4 => scatter(regs, dst, n, exec, values),
        _ => scatter(regs, dst, n, exec, &values.map(|v| v as i32 as u64)),
    }
}

fn acc_target(micro: &Micro) -> Target {
    Target::Line { off: ACC as u32, step: micro.dst_ty.size().into() }
}

#[inline]
fn store_words(regs: &mut Regs, micro: &Micro, exec: u32, values: &Lanes<u32>) -> Outcome {
    let n = usize::from(micro.lanes);
    put_words(regs, micro.dst, micro.dst_ty, n, exec, values)?;
    if micro.acc_write {
        put_words(regs, acc_target(micro), micro.dst_ty, n, exec, values)?;
    }
    if let Some(cond) = micro.cond {
        let values = values.map(|v| cut(v.into(), micro.dst_ty));
        let bits = compare(cond, n, &values, &[0; LANES]);
        set_flags(regs, micro, exec, bits);
    }
    after_acc(regs, micro, exec);
    Ok(())
}

fn store_wide(regs: &mut Regs, micro: &Micro, exec: u32, values: &Lanes<i64>) -> Outcome {
    let n = usize::from(micro.lanes);
    let mut values = *values;
    if micro.saturate {
        let (low, high) = limits(micro.dst_ty);
        values.iter_mut().for_each(|v| *v = i128::from(*v).clamp(low, high) as i64);
    }
    let put = |regs: &mut Regs, dst: Target| match micro.dst_ty.size() {
        1 => scatter(regs, dst, n, exec, &values.map(|v| v as u8)),
        2 => scatter(regs, dst, n, exec, &values.map(|v| v as u16)),
        4 => scatter(regs, dst, n, exec, &values.map(|v| v as u32)),
        _ => scatter(regs, dst, n, exec, &values.map(|v| v as u64)),
    };
    put(regs, micro.dst)?;
    if micro.acc_write {
        put(regs, acc_target(micro))?;
    }
    if let Some(cond) = micro.cond
        && !matches!(micro.body, Body::CompareInt(_))
    {
        let bits = compare(cond, n, &values.map(|v| cut(v as u64, micro.dst_ty)), &[0; LANES]);
        set_flags(regs, micro, exec, bits);
    }
    after_acc(regs, micro, exec);
    Ok(())
}

/// The upper half of an accumulator's element follows what an ordinary instruction put into the lower. Those of
/// the other accumulators stay: a product may be under way in acc0 while acc2 is in use.
fn after_acc(regs: &mut Regs, micro: &Micro, exec: u32) {
    let first = match micro.dst {
        Target::Line { off, .. } if (ACC..FLAG).contains(&(off as usize)) => (off as usize - ACC) / 4,
        _ if micro.acc_write => 0,
        _ => return,
    };
    if micro.dst_ty.is_float() {
        return;
    }
    for i in 0..usize::from(micro.lanes) {
        if exec >> i & 1 == 0 {
            continue;
        }
        let low: u32 = regs.get(ACC + 4 * (first + i));
        if let Some(high) = regs.acc_high.get_mut(first + i) {
            *high = if micro.dst_ty.is_signed_int() { ((low as i32) >> 31) as u32 } else { 0 };
        }
    }
}

/// A value as its type holds it.
fn cut(value: u64, ty: Type) -> i64 {
    match ty {
        Type::Ub => i64::from(value as u8),
        Type::B => i64::from(value as i8),
        Type::Uw => i64::from(value as u16),
        Type::W => i64::from(value as i16),
        Type::Ud => i64::from(value as u32),
        Type::D => i64::from(value as i32),
        _ => value as i64,
    }
}

/// Range of an integer type.
fn limits(ty: Type) -> (i128, i128) {
    let bits = u32::from(ty.size().max(1)) * 8;
    if ty.is_signed_int() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

fn store_reals(regs: &mut Regs, micro: &Micro, exec: u32, mode: Mode, values: &Lanes<f32>) -> Outcome {
    let mut values = *values;
    if micro.saturate {
        // NaN becomes zero.
        values.iter_mut().for_each(|v| *v = if *v > 0.0 { v.min(1.0) } else { 0.0 });
    }
    if !mode.keep32 && micro.dst_ty == Type::F {
        values.iter_mut().for_each(|v| *v = float::flush32(*v));
    }
    let n = usize::from(micro.lanes);
    let round = mode.round;
    let put = |regs: &mut Regs, dst: Target| match micro.dst_ty {
        Type::Hf => {
            let flush = |bits: u16| if !mode.keep16 && bits & 0x7c00 == 0 { bits & 0x8000 } else { bits };
            scatter(regs, dst, n, exec, &values.map(|v| flush(float::to_f16(v.into(), round))))
        }
        Type::Bf => scatter(regs, dst, n, exec, &values.map(|v| float::to_bf16(v.into(), round))),
        _ => scatter(regs, dst, n, exec, &values.map(f32::to_bits)),
    };
    put(regs, micro.dst)?;
    if micro.acc_write {
        put(regs, acc_target(micro))?;
    }
    if let Some(cond) = micro.cond
        && !matches!(micro.body, Body::CompareFloat(_))
    {
        let bits = compare(cond, n, &values, &[0.0; LANES]);
        set_flags(regs, micro, exec, bits);
    }
    Ok(())
}

/// `value`, exact to odd, as the `f32` from which the destination's own rounding gives the right result.
fn settle(value: f64, ty: Type, round: Round) -> f32 {
    if ty == Type::F {
        return float::to_f32(value, round);
    }
    let cut = float::to_f32(value, Round::Zero);
    let inexact = f64::from(cut) != value && !value.is_nan() && cut.is_finite();
    f32::from_bits(cut.to_bits() | u32::from(inexact))
}

fn real_op(regs: &mut Regs, micro: &Micro, op: Float, exec: u32, select: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    let mode = Mode::from_cr0(regs.get(CR));
    let a = real(regs, micro, 0, mode)?;
    let b = real(regs, micro, 1, mode)?;
    let plain = mode.round == Round::Even && micro.dst_ty == Type::F;
    let mut out = [0f32; LANES];
    macro_rules! each {
        (|$x:ident| $e:expr) => {
            for (slot, $x) in out.iter_mut().zip(a).take(n) {
                *slot = $e;
            }
        };
        (|$x:ident, $y:ident| $e:expr) => {
            for ((slot, $x), $y) in out.iter_mut().zip(a).zip(b).take(n) {
                *slot = $e;
            }
        };
    }
    match op {
        Float::Mov => out = a,
        Float::Add if plain => each!(|a, b| a + b),
        Float::Mul if plain => each!(|a, b| a * b),
        Float::Add => each!(|a, b| {
            let (sum, error) = float::two_sum(a.into(), b.into());
            settle(float::to_odd(sum, error), micro.dst_ty, mode.round)
        }),
        Float::Mul => each!(|a, b| settle(f64::from(a) * f64::from(b), micro.dst_ty, mode.round)),
        Float::Mad => {
            let c = real(regs, micro, 2, mode)?;
            for (((slot, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c).take(n) {
                let exact = float::fused_odd(b, c, a);
                *slot = if plain { exact as f32 } else { settle(exact, micro.dst_ty, mode.round) };
            }
        }
        Float::Select => out = pick(select, &a, &b),
        // A NaN loses against a number.
        Float::Min => each!(|a, b| if a < b || b.is_nan() { a } else { b }),
        Float::Max => each!(|a, b| if a >= b || b.is_nan() { a } else { b }),
        Float::Frc => each!(|a| a - a.floor()),
        Float::Floor => each!(|a| a.floor()),
        Float::Ceil => each!(|a| a.ceil()),
        Float::Even => each!(|a| a.round_ties_even()),
        Float::Trunc => each!(|a| a.trunc()),
    }
    store_reals(regs, micro, exec, mode, &out)
}

fn int_to_float(regs: &mut Regs, micro: &Micro, exec: u32) -> Outcome {
    let mode = Mode::from_cr0(regs.get(CR));
    let values = wide(regs, micro, 0, Int::Mov)?;
    let unsigned = matches!(micro.src.first(), Some(Some(Source { ty: Type::Uq, .. })));
    let out = values.map(|v| {
        // 64-bit integers in two halves, each exact.
        let low = (v as u64 & 0xffff_ffff) as f64;
        let high = if unsigned { ((v as u64) >> 32) as f64 } else { (v >> 32) as f64 };
        let (sum, error) = float::two_sum(high * 4_294_967_296.0, low);
        settle(float::to_odd(sum, error), micro.dst_ty, mode.round)
    });
    store_reals(regs, micro, exec, mode, &out)
}

fn carry(regs: &mut Regs, micro: &Micro, exec: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    let (a, b) = (word(regs, micro, 0, false)?, word(regs, micro, 1, false)?);
    let (mut out, mut carried) = ([0u32; LANES], [0u32; LANES]);
    let borrow = matches!(micro.body, Body::Borrow);
    for (((slot, over), a), b) in out.iter_mut().zip(&mut carried).zip(a).zip(b).take(n) {
        let (value, flag) = if borrow { a.overflowing_sub(b) } else { a.overflowing_add(b) };
        *slot = value;
        *over = u32::from(flag);
    }
    put_words(regs, micro.dst, micro.dst_ty, n, exec, &out)?;
    scatter(regs, Target::Line { off: ACC as u32, step: 4 }, n, exec, &carried)?;
    if let Some(cond) = micro.cond {
        let bits = compare(cond, n, &out, &[0; LANES]);
        set_flags(regs, micro, exec, bits);
    }
    Ok(())
}

/// The accumulator holds the product with the lower 16 bits of the second source; this adds that with the upper.
fn mach(regs: &mut Regs, micro: &Micro, exec: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    let (a, b) = (wide(regs, micro, 0, Int::Mul)?, wide(regs, micro, 1, Int::Mul)?);
    let (mut low, mut high) = ([0u32; LANES], [0u32; LANES]);
    for i in 0..n.min(LANES) {
        let acc = u64::from(regs.acc_high[i]) << 32 | u64::from(regs.get::<u32>(ACC + 4 * i));
        let sum = acc.wrapping_add((a[i].wrapping_mul(b[i] >> 16) as u64) << 16);
        (low[i], high[i]) = (sum as u32, (sum >> 32) as u32);
        if exec >> i & 1 != 0 && micro.acc_write {
            regs.acc_high[i] = high[i];
            regs.set(ACC + 4 * i, low[i]);
        }
    }
    let out = if matches!(micro.body, Body::MulHigh) { high } else { low };
    put_words(regs, micro.dst, micro.dst_ty, n, exec, &out)?;
    if let Some(cond) = micro.cond {
        let bits = compare(cond, n, &out.map(|v| cut(v.into(), micro.dst_ty)), &[0; LANES]);
        set_flags(regs, micro, exec, bits);
    }
    Ok(())
}

fn math_op(regs: &mut Regs, micro: &Micro, op: MathOp, exec: u32) -> Outcome {
    let n = usize::from(micro.lanes);
    if matches!(op, MathOp::Quotient { .. } | MathOp::Remainder { .. }) {
        let (a, b) = (word(regs, micro, 0, false)?, word(regs, micro, 1, false)?);
        return store_words(regs, micro, exec, &math::integer(op, n, &a, &b));
    }
    let mode = Mode::from_cr0(regs.get(CR));
    let (a, b) = (real(regs, micro, 0, mode)?, real(regs, micro, 1, mode)?);
    let mut out = [0f32; LANES];
    for ((slot, a), b) in out.iter_mut().zip(a).zip(b).take(n) {
        *slot = settle(math::float(op, a.into(), b.into()), micro.dst_ty, mode.round);
    }
    store_reals(regs, micro, exec, mode, &out)?;
    if matches!(op, MathOp::Invm | MathOp::Rsqtm) {
        set_flags(regs, micro, exec, u32::MAX);
    }
    Ok(())
}
