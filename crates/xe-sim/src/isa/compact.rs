//! From the 8-byte form to the 16-byte form.

use super::bits::{Field, Move};
use super::decode::Reason;
use super::platform::Format;

/// An index and what its values stand for.
pub(super) struct Index {
    /// Where the index is in the compact form.
    pub at: Field,
    pub values: &'static [u64],
    /// From a value's bits to the native form.
    pub moves: &'static [Move],
}

impl Index {
    fn expand(&self, compact: u128) -> u128 {
        let value = self.values.get(self.at.get(compact) as usize).copied().unwrap_or(0);
        self.moves.iter().fold(0, |word, run| word | run.apply(value.into()))
    }
}

/// How a 12-bit immediate becomes 32 bits.
#[derive(Clone, Copy)]
pub(super) enum ImmRule {
    /// Zero-extended.
    Zero,
    /// Sign-extended.
    Sign,
    /// The highest bits, zeros below.
    Shift(u8),
    /// Extended to 16 bits (after a shift), both halves alike.
    Twice { shift: u8, sign: bool },
}

impl ImmRule {
    fn expand(self, imm: u64) -> u32 {
        let imm = imm as u32;
        let signed = ((imm << 20) as i32) >> 20;
        match self {
            Self::Zero => imm,
            Self::Sign => signed as u32,
            Self::Shift(by) => imm << by,
            Self::Twice { shift, sign } => {
                let half = (if sign { signed as u32 } else { imm << shift }) & 0xffff;
                half | half << 16
            }
        }
    }
}

/// One- and two-source instructions.
pub(super) struct BasicCompaction {
    pub control: Index,
    pub data_type: Index,
    /// Two registers as sources; one (a second source is an immediate); none.
    pub sub_reg_2: Index,
    pub sub_reg_1: Index,
    pub sub_reg_0: Index,
    pub src0_reg: Move,
    pub src0: Index,
    pub src1: Index,
    pub src1_reg: Move,
    pub imm: Field,
    pub imm_at: u8,
    /// By the native type code of the source; `None`: that type has no compact immediate.
    pub imm_rules: [Option<ImmRule>; 16],
}

/// Three-source instructions.
pub(super) struct TernaryCompaction {
    pub control: Index,
    pub source: Index,
    pub sub_reg: Index,
    pub regs: [Move; 3],
}

/// A platform's compact format.
pub(super) struct Compaction {
    pub common: &'static [Move],
    pub basic: BasicCompaction,
    pub ternary: TernaryCompaction,
}

/// Positions in the native form that decide how the rest is expanded.
pub(super) struct NativeHints {
    pub src0_is_imm: Field,
    pub src1_is_imm: Field,
    pub src0_ty: Field,
    pub src1_ty: Field,
}

impl Compaction {
    /// The native form of a compact instruction.
    pub(super) fn expand(&self, compact: u64, format: Format, native: &NativeHints) -> Result<u128, Reason> {
        let compact = u128::from(compact);
        let common = self.common.iter().fold(0, |word, run| word | run.apply(compact));
        match format {
            Format::Unary | Format::Sync => self.unary(compact, common, native),
            Format::Binary => self.binary(compact, common, native),
            Format::Ternary | Format::Dpas => Ok(self.ternary(compact, common)),
            _ => Err(Reason::NoCompactForm),
        }
    }

    fn unary(&self, compact: u128, common: u128, native: &NativeHints) -> Result<u128, Reason> {
        let basic = &self.basic;
        let word = common | basic.control.expand(compact) | basic.data_type.expand(compact);
        if native.src0_is_imm.is_set(word) {
            let imm = self.immediate(compact, native.src0_ty.get8(word))?;
            Ok(self.below_imm(word) | basic.sub_reg_0.expand(compact) | basic.src0.expand(compact) | imm)
        } else {
            Ok(word
                | basic.sub_reg_1.expand(compact)
                | basic.src0_reg.apply(compact)
                | basic.src0.expand(compact)
                | basic.src1.expand(compact))
        }
    }

    fn binary(&self, compact: u128, common: u128, native: &NativeHints) -> Result<u128, Reason> {
        let basic = &self.basic;
        let word = common
            | basic.control.expand(compact)
            | basic.data_type.expand(compact)
            | basic.src0_reg.apply(compact)
            | basic.src0.expand(compact);
        if native.src1_is_imm.is_set(word) {
            let imm = self.immediate(compact, native.src1_ty.get8(word))?;
            Ok(self.below_imm(word) | basic.sub_reg_1.expand(compact) | imm)
        } else {
            Ok(word
                | basic.sub_reg_2.expand(compact)
                | basic.src1_reg.apply(compact)
                | basic.src1.expand(compact))
        }
    }

    fn ternary(&self, compact: u128, common: u128) -> u128 {
        let ternary = &self.ternary;
        let word = common
            | ternary.control.expand(compact)
            | ternary.source.expand(compact)
            | ternary.sub_reg.expand(compact);
        ternary.regs.iter().fold(word, |word, run| word | run.apply(compact))
    }

    /// The data-type entry's "source 1 is a general register" bit lies where an immediate goes.
    fn below_imm(&self, word: u128) -> u128 {
        word & ((1 << self.basic.imm_at) - 1)
    }

    fn immediate(&self, compact: u128, ty: u8) -> Result<u128, Reason> {
        let rule = self.basic.imm_rules.get(usize::from(ty)).copied().flatten();
        let rule = rule.ok_or(Reason::Field { field: "compact immediate type", value: ty.into() })?;
        Ok(u128::from(rule.expand(self.basic.imm.get(compact))) << self.basic.imm_at)
    }
}
