//! From decoded instructions to [`Micro`]: everything that does not depend on register contents is settled here.
//!
//! What the model does not have becomes [`Body::Unsupported`], which ends the run when a thread reaches it.

mod operands;
#[cfg(test)]
pub(super) mod tests;

use std::collections::HashMap;

use super::flow::Flow;
use super::math::MathOp;
use super::message;
use super::micro::{At, Body, Float, Int, Micro, Source, Target};
use super::regs::{self, LANES, REG};
use crate::isa::{
    CondMod, Ctrl, Instruction, MathFn, Op, Place, PredMode, RegFile, Src, SrcMod, SyncFn, Type,
};
use operands::{source, target};

/// Lowers `instructions` (byte offset, instruction), the text of one kernel.
pub(super) fn all(instructions: &[(u32, Instruction)]) -> (Vec<Micro>, HashMap<u32, u32>) {
    let index: HashMap<u32, u32> = instructions
        .iter()
        .enumerate()
        .filter_map(|(i, (offset, _))| Some((*offset, u32::try_from(i).ok()?)))
        .collect();
    let micros = instructions.iter().map(|(offset, inst)| lower(inst, *offset, &index)).collect();
    (micros, index)
}

type Refusal = Box<str>;

fn refuse<T>(reason: impl Into<Box<str>>) -> Result<T, Refusal> {
    Err(reason.into())
}

fn lower(inst: &Instruction, offset: u32, index: &HashMap<u32, u32>) -> Micro {
    let mut micro = Micro {
        body: Body::Nop,
        lanes: inst.exec_size.lanes(),
        mask_offset: inst.mask_offset,
        no_mask: inst.no_mask,
        saturate: inst.saturate,
        acc_write: inst.acc_wr_en,
        pred: inst.pred,
        cond: inst.cond,
        flag_bit: inst.flag.reg.min(1) * 32 + inst.flag.sub.min(1) * 16 + inst.mask_offset.min(31),
        dst: Target::Null,
        dst_ty: Type::Ud,
        src: [None, None, None],
        reads_state: false,
        offset,
    };
    if let Err(reason) = fill(&mut micro, inst, offset, index) {
        micro.body = Body::Unsupported(reason);
    }
    micro
}

fn fill(
    micro: &mut Micro,
    inst: &Instruction,
    offset: u32,
    index: &HashMap<u32, u32>,
) -> Result<(), Refusal> {
    match inst.op {
        Op::Illegal => return refuse("illegal instruction"),
        Op::Nop => return Ok(()),
        Op::Sync => {
            if matches!(inst.ctrl, Ctrl::Sync(SyncFn::Bar)) {
                micro.body = Body::Barrier;
            }
            return Ok(());
        }
        Op::Goto
        | Op::Join
        | Op::If
        | Op::Else
        | Op::Endif
        | Op::While
        | Op::Break
        | Op::Jmpi
        | Op::Call
        | Op::Ret => {
            micro.body = Body::Flow(flow(inst, offset, index)?);
            return Ok(());
        }
        Op::Cont | Op::Halt | Op::Brd | Op::Brc | Op::Calla => {
            return refuse("this kind of flow control is not modelled (the compiler makes goto and join)");
        }
        Op::Send | Op::Sendc => {
            micro.body = Body::Send(Box::new(message::lower(inst)?));
            return Ok(());
        }
        Op::Dpas | Op::Dpasw => return refuse("the systolic array is not modelled"),
        Op::Movi => return refuse("movi is not modelled"),
        _ => {}
    }
    let lanes = inst.exec_size;
    if (micro.pred.is_some() || micro.cond.is_some()) && micro.flag_bit + micro.lanes > 64 {
        return refuse("flags beyond f1.1");
    }
    if let Some(dst) = &inst.dst {
        micro.dst = target(dst, lanes)?;
        micro.dst_ty = dst.ty;
        if dst.ty.size() == 0 {
            return refuse("destination type");
        }
    }
    for (slot, src) in micro.src.iter_mut().zip(&inst.src) {
        if let Some(src) = src {
            *slot = Some(source(src, inst.dst.as_ref(), lanes)?);
            micro.reads_state |= reads_state(src);
        }
    }
    if micro.src.iter().flatten().any(|s| s.ty == Type::Df) || micro.dst_ty == Type::Df {
        return refuse("the device has no double precision");
    }
    micro.body = body(micro, inst)?;
    Ok(())
}

fn reads_state(src: &Src) -> bool {
    matches!(
        src,
        Src::Reg {
            place: Place::Direct { file: RegFile::Ce | RegFile::Ip | RegFile::Tm | RegFile::Sr, .. },
            ..
        }
    )
}

fn is_small(source: &Source) -> bool {
    source.ty.size() <= 4
}

/// Computed on 64 bits where 32 are not enough to get the destination's value.
fn by_width(micro: &Micro, op: Int) -> Result<Body, Refusal> {
    let orders = matches!(micro.cond, Some(CondMod::Lt | CondMod::Le | CondMod::Gt | CondMod::Ge));
    if orders && micro.dst_ty == Type::Uq {
        return refuse("sign of an unsigned quadword");
    }
    let quad = micro.src.iter().flatten().any(|s| !is_small(s)) || micro.dst_ty.size() > 4;
    if !quad && !micro.saturate {
        return Ok(Body::Int32(op));
    }
    // Clamped to the destination's range after the operation: 64 bits must hold its exact result.
    let exact = op == Int::Mov && micro.dst_ty.size() <= 4 && !has_unsigned_quads(micro);
    if quad && micro.saturate && !exact {
        return refuse("saturation of 64-bit results");
    }
    let exact_when_wide = matches!(
        op,
        Int::Mov | Int::Add | Int::Add3 | Int::Mul | Int::Mad | Int::And | Int::Or | Int::Xor | Int::Not
    ) || matches!(op, Int::Select | Int::Bfn(_) | Int::Dp4a(..));
    let shifts = matches!(op, Int::Shl | Int::Shr | Int::Asr | Int::Rol(_) | Int::Ror(_) | Int::Cbit);
    let all_quad = micro.src.first().is_some_and(|s| s.as_ref().is_some_and(|s| !is_small(s)));
    if exact_when_wide || (shifts && all_quad && !micro.saturate) {
        return Ok(Body::Int64(op));
    }
    // A word shifted left into a quadword, and the like.
    if matches!(op, Int::Shl | Int::Asr) && !micro.saturate {
        return Ok(Body::Int64(op));
    }
    refuse("operation with saturation or 64-bit operands")
}

fn body(micro: &mut Micro, inst: &Instruction) -> Result<Body, Refusal> {
    let float = micro.src.iter().flatten().any(|s| s.ty.is_float());
    if matches!(micro.cond, Some(CondMod::Ov)) {
        return refuse("overflow condition");
    }
    if inst.op == Op::Mov {
        return mov(micro, inst);
    }
    if inst.op == Op::Math {
        return math(micro, inst);
    }
    if float {
        return float_body(micro, inst);
    }
    if micro.dst_ty.is_float() && !matches!(inst.op, Op::Cmp) {
        return refuse("integer sources and a float destination");
    }
    let width = |micro: &Micro, k: usize| {
        micro.src.get(k).and_then(Option::as_ref).map_or(32, |s| s.ty.size().max(2) * 8)
    };
    let signed = |micro: &Micro, k: usize| {
        micro.src.get(k).and_then(Option::as_ref).is_some_and(|s| s.ty.is_signed_int())
    };
    // A shift to the right sees no more than the source's own bits.
    if matches!(inst.op, Op::Shr)
        && let Some(Some(s)) = micro.src.first_mut()
        && s.modifier == SrcMod::None
    {
        s.ty = match s.ty {
            Type::B => Type::Ub,
            Type::W => Type::Uw,
            Type::D => Type::Ud,
            Type::Q => Type::Uq,
            other => other,
        };
    }
    let op = match inst.op {
        Op::Not => Int::Not,
        Op::And => Int::And,
        Op::Or => Int::Or,
        Op::Xor => Int::Xor,
        Op::Shl => Int::Shl,
        Op::Shr => Int::Shr,
        // Extended with zeros, an unsigned source of less than 32 bits has no sign to keep.
        Op::Asr if !signed(micro, 0) => Int::Shr,
        Op::Asr => Int::Asr,
        Op::Rol => Int::Rol(width(micro, 0)),
        Op::Ror => Int::Ror(width(micro, 0)),
        Op::Add => Int::Add,
        Op::Add3 => Int::Add3,
        Op::Avg => return Ok(Body::Int64(Int::Avg)),
        Op::Mul => return multiply(micro),
        Op::Mad => Int::Mad,
        Op::Mac => {
            with_accumulator(micro);
            Int::Mad
        }
        Op::Mach if micro.saturate || !all_dwords(micro) => return refuse("mach on these types"),
        Op::Mach => {
            return Ok(if micro.acc_write { Body::MulHigh } else { Body::MulLow });
        }
        Op::Addc | Op::Subb if micro.saturate || !adds_with_carry(micro) => {
            return refuse("carry or borrow of these types");
        }
        Op::Addc => return Ok(Body::Carry),
        Op::Subb => return Ok(Body::Borrow),
        Op::Bfn => match inst.ctrl {
            Ctrl::Bfn(table) => Int::Bfn(table),
            _ => return refuse("bfn without a table"),
        },
        Op::Bfe => Int::Bfe { signed: signed(micro, 2) },
        Op::Bfi1 => Int::Bfi1,
        Op::Bfi2 => Int::Bfi2,
        Op::Lzd => Int::Lzd,
        Op::Fbh => Int::Fbh { signed: signed(micro, 0) },
        Op::Fbl => Int::Fbl,
        Op::Cbit => Int::Cbit,
        Op::Bfrev => Int::Bfrev,
        Op::Dp4a => Int::Dp4a(signed(micro, 1), signed(micro, 2)),
        Op::Cmp => return compare(micro),
        Op::Csel if has_unsigned_quads(micro) => return refuse("csel of unsigned quadwords"),
        Op::Csel => match micro.cond {
            Some(cond) => return Ok(Body::CompareInt(cond)),
            None => return refuse("csel without a condition"),
        },
        Op::Sel => match micro.cond {
            None => Int::Select,
            Some(cond) => return select_lesser(micro, cond),
        },
        other => return refuse(format!("{} on these types", other.mnemonic())),
    };
    by_width(micro, op)
}

fn all_dwords(micro: &Micro) -> bool {
    micro.dst_ty.size() == 4 && micro.src.iter().flatten().all(|s| s.ty.size() == 4)
}

/// The manual has unsigned doublewords only. The compiler adds offsets of words to the lower halves of addresses, too, on all
/// devices that lack 64-bit integers.
fn adds_with_carry(micro: &Micro) -> bool {
    let plain_word = |s: &Source| matches!(s.ty, Type::W | Type::Uw) && s.modifier == SrcMod::None;
    micro.dst_ty.size() == 4 && micro.src.iter().flatten().all(|s| s.ty.size() == 4 || plain_word(s))
}

/// Are two integer sources comparable as 32-bit words, and how: signed (`Some(true)`) or unsigned?
fn common_sign(micro: &Micro) -> Option<bool> {
    let mut signed = true;
    let mut unsigned = true;
    for source in micro.src.iter().flatten().take(2) {
        let narrow = source.ty.size() < 4 && !matches!(source.at, At::Vector(_));
        match source.ty {
            Type::Ud => signed = false,
            Type::Ub | Type::Uw if narrow => {}
            _ => unsigned = false,
        }
        if source.modifier != SrcMod::None {
            // A negated unsigned value has a sign; a negated word may leave its range.
            (signed, unsigned) = (signed && source.ty.size() < 4, false);
        }
        if source.ty.size() > 4 {
            return None;
        }
    }
    if signed {
        Some(true)
    } else if unsigned {
        Some(false)
    } else {
        None
    }
}

/// Of these the 64-bit words of the model, which have a sign, do not keep the order.
fn has_unsigned_quads(micro: &Micro) -> bool {
    micro.src.iter().flatten().any(|s| s.ty == Type::Uq)
}

fn compare(micro: &Micro) -> Result<Body, Refusal> {
    let Some(cond) = micro.cond else { return refuse("cmp without a condition") };
    if micro.acc_write {
        return refuse("cmp that writes the accumulator");
    }
    if has_unsigned_quads(micro) {
        return refuse("cmp of unsigned quadwords");
    }
    Ok(match common_sign(micro) {
        Some(signed) => Body::Compare32(cond, signed),
        None => Body::CompareInt(cond),
    })
}

fn select_lesser(micro: &mut Micro, cond: CondMod) -> Result<Body, Refusal> {
    let signed = common_sign(micro);
    if has_unsigned_quads(micro) {
        return refuse("lesser or greater of unsigned quadwords");
    }
    let sign = signed.unwrap_or(true);
    let op = match cond {
        CondMod::Lt | CondMod::Le => Int::Min { signed: sign },
        CondMod::Gt | CondMod::Ge => Int::Max { signed: sign },
        _ => return refuse("sel with this condition"),
    };
    micro.cond = None;
    if signed.is_some() && micro.dst_ty.size() <= 4 && !micro.saturate {
        Ok(Body::Int32(op))
    } else {
        Ok(Body::Int64(op))
    }
}

fn multiply(micro: &mut Micro) -> Result<Body, Refusal> {
    let dword = micro.src.iter().flatten().any(|s| s.ty.size() == 4);
    let to_acc = matches!(micro.dst, Target::Line { off, step: 4 } if off as usize == regs::ACC);
    if dword && to_acc && !micro.saturate {
        if micro.cond.is_some() {
            return refuse("condition of a product in the accumulator");
        }
        return Ok(Body::MulAcc);
    }
    by_width(micro, Int::Mul)
}

/// `mac` is `mad` with the accumulator as the addend.
fn with_accumulator(micro: &mut Micro) {
    let [a, b, _] = std::mem::take(&mut micro.src);
    let at = At::Line { off: regs::ACC as u32, step: micro.dst_ty.size().into() };
    micro.src = [Some(Source { at, ty: micro.dst_ty, modifier: SrcMod::None }), a, b];
}

fn mov(micro: &mut Micro, inst: &Instruction) -> Result<Body, Refusal> {
    let Some(Some(source)) = micro.src.first() else { return refuse("mov without a source") };
    let (from, to) = (source.ty, micro.dst_ty);
    let plain = source.modifier == SrcMod::None
        && !micro.saturate
        && micro.cond.is_none()
        && inst.op == Op::Mov
        && !matches!(source.at, At::Vector(_) | At::Floats(_));
    match (from.is_float(), to.is_float()) {
        (true, true) if plain && from == to => Ok(Body::Copy(to.size())),
        (true, true) => Ok(Body::Float(Float::Mov)),
        (false, true) => Ok(Body::IntToFloat),
        (true, false) => {
            // The conversion saturates by itself.
            micro.saturate = false;
            Ok(Body::FloatToInt)
        }
        (false, false) if plain && from.size() == to.size() => Ok(Body::Copy(to.size())),
        (false, false) => by_width(micro, Int::Mov),
    }
}

fn float_body(micro: &mut Micro, inst: &Instruction) -> Result<Body, Refusal> {
    let all = micro.src.iter().flatten().all(|s| s.ty.is_float());
    if !all {
        return refuse("float and integer sources together");
    }
    if !micro.dst_ty.is_float() && !matches!(inst.op, Op::Cmp) {
        return refuse("float sources and an integer destination");
    }
    let op = match inst.op {
        Op::Add => Float::Add,
        Op::Mul => Float::Mul,
        Op::Mad => Float::Mad,
        Op::Mac => {
            with_accumulator(micro);
            Float::Mad
        }
        Op::Frc => Float::Frc,
        Op::Rndd => Float::Floor,
        Op::Rndu => Float::Ceil,
        Op::Rnde => Float::Even,
        Op::Rndz => Float::Trunc,
        Op::Cmp | Op::Csel => match micro.cond {
            Some(cond) => return Ok(Body::CompareFloat(cond)),
            None => return refuse("no condition"),
        },
        Op::Sel => match micro.cond.take() {
            None => Float::Select,
            Some(CondMod::Lt | CondMod::Le) => Float::Min,
            Some(CondMod::Gt | CondMod::Ge) => Float::Max,
            Some(_) => return refuse("sel with this condition"),
        },
        other => return refuse(format!("{} on floats", other.mnemonic())),
    };
    Ok(Body::Float(op))
}

fn math(micro: &mut Micro, inst: &Instruction) -> Result<Body, Refusal> {
    let Ctrl::Math(function) = inst.ctrl else { return refuse("math without a function") };
    let signed = micro.src.iter().flatten().take(2).all(|s| s.ty.is_signed_int());
    let integer = !micro.src.iter().flatten().any(|s| s.ty.is_float());
    let op = match function {
        MathFn::Inv => MathOp::Inv,
        MathFn::Log => MathOp::Log,
        MathFn::Exp => MathOp::Exp,
        MathFn::Sqt => MathOp::Sqrt,
        MathFn::Rsqt => MathOp::Rsqrt,
        MathFn::Sin => MathOp::Sin,
        MathFn::Cos => MathOp::Cos,
        MathFn::Fdiv => MathOp::Fdiv,
        MathFn::Pow => MathOp::Pow,
        MathFn::Invm => MathOp::Invm,
        MathFn::Rsqtm => MathOp::Rsqtm,
        MathFn::Iqot => MathOp::Quotient { signed },
        MathFn::Irem => MathOp::Remainder { signed },
        MathFn::Idiv => return refuse("math.idiv (two destinations)"),
    };
    if matches!(op, MathOp::Quotient { .. } | MathOp::Remainder { .. }) != integer
        || (integer && !all_dwords(micro))
    {
        return refuse("math on these types");
    }
    if matches!(op, MathOp::Invm | MathOp::Rsqtm) {
        micro.cond = None;
    }
    Ok(Body::Math(op))
}

fn flow(inst: &Instruction, offset: u32, index: &HashMap<u32, u32>) -> Result<Flow, Refusal> {
    let Some(branch) = inst.branch() else { return refuse("no branch target") };
    let resolve = |target: Option<i32>| -> Result<u32, Refusal> {
        let Some(target) = target else { return refuse("branch target in a register") };
        let to = i64::from(offset) + i64::from(target);
        let place = u32::try_from(to).ok().and_then(|to| index.get(&to));
        place.copied().ok_or_else(|| format!("branch to {to:#x}, where no instruction starts").into())
    };
    let register = |place: Place| match place {
        Place::Direct { file: RegFile::Grf, reg, sub } if usize::from(sub) + 8 <= REG => {
            Ok(u32::from(reg) * REG as u32 + u32::from(sub))
        }
        _ => refuse("call or return outside the general registers"),
    };
    Ok(match inst.op {
        Op::Goto if branch.branch_ctrl => {
            let next = i32::try_from(inst.size()).unwrap_or(i32::MAX);
            if branch.jip != Some(next) {
                return refuse("goto.b whose first target is not the next instruction");
            }
            Flow::GotoBack { uip: resolve(branch.uip)? }
        }
        Op::Goto => Flow::Goto { jip: resolve(branch.jip)?, uip: resolve(branch.uip)? },
        Op::Join | Op::Endif => Flow::Join { jip: resolve(branch.jip)? },
        Op::If | Op::Else if branch.branch_ctrl => return refuse("if or else with branch control"),
        Op::If => Flow::If { jip: resolve(branch.jip)? },
        Op::Else if branch.jip != branch.uip => return refuse("else whose two targets are not one"),
        Op::Else => Flow::Else { jip: resolve(branch.jip)? },
        Op::While => Flow::While { jip: resolve(branch.jip)? },
        Op::Break => Flow::Break { jip: resolve(branch.jip)?, uip: resolve(branch.uip)? },
        Op::Jmpi => Flow::Jmpi { to: resolve(branch.jip)? },
        Op::Call => match &inst.dst {
            Some(dst) => Flow::Call { to: resolve(branch.jip)?, dst: register(dst.place)? },
            None => return refuse("call without a destination"),
        },
        _ => match inst.src.first() {
            Some(Some(Src::Reg { place, .. })) => Flow::Ret { src: register(*place)? },
            _ => return refuse("ret without a source"),
        },
    })
}

/// Bits of the flag that decide for each channel, from bit 0: `flags` already shifted to the instruction's first.
/// `v` modes combine two flag registers: `other` is the second.
pub(super) fn predicate(mode: PredMode, inverted: bool, flags: u32, other: u32, lanes: u32) -> u32 {
    let group = |size: u32, all: bool| {
        let size = size.min(LANES as u32);
        let mask = u32::MAX >> (32 - size);
        let mut out = 0;
        let mut at = 0;
        while at < 32 {
            let bits = flags >> at & mask;
            if if all { bits == mask } else { bits != 0 } {
                out |= mask << at;
            }
            at += size;
        }
        out
    };
    let bits = match mode {
        PredMode::Sequential => flags,
        PredMode::AnyV => flags | other,
        PredMode::AllV => flags & other,
        PredMode::Any2H => group(2, false),
        PredMode::All2H => group(2, true),
        PredMode::Any4H => group(4, false),
        PredMode::All4H => group(4, true),
        PredMode::Any8H => group(8, false),
        PredMode::All8H => group(8, true),
        PredMode::Any16H => group(16, false),
        PredMode::All16H => group(16, true),
        PredMode::Any32H => group(32, false),
        PredMode::All32H => group(32, true),
        PredMode::Any => group(lanes, false),
        PredMode::All => group(lanes, true),
    };
    if inverted { !bits } else { bits }
}
