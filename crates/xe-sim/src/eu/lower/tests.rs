use super::*;
use crate::isa::{Dst, ExecSize, FlagRef, Predicate, Region};

fn register(reg: u8) -> Place {
    Place::Direct { file: RegFile::Grf, reg, sub: 0 }
}

/// `op (8|M0) r10:dst r20:src r30:src …`
pub(in crate::eu) fn instruction(op: Op, dst: Type, src: &[Type]) -> Instruction {
    let region = Region::Vwh { v: 8, w: 8, h: 1 };
    let source = |k: usize, ty: Type| Src::Reg {
        place: register(20 + 10 * k as u8),
        region,
        modifier: SrcMod::None,
        ty,
    };
    Instruction {
        exec_size: ExecSize::S8,
        dst: Some(Dst { place: register(10), hstride: 1, ty: dst }),
        src: std::array::from_fn(|k| src.get(k).map(|ty| source(k, *ty))),
        ..Instruction::of(op)
    }
}

/// The reason why the model does not have it.
fn refusal(inst: &Instruction) -> Option<String> {
    match lower(inst, 0, &HashMap::new()).body {
        Body::Unsupported(reason) => Some(reason.into()),
        _ => None,
    }
}

#[track_caller]
fn refused(inst: &Instruction, reason: &str) {
    assert_eq!(refusal(inst).as_deref(), Some(reason), "{inst:?}");
}

#[track_caller]
fn has(inst: &Instruction) {
    assert_eq!(refusal(inst), None, "{inst:?}");
}

#[test]
fn order_of_unsigned_quads_is_refused_that_of_signed_ones_is_not() {
    for (op, cond, why) in [
        (Op::Cmp, CondMod::Lt, "cmp of unsigned quadwords"),
        (Op::Sel, CondMod::Lt, "lesser or greater of unsigned quadwords"),
        (Op::Add, CondMod::Gt, "sign of an unsigned quadword"),
    ] {
        let of = |ty| Instruction { cond: Some(cond), ..instruction(op, ty, &[ty, ty]) };
        refused(&of(Type::Uq), why);
        [Type::Q, Type::Ud, Type::D].into_iter().for_each(|ty| has(&of(ty)));
    }
    let csel = |ty| Instruction { cond: Some(CondMod::Lt), ..instruction(Op::Csel, ty, &[ty, ty, ty]) };
    refused(&csel(Type::Uq), "csel of unsigned quadwords");
    has(&csel(Type::D));
    // Equality has no sign.
    has(&Instruction { cond: Some(CondMod::Eq), ..instruction(Op::Add, Type::Uq, &[Type::Uq, Type::Uq]) });
}

#[test]
fn saturation_is_there_where_64_bits_hold_the_exact_result() {
    let sat = |op, dst, src: &[Type]| Instruction { saturate: true, ..instruction(op, dst, src) };
    for (op, src) in [(Op::Add, [Type::Q, Type::Q]), (Op::Mul, [Type::D, Type::Q])] {
        refused(&sat(op, Type::Q, &src), "saturation of 64-bit results");
        refused(&sat(op, Type::D, &src), "saturation of 64-bit results");
    }
    refused(&sat(Op::Mov, Type::Ud, &[Type::Uq]), "saturation of 64-bit results");
    has(&sat(Op::Mov, Type::D, &[Type::Q]));
    has(&sat(Op::Add, Type::D, &[Type::D, Type::Ud]));
    has(&sat(Op::Mul, Type::W, &[Type::D, Type::D]));
    has(&sat(Op::Dp4a, Type::D, &[Type::D, Type::D, Type::D]));
}

#[test]
fn instructions_on_double_words_take_nothing_else() {
    for (op, narrow, why) in [
        (Op::Addc, Type::Ub, "carry or borrow of these types"),
        (Op::Subb, Type::Ub, "carry or borrow of these types"),
        (Op::Mach, Type::Uw, "mach on these types"),
    ] {
        let of = |dst, src: [Type; 2]| instruction(op, dst, &src);
        has(&of(Type::Ud, [Type::Ud, Type::Ud]));
        refused(&of(Type::Ud, [narrow, Type::Ud]), why);
        refused(&of(Type::Uq, [Type::Uq, Type::Uq]), why);
        refused(&Instruction { saturate: true, ..of(Type::Ud, [Type::Ud, Type::Ud]) }, why);
    }
    // An offset and the lower half of an address.
    let mut addc = instruction(Op::Addc, Type::Ud, &[Type::Ud, Type::W]);
    has(&addc);
    if let Some(Src::Reg { modifier, .. }) = &mut addc.src[1] {
        *modifier = SrcMod::Neg;
    }
    refused(&addc, "carry or borrow of these types");
    let quotient =
        |ty| Instruction { ctrl: Ctrl::Math(MathFn::Iqot), ..instruction(Op::Math, ty, &[ty, ty]) };
    has(&quotient(Type::D));
    refused(&quotient(Type::Q), "math on these types");
    refused(&quotient(Type::F), "math on these types");
}

#[test]
fn what_an_instruction_does_besides_is_done_or_refused() {
    let mut product = instruction(Op::Mul, Type::D, &[Type::D, Type::Uw]);
    product.dst =
        Some(Dst { place: Place::Direct { file: RegFile::Acc, reg: 0, sub: 0 }, hstride: 1, ty: Type::D });
    has(&product);
    product.cond = Some(CondMod::Eq);
    refused(&product, "condition of a product in the accumulator");
    let mut compare = instruction(Op::Cmp, Type::D, &[Type::D, Type::D]);
    compare.cond = Some(CondMod::Eq);
    has(&compare);
    refused(&Instruction { acc_wr_en: true, ..compare }, "cmp that writes the accumulator");
    let flags = |sub, mask_offset| Instruction {
        flag: FlagRef { reg: 1, sub },
        mask_offset,
        pred: Some(Predicate { inverted: false, mode: PredMode::Sequential }),
        ..instruction(Op::Add, Type::D, &[Type::D, Type::D])
    };
    has(&flags(0, 24));
    has(&flags(1, 8));
    refused(&flags(1, 12), "flags beyond f1.1");
}

#[test]
fn elements_of_an_immediate_vector_are_chosen_by_the_place_of_the_destination() {
    let with = |ty, bits, dst, exec_size| {
        let mut inst = Instruction { exec_size, ..instruction(Op::Mov, dst, &[]) };
        inst.src[0] = Some(Src::Imm { bits, ty });
        inst
    };
    let elements = |inst: &Instruction| match lower(inst, 0, &HashMap::new()).src[0] {
        Some(Source { at: At::Vector(elements), .. }) => elements.map(i32::from),
        ref other => panic!("{other:?}"),
    };
    let words = with(Type::V, 0xf654_3210, Type::W, ExecSize::S8);
    assert_eq!(elements(&words), [0, 1, 2, 3, 4, 5, 6, -1]);
    // IGC's comment on its own rule: 1 and 2 into doublewords are 0x0201.
    assert_eq!(elements(&with(Type::Uv, 0x0201, Type::D, ExecSize::S2))[..2], [1, 2]);
    assert_eq!(elements(&with(Type::Uv, 0x0f0e_0201, Type::F, ExecSize::S4))[..4], [1, 2, 14, 15]);
    for (ty, dst, exec_size, stride) in [
        (Type::Uv, Type::D, ExecSize::S8, 4),
        (Type::Uv, Type::Q, ExecSize::S2, 8),
        (Type::V, Type::B, ExecSize::S8, 1),
        (Type::Vf, Type::Hf, ExecSize::S4, 2),
    ] {
        let why = format!("immediate vector and a destination stride of {stride} bytes");
        refused(&with(ty, 0x0201, dst, exec_size), &why);
    }
    let mut off = words;
    off.dst =
        Some(Dst { place: Place::Direct { file: RegFile::Grf, reg: 10, sub: 8 }, hstride: 1, ty: Type::W });
    refused(&off, "immediate vector and a destination off an octaword's start");
}
