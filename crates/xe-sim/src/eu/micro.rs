//! Lowered instructions: operands as byte offsets, operations grouped by how they are computed.

use crate::isa::{CondMod, Predicate, SrcMod, Type};

use super::flow::Flow;
use super::math::MathOp;
use super::message::Message;

/// Where a source's channels are.
#[derive(Clone, Debug)]
pub(super) enum At {
    /// The same bits for every channel.
    Imm(u64),
    /// Packed integers: channel `i` has element `i % 8`.
    Vector([i8; 8]),
    /// Packed floats: channel `i` has element `i % 4`.
    Floats([f32; 4]),
    /// Channel `i` at `off + i * step`.
    Line { off: u32, step: u16 },
    /// Channel `i` at `off + (i >> shift) * v + (i & mask) * h`, all in bytes, `mask` = width - 1.
    Grid { off: u32, v: u16, h: u16, shift: u8 },
    /// Channel `i` at `a0.<addr + (i >> shift)> + imm + (i & mask) * h`.
    PerRow { addr: u8, imm: i16, h: u16, shift: u8 },
    /// Grid from `a0.<addr> + imm`.
    Moving { addr: u8, imm: i16, v: u16, h: u16, shift: u8 },
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub at: At,
    pub ty: Type,
    pub modifier: SrcMod,
}

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Null,
    Line {
        off: u32,
        step: u16,
    },
    /// From `a0.<addr> + imm`, `step` apart.
    Moving {
        addr: u8,
        imm: i16,
        step: u16,
    },
}

/// Integer operations on words of 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int {
    Mov,
    Not,
    And,
    Or,
    Xor,
    Add,
    Add3,
    Mul,
    Mad,
    Avg,
    Shl,
    Shr,
    Asr,
    /// Rotation of a value this many bits wide.
    Rol(u8),
    Ror(u8),
    Bfn(u8),
    Bfe {
        signed: bool,
    },
    Bfi1,
    Bfi2,
    Lzd,
    Fbh {
        signed: bool,
    },
    Fbl,
    Cbit,
    Bfrev,
    /// Byte products; which of the two sources are signed.
    Dp4a(bool, bool),
    /// By the predicate.
    Select,
    /// Lesser or greater of two.
    Min {
        signed: bool,
    },
    Max {
        signed: bool,
    },
}

/// Float operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    Mov,
    Add,
    Mul,
    Mad,
    Select,
    Min,
    Max,
    Frc,
    Floor,
    Ceil,
    Even,
    Trunc,
}

/// What an instruction does with its operands.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Nop,
    /// Copies elements of this many bytes.
    Copy(u8),
    /// 32-bit words: results modulo 2³².
    Int32(Int),
    /// 64-bit words, so that results of narrower types are exact: saturation.
    Int64(Int),
    /// `cmp` (`csel` if it has three sources) on integers, 64-bit.
    CompareInt(CondMod),
    /// The same where 32 bits are enough: signed or not.
    Compare32(CondMod, bool),
    CompareFloat(CondMod),
    Float(Float),
    FloatToInt,
    IntToFloat,
    /// `addc` and `subb`: carry or borrow to the accumulator.
    Carry,
    Borrow,
    /// `mul` into the accumulator, 64 bits wide.
    MulAcc,
    /// `mach`: upper half to the destination.
    MulHigh,
    /// `mach` without accumulator write (`macl`): lower half.
    MulLow,
    Math(MathOp),
    Flow(Flow),
    Send(Box<Message>),
    /// `sync.bar`.
    Barrier,
    /// Executing it ends the run.
    Unsupported(Box<str>),
}

#[derive(Clone, Debug)]
pub(super) struct Micro {
    pub body: Body,
    pub lanes: u8,
    pub mask_offset: u8,
    pub no_mask: bool,
    pub saturate: bool,
    /// The result goes to acc0, too.
    pub acc_write: bool,
    pub pred: Option<Predicate>,
    pub cond: Option<CondMod>,
    /// First bit of the flag that `pred` and `cond` use, in f1:f0; the channel's number is added.
    pub flag_bit: u8,
    pub dst: Target,
    pub dst_ty: Type,
    pub src: [Option<Source>; 3],
    /// A source that the machine changes by itself (ce0, ip, tm0): it is brought up to date first.
    pub reads_state: bool,
    /// Byte offset in the kernel.
    pub offset: u32,
}

impl Micro {
    /// Mask of its channels, from bit 0.
    #[inline(always)]
    pub fn full(&self) -> u32 {
        u32::MAX >> (32 - u32::from(self.lanes))
    }
}
