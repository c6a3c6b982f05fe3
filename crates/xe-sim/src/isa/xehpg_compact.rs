//! Xe-HPG's compaction: what each index of an 8-byte instruction stands for in the 16-byte form.
//!
//! Numbers only: the tables of the PRM's "EU Compact Instruction Format" chapter (also in the graphics compiler's
//! GED model of Xe-HPG). Entry bits are spread over the native instruction by `moves`.

use super::bits::{Field, Move};
use super::compact::{BasicCompaction, Compaction, ImmRule, Index, TernaryCompaction};

/// Execution size, mask offset, flag, predicate, mask control, options, condition.
const CONTROL: [u64; 32] = [
    0x000004, 0x000003, 0x002000, 0x002004, 0x002003, 0x080004, 0x000024, 0x0a0004, 0x000000, 0x010004,
    0x000013, 0x060004, 0x020004, 0x022004, 0x040004, 0x000104, 0x0a0003, 0x000184, 0x002001, 0x000144,
    0x0001c4, 0x082004, 0x000023, 0x000033, 0x0a2004, 0x080003, 0x022000, 0x010003, 0x0a0084, 0x020003,
    0x008003, 0x002024,
];
const CONTROL_MOVES: [Move; 4] =
    [Move::new(0, 13, 16), Move::new(13, 1, 31), Move::new(14, 3, 32), Move::new(17, 4, 92)];

/// Types, register files and destination stride. Bit 19 (source 1 is a general register) has no meaning beside an immediate.
const DATA_TYPE: [u64; 32] = [
    0xd6954, 0x06954, 0x02b54, 0x56d54, 0xd4954, 0xd2954, 0x54d54, 0x00800, 0xd0954, 0x2eccc, 0xb68cc,
    0x52d54, 0x96844, 0x50d54, 0x36ccc, 0x16c44, 0x07154, 0x2cccc, 0x00822, 0x02844, 0x26c2a, 0x0ec22,
    0x97044, 0x0694c, 0x8c8cc, 0x06854, 0x2ec4c, 0x02822, 0x06834, 0x06814, 0x068d4, 0x02954,
];
const DATA_TYPE_MOVES: [Move; 5] = [
    Move::new(0, 9, 35),
    Move::new(9, 5, 46),
    Move::new(14, 1, 66),
    Move::new(15, 4, 88),
    Move::new(19, 1, 98),
];

/// Sub-registers of destination, source 0 and source 1.
const SUB_REG_2: [u64; 32] = [
    0x0000, 0x4000, 0x1000, 0x3000, 0x0080, 0x2000, 0x5000, 0x0008, 0x0100, 0x6000, 0x7000, 0x0200, 0x0004,
    0x0300, 0x0280, 0x0180, 0x0380, 0x001c, 0x0010, 0x000c, 0x0018, 0x0014, 0x0002, 0x0140, 0x0040, 0x0084,
    0x005c, 0x0042, 0x018c, 0x0020, 0x0060, 0x6300,
];
const SUB_REG_2_MOVES: [Move; 3] = [Move::new(0, 5, 51), Move::new(5, 5, 67), Move::new(10, 5, 99)];

/// Sub-registers of destination and source 0.
const SUB_REG_1: [u64; 32] = [
    0x000, 0x000, 0x000, 0x000, 0x080, 0x000, 0x000, 0x008, 0x100, 0x000, 0x000, 0x200, 0x004, 0x300, 0x280,
    0x180, 0x380, 0x01c, 0x010, 0x00c, 0x018, 0x014, 0x002, 0x140, 0x040, 0x084, 0x05c, 0x042, 0x18c, 0x020,
    0x060, 0x300,
];
const SUB_REG_1_MOVES: [Move; 2] = [Move::new(0, 5, 51), Move::new(5, 5, 67)];

/// Sub-register of the destination.
const SUB_REG_0: [u64; 32] = [
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
    0x1c, 0x10, 0x0c, 0x18, 0x14, 0x02, 0x00, 0x00, 0x04, 0x1c, 0x02, 0x0c, 0x00, 0x00, 0x00,
];
const SUB_REG_0_MOVES: [Move; 1] = [Move::new(0, 5, 51)];

/// Region, modifier and addressing mode of source 0.
const SRC0: [u64; 16] = [
    0x100, 0x000, 0x102, 0x101, 0x002, 0x200, 0x240, 0x340, 0x300, 0x103, 0x001, 0xf10, 0x460, 0x140, 0x448,
    0x202,
];
const SRC0_MOVES: [Move; 3] = [Move::new(0, 2, 44), Move::new(2, 2, 64), Move::new(4, 8, 80)];

/// Region, modifier and addressing mode of source 1.
const SRC1: [u64; 16] = [
    0x040, 0x000, 0x840, 0x800, 0x440, 0x8d0, 0x080, 0x0d0, 0x0c0, 0xc40, 0x400, 0xc00, 0x118, 0x880, 0x809,
    0x844,
];
const SRC1_MOVES: [Move; 2] = [Move::new(0, 2, 96), Move::new(2, 10, 112)];

/// Three sources: execution size to condition, and all types but source 2's sub-fields.
const TERNARY_CONTROL: [u64; 32] = [
    0x0094540004,
    0x0094540003,
    0x0090540003,
    0x0094542003,
    0x0090542003,
    0x0090540013,
    0x0094540013,
    0x0090542013,
    0x0094542013,
    0x0094542004,
    0x0090540004,
    0x0094550004,
    0x0094540024,
    0x0090542004,
    0x0094542000,
    0x0094550003,
    0x0090542023,
    0x0090542033,
    0x0094542023,
    0x0094542033,
    0x0090540033,
    0x0090540023,
    0x0027cc0003,
    0x0007cc4003,
    0x0127cc4003,
    0x0107cc4003,
    0x0127cc0003,
    0x0007cc0003,
    0x0027cc4003,
    0x0107cc0003,
    0x016f544003,
    0x016f540003,
];
const TERNARY_CONTROL_MOVES: [Move; 9] = [
    Move::new(0, 13, 16),
    Move::new(13, 1, 31),
    Move::new(14, 3, 32),
    Move::new(17, 7, 36),
    Move::new(24, 3, 48),
    Move::new(27, 3, 80),
    Move::new(30, 2, 88),
    Move::new(32, 1, 90),
    Move::new(33, 4, 92),
];

/// Three sources: regions, modifiers and register files.
const TERNARY_SOURCE: [u64; 32] = [
    0x120300, 0x120201, 0x160301, 0x120301, 0x160101, 0x160309, 0x140301, 0x160300, 0x100300, 0x160b01,
    0x162301, 0x160100, 0x100301, 0x122300, 0x122301, 0x120309, 0x120101, 0x120308, 0x120100, 0x162300,
    0x120b00, 0x140300, 0x120b01, 0x160b09, 0x122100, 0x120900, 0x122900, 0x121100, 0x121900, 0x120500,
    0x121500, 0x122500,
];
const TERNARY_SOURCE_MOVES: [Move; 7] = [
    Move::new(0, 1, 35),
    Move::new(1, 5, 43),
    Move::new(6, 3, 64),
    Move::new(9, 5, 83),
    Move::new(14, 1, 91),
    Move::new(15, 3, 96),
    Move::new(18, 3, 112),
];

/// Three sources: sub-registers.
const TERNARY_SUB_REG: [u64; 32] = [
    0x00000, 0x20000, 0x00180, 0xa0000, 0x80380, 0x60000, 0x40000, 0x02000, 0x01000, 0xc0000, 0x80000,
    0xe0000, 0x06000, 0x00080, 0x04000, 0x03000, 0x05000, 0x07000, 0x00100, 0x00200, 0x00300, 0x00280,
    0x00380, 0xc0380, 0x20100, 0x20180, 0x40180, 0x80300, 0x80280, 0x60080, 0xa0380, 0x40080,
];
const TERNARY_SUB_REG_MOVES: [Move; 4] =
    [Move::new(0, 5, 51), Move::new(5, 5, 67), Move::new(10, 5, 99), Move::new(15, 5, 115)];

/// Immediate rules by type code: 12 bits in the compact form.
const IMM_RULES: [Option<ImmRule>; 16] = {
    let mut rules = [None; 16];
    rules[0] = Some(ImmRule::Zero);
    rules[1] = Some(ImmRule::Twice { shift: 0, sign: false });
    rules[2] = Some(ImmRule::Zero);
    rules[4] = Some(ImmRule::Zero);
    rules[5] = Some(ImmRule::Twice { shift: 0, sign: true });
    rules[6] = Some(ImmRule::Sign);
    rules[8] = Some(ImmRule::Zero);
    rules[9] = Some(ImmRule::Twice { shift: 4, sign: false });
    rules[10] = Some(ImmRule::Shift(20));
    rules
};

/// The compact format.
pub(super) const COMPACTION: Compaction = Compaction {
    common: &[Move::new(0, 7, 0), Move::new(7, 1, 30), Move::new(8, 8, 8), Move::new(16, 8, 56)],
    basic: BasicCompaction {
        control: Index { at: Field::new(24, 5), values: &CONTROL, moves: &CONTROL_MOVES },
        data_type: Index { at: Field::new(30, 5), values: &DATA_TYPE, moves: &DATA_TYPE_MOVES },
        sub_reg_2: Index { at: Field::new(35, 5), values: &SUB_REG_2, moves: &SUB_REG_2_MOVES },
        sub_reg_1: Index { at: Field::new(35, 5), values: &SUB_REG_1, moves: &SUB_REG_1_MOVES },
        sub_reg_0: Index { at: Field::new(35, 5), values: &SUB_REG_0, moves: &SUB_REG_0_MOVES },
        src0_reg: Move::new(40, 8, 72),
        src0: Index { at: Field::new(48, 4), values: &SRC0, moves: &SRC0_MOVES },
        src1: Index { at: Field::new(52, 4), values: &SRC1, moves: &SRC1_MOVES },
        src1_reg: Move::new(56, 8, 104),
        imm: Field::new(52, 12),
        imm_at: 96,
        imm_rules: IMM_RULES,
    },
    ternary: TernaryCompaction {
        control: Index { at: Field::new(24, 5), values: &TERNARY_CONTROL, moves: &TERNARY_CONTROL_MOVES },
        source: Index { at: Field::new(30, 5), values: &TERNARY_SOURCE, moves: &TERNARY_SOURCE_MOVES },
        sub_reg: Index { at: Field::new(35, 5), values: &TERNARY_SUB_REG, moves: &TERNARY_SUB_REG_MOVES },
        regs: [Move::new(40, 8, 72), Move::new(48, 8, 120), Move::new(56, 8, 104)],
    },
};
