use super::*;
use crate::eu::lower;
use crate::eu::lower::tests::instruction;
use crate::eu::regs::REG;
use crate::isa::{Dst, Instruction, Op, Place, RegFile, Src};

/// Executes instructions in all eight channels; the sources of [`instruction`] are r20, r30 and r40, its result is r10.
fn run(sources: [&[u32]; 3], instructions: &[Instruction]) -> Vec<u32> {
    let mut regs = Regs::new();
    for (k, words) in sources.iter().enumerate() {
        words.iter().enumerate().for_each(|(i, word)| regs.set((20 + 10 * k) * REG + 4 * i, *word));
    }
    let text: Vec<(u32, Instruction)> = (0..).step_by(16).zip(instructions.iter().copied()).collect();
    for micro in lower::all(&text).0 {
        assert!(!matches!(micro.body, Body::Unsupported(_)), "{micro:?}");
        assert_eq!(execute(&mut regs, &micro, 0xff, u32::MAX), Ok(()));
    }
    (0..8).map(|i| regs.get(10 * REG + 4 * i)).collect()
}

/// `inst` with its result in an accumulator.
fn to_acc(reg: u8, inst: Instruction) -> Instruction {
    let place = Place::Direct { file: RegFile::Acc, reg, sub: 0 };
    Instruction { dst: inst.dst.map(|dst| Dst { place, ..dst }), ..inst }
}

#[test]
fn product_under_way_in_one_accumulator_survives_the_use_of_another() {
    let a = [1, 7, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1234_5678, 0xdead_beef, 0];
    let factor = 0x6666_6667u32;
    let low = Src::Imm { bits: u64::from(factor & 0xffff), ty: Type::Uw };
    let whole = Src::Imm { bits: factor.into(), ty: Type::D };
    let with = |inst: Instruction, second| Instruction { src: [inst.src[0], Some(second), None], ..inst };
    let first = to_acc(0, with(instruction(Op::Mul, Type::D, &[Type::D]), low));
    let mach = with(instruction(Op::Mach, Type::D, &[Type::D]), whole);
    let upper = Instruction { acc_wr_en: true, ..mach };
    let between = to_acc(2, instruction(Op::Add, Type::D, &[Type::D, Type::D]));
    let expected = a.map(|a| ((i64::from(a as i32) * i64::from(factor)) >> 32) as u32);
    let others = [0x8000_0000u32; 8];
    assert_eq!(run([&a, &others, &[]], &[first, upper]), expected);
    assert_eq!(run([&a, &others, &[]], &[first, between, upper]), expected);
}

#[test]
fn averages_keep_the_carry_and_round_up() {
    let (a, b) = ([0xffff_ffff, 0x7fff_ffff, 1, 0x8000_0000], [0xffff_ffff, 0x7fff_fffe, 2, 0x8000_0001]);
    let average = |ty| run([&a, &b, &[]], &[instruction(Op::Avg, ty, &[ty, ty])])[..4].to_vec();
    assert_eq!(average(Type::Ud), [0xffff_ffff, 0x7fff_ffff, 2, 0x8000_0001]);
    // -1 and -1; the two largest; 1 and 2; the two lowest.
    assert_eq!(average(Type::D), [0xffff_ffff, 0x7fff_ffff, 2, 0x8000_0001]);
    let (a, b) = ([5u32, 0xffff_fffb], [0xffff_fffcu32, 4]);
    let mixed = |ty| run([&a, &b, &[]], &[instruction(Op::Avg, ty, &[ty, ty])])[..2].to_vec();
    // 5 and -4 is 1; -5 and 4 is 0, for the half goes up.
    assert_eq!(mixed(Type::D), [1, 0]);
    assert_eq!(mixed(Type::Ud), [0x8000_0001, 0x8000_0000]);
}
