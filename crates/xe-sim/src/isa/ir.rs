//! The decoded instruction: plain data, made for an executor and for the printer.
//!
//! Sub-register offsets are in **bytes**, strides and widths in **elements**, branch targets in **bytes relative to
//! the address of the branch instruction itself**, `jmpi` included (`calla` alone holds an absolute byte offset). Source of the
//! facts: Intel's public Xe-HPG PRM volume "3D and Compute" (EU ISA) and the graphics compiler's IGA models.

use super::operand::{Dst, FlagRef, Src};
use super::swsb::Swsb;

/// One operation of the execution unit. The machine's opcode number lives in the platform's table, not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    Illegal,
    Sync,
    Nop,
    // Flow control.
    Jmpi,
    Brd,
    Brc,
    If,
    Else,
    Endif,
    While,
    Break,
    Cont,
    Halt,
    Call,
    Calla,
    Ret,
    Goto,
    Join,
    // Messages.
    Send,
    Sendc,
    Math,
    // One source.
    Mov,
    Not,
    Frc,
    Rndu,
    Rndd,
    Rnde,
    Rndz,
    Lzd,
    Fbh,
    Fbl,
    Cbit,
    Bfrev,
    // Two sources.
    Movi,
    Sel,
    And,
    Or,
    Xor,
    Shr,
    Shl,
    Asr,
    Ror,
    Rol,
    Cmp,
    Cmpn,
    Add,
    Mul,
    Avg,
    Mac,
    Mach,
    Addc,
    Subb,
    Bfi1,
    // Three sources.
    Add3,
    Mad,
    Madm,
    Csel,
    Bfe,
    Bfi2,
    Bfn,
    Dp4a,
    Dpas,
    Dpasw,
}

/// Number of channels an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExecSize {
    S1,
    S2,
    S4,
    S8,
    S16,
    S32,
}

impl ExecSize {
    /// Channels: 1, 2, 4, 8, 16 or 32.
    pub const fn lanes(self) -> u8 {
        1 << self as u8
    }

    /// From the three encoded bits; 6 and 7 are reserved.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => Some(Self::S1),
            1 => Some(Self::S2),
            2 => Some(Self::S4),
            3 => Some(Self::S8),
            4 => Some(Self::S16),
            5 => Some(Self::S32),
            _ => None,
        }
    }
}

/// How a predicate combines the flag bits of neighbouring channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PredMode {
    /// Each channel by its own bit.
    Sequential,
    /// Any of the channel's bits of the two flag sub-registers.
    AnyV,
    AllV,
    Any2H,
    All2H,
    Any4H,
    All4H,
    Any8H,
    All8H,
    Any16H,
    All16H,
    Any32H,
    All32H,
    /// Over all channels of the instruction (platforms that dropped the sized forms).
    Any,
    All,
}

/// Predication: the channels where the instruction writes. The flag it reads is [`Instruction::flag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    pub inverted: bool,
    pub mode: PredMode,
}

/// Condition that writes (for `sel` and `csel`: selects by) the flag register [`Instruction::flag`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CondMod {
    /// `ze`/`eq`.
    Eq,
    /// `nz`/`ne`.
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
    /// Signed overflow.
    Ov,
    /// Unordered (a NaN took part).
    Un,
    /// Early out: implied by `math.invm` and `math.rsqtm`, never encoded.
    Eo,
}

/// Function of `math`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MathFn {
    Inv,
    Log,
    Exp,
    Sqt,
    Rsqt,
    Sin,
    Cos,
    Fdiv,
    Pow,
    /// Integer quotient and remainder (two destinations).
    Idiv,
    Iqot,
    Irem,
    /// First step of an IEEE division: operands carry [`Mme`](super::operand::Mme) extensions.
    Invm,
    /// First step of an IEEE square root.
    Rsqtm,
}

impl MathFn {
    /// Number of sources: 1 or 2.
    pub const fn sources(self) -> u8 {
        match self {
            Self::Fdiv | Self::Pow | Self::Idiv | Self::Iqot | Self::Irem | Self::Invm => 2,
            Self::Inv
            | Self::Log
            | Self::Exp
            | Self::Sqt
            | Self::Rsqt
            | Self::Sin
            | Self::Cos
            | Self::Rsqtm => 1,
        }
    }
}

/// Function of `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SyncFn {
    Nop,
    /// Waits for the reads of the scoreboard tokens in the immediate mask (all when the source is null).
    Allrd,
    Allwr,
    Flush,
    Fence,
    /// Waits for the thread group's barrier notification.
    Bar,
    Host,
}

/// Targets of a branch. Registers are used by `jmpi`, `brd`, `brc`, `call` and `ret` alone, then `src[0]` holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Branch {
    /// Bytes from the start of this instruction (`calla`: from the start of the kernel). `None`: in `src[0]`.
    pub jip: Option<i32>,
    /// Second target (reconvergence point of the outer block), where the operation has one.
    pub uip: Option<i32>,
    /// The `.b` form of `if`, `else` and `goto`.
    pub branch_ctrl: bool,
}

/// Shared function that a message goes to. Numbers differ between platforms: see the platform's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sfid {
    Null,
    /// Sampler.
    Smpl,
    /// Gateway: barriers and end of thread.
    Gtwy,
    Dc2,
    /// Render cache.
    Rc,
    Urb,
    /// Thread spawner: end of thread.
    Ts,
    Vme,
    Dcro,
    /// Legacy data port 0.
    Dc0,
    Pixi,
    Dc1,
    Cre,
    Btd,
    Rta,
    /// Load/store cache, shared local memory.
    Slm,
    /// Load/store cache, typed memory.
    Tgm,
    /// Load/store cache, untyped global memory.
    Ugm,
    Ugml,
}

/// A message descriptor: given in the instruction, or read from a0 when the message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Desc {
    Imm(u32),
    /// The address register's 32-bit element `sub` (0 to 7), which `mov` writes as `a0.<sub>:ud`.
    A0 {
        sub: u8,
    },
}

/// What `send` and `sendc` hold beside registers: `dst` (or null), `src[0]` and `src[1]` are whole registers.
/// Lengths are in registers; `None` where the length is in a descriptor register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    pub sfid: Sfid,
    pub desc: Desc,
    pub ex_desc: Desc,
    /// Registers of payload from `src[0]`: descriptor bits 28:25.
    pub src0_len: Option<u8>,
    /// Registers of payload from `src[1]`.
    pub src1_len: Option<u8>,
    /// Registers written to `dst`: descriptor bits 24:20.
    pub dst_len: Option<u8>,
    /// The thread ends with this message.
    pub eot: bool,
    /// The extended descriptor's register holds a whole 26-bit surface-state offset.
    pub ex_bso: bool,
    /// Coarse pixel shading, with `ex_bso` only.
    pub cps: bool,
    /// Fused threads send one after the other.
    pub serialize: bool,
}

/// `dpas`/`dpasw`: dst = src0 + sum over `depth` of src1 × src2, `repeat` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dpas {
    /// Systolic depth: 1, 2, 4 or 8.
    pub depth: u8,
    /// Repeat count: 1 to 8.
    pub repeat: u8,
}

/// What an operation needs beside its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ctrl {
    None,
    Math(MathFn),
    Sync(SyncFn),
    /// Truth table: bit `s0 | s1 << 1 | s2 << 2` is the result for these three source bits.
    Bfn(u8),
    Branch(Branch),
    Send(Send),
    Dpas(Dpas),
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instruction {
    pub op: Op,
    /// It was 8 bytes long, not 16.
    pub compacted: bool,
    pub exec_size: ExecSize,
    /// First channel of the thread's mask that it uses: 0, 4, … 28.
    pub mask_offset: u8,
    /// `(W)`: it ignores the execution mask.
    pub no_mask: bool,
    pub pred: Option<Predicate>,
    pub cond: Option<CondMod>,
    /// Flag register of `pred` and `cond`; f0.0 when neither is there.
    pub flag: FlagRef,
    pub saturate: bool,
    /// The result is also written to the accumulator.
    pub acc_wr_en: bool,
    pub atomic: bool,
    pub breakpoint: bool,
    pub dst: Option<Dst>,
    /// Sources in order; the used ones come first.
    pub src: [Option<Src>; 3],
    pub ctrl: Ctrl,
    /// Software scoreboard: what it waits for and which token it sets.
    pub swsb: Swsb,
}

impl Instruction {
    /// `op` alone: one channel, no operands, no modifiers.
    pub(crate) fn of(op: Op) -> Instruction {
        Instruction {
            op,
            compacted: false,
            exec_size: ExecSize::S1,
            mask_offset: 0,
            no_mask: false,
            pred: None,
            cond: None,
            flag: FlagRef::default(),
            saturate: false,
            acc_wr_en: false,
            atomic: false,
            breakpoint: false,
            dst: None,
            src: [None; 3],
            ctrl: Ctrl::None,
            swsb: Swsb::default(),
        }
    }

    /// Bytes it takes in the kernel: 8 or 16.
    pub const fn size(&self) -> usize {
        if self.compacted { 8 } else { 16 }
    }

    /// The branch targets, of an operation that has them.
    pub const fn branch(&self) -> Option<&Branch> {
        match &self.ctrl {
            Ctrl::Branch(branch) => Some(branch),
            _ => None,
        }
    }

    /// Byte offsets in the kernel that the branch at byte `offset` goes to, as far as the instruction tells: first
    /// `jip`, then `uip`. A target may lie outside the kernel, before its start too.
    pub fn targets(&self, offset: usize) -> impl Iterator<Item = i64> {
        let base = if self.op == Op::Calla { 0 } else { i64::try_from(offset).unwrap_or(i64::MAX) };
        let [jip, uip] = self.branch().map_or([None; 2], |branch| [branch.jip, branch.uip]);
        [jip, uip].into_iter().flatten().map(move |target| base.saturating_add(target.into()))
    }

    /// The message, of `send` and `sendc`.
    pub const fn send(&self) -> Option<&Send> {
        match &self.ctrl {
            Ctrl::Send(send) => Some(send),
            _ => None,
        }
    }

    /// Math macros (`math.invm`, `math.rsqtm`, `madm`): their operands name an extension accumulator, not a
    /// sub-register.
    pub const fn is_macro(&self) -> bool {
        matches!((self.op, &self.ctrl), (Op::Madm, _) | (Op::Math, Ctrl::Math(MathFn::Invm | MathFn::Rsqtm)))
    }
}
