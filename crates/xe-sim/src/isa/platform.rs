//! What differs between platforms, as data: opcodes, field positions, code tables and compaction tables.

use super::bits::{Field, Move};
use super::compact::{Compaction, NativeHints};
use super::ir::{MathFn, Op, PredMode, Sfid, SyncFn};
use super::operand::{RegFile, Type};
use super::swsb::SwsbEncoding;

/// Shape of an operation's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Illegal,
    Nop,
    Sync,
    Unary,
    Binary,
    Math,
    Ternary,
    /// Three sources with extension accumulators.
    TernaryMacro,
    Dpas,
    Send,
    /// One target.
    Branch1,
    /// Two targets.
    Branch2,
    /// One target and a destination (`call`).
    BranchCall,
}

/// What an operation's encoding has room for. Fields it has no room for are ignored.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Has {
    pub pred: bool,
    pub cond: bool,
    pub saturate: bool,
    pub src_mods: bool,
    pub branch_ctrl: bool,
    /// `bf` operands.
    pub bf: bool,
}

/// An operation of a platform.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpInfo {
    pub code: u8,
    pub op: Op,
    pub format: Format,
    pub has: Has,
}

/// Destination of everything but three-source operations.
pub(super) struct DstFields {
    pub indirect: Field,
    pub ty: Field,
    pub hstride: Field,
    pub file: Field,
    pub sub: Field,
    pub mme: Field,
    pub reg: Field,
    pub addr: Field,
    pub offset: Field,
}

/// Source 0 or 1 of one- and two-source operations.
pub(super) struct SrcFields {
    pub is_imm: Field,
    pub ty: Field,
    /// Bit 0 absolute, bit 1 negate.
    pub modifier: Field,
    pub file: Field,
    pub sub: Field,
    pub mme: Field,
    pub reg: Field,
    pub hstride: Field,
    pub width: Field,
    pub vstride: Field,
    pub indirect: Field,
    pub addr: Field,
    pub offset: Field,
}

/// A source of three-source operations.
pub(super) struct TernarySrcFields {
    /// `None`: it cannot be an immediate.
    pub is_imm: Option<Field>,
    pub imm: Field,
    pub ty: Field,
    /// Size of `dpas` elements below a byte.
    pub precision: Option<Field>,
    pub modifier: Field,
    pub file: Field,
    pub sub: Field,
    pub mme: Field,
    pub reg: Field,
    pub hstride: Field,
    /// Two bits, low one first; `None`: linear.
    pub vstride: Option<[Field; 2]>,
}

/// Three-source operations.
pub(super) struct TernaryFields {
    pub is_float: Field,
    pub dst_ty: Field,
    pub dst_hstride: Field,
    pub src: [TernarySrcFields; 3],
    pub bfn_low: Field,
    pub bfn_high: Field,
    /// `bfn`'s function takes the place of the condition modifier: its own is here.
    pub bfn_cond: Field,
    pub dpas_depth: Field,
    pub dpas_repeat: Field,
}

/// Messages.
pub(super) struct SendFields {
    pub serialize: Field,
    pub eot: Field,
    pub sfid: Field,
    pub desc_is_reg: Field,
    pub desc: &'static [Move],
    pub ex_desc_is_reg: Field,
    pub ex_desc: &'static [Move],
    pub ex_desc_sub: Field,
    pub ex_bso: Field,
    pub cps: Field,
    pub src1_len: Field,
}

/// Where everything is in a native instruction.
pub(super) struct Encoding {
    pub opcode: Field,
    pub compact: Field,
    pub swsb: Field,
    pub exec_size: Field,
    pub mask_offset: Field,
    pub flag_sub: Field,
    pub flag_reg: Field,
    pub pred: Field,
    pub pred_inv: Field,
    pub breakpoint: Field,
    pub no_mask: Field,
    pub atomic: Field,
    pub acc_wr: Field,
    pub branch_ctrl: Field,
    pub saturate: Field,
    pub cond: Field,
    /// Function of `math` and of `sync`.
    pub function: Field,
    pub imm32: Field,
    pub imm64_high: Field,
    pub jip: Field,
    pub uip: Field,
    pub dst: DstFields,
    pub src: [SrcFields; 2],
    pub ternary: TernaryFields,
    pub send: SendFields,
}

/// A kind of architecture register.
pub(super) struct Arf {
    /// Upper four bits of the register number.
    pub code: u8,
    /// What the lower four bits start at.
    pub base: u8,
    pub file: RegFile,
    pub count: u8,
}

/// One platform.
pub struct Platform {
    pub(super) name: &'static str,
    /// Bytes of a general register.
    pub(super) grf_bytes: u8,
    pub(super) ops: &'static [OpInfo],
    pub(super) encoding: Encoding,
    pub(super) compaction: Compaction,
    pub(super) hints: NativeHints,
    pub(super) swsb: SwsbEncoding,
    /// By type code; immediates and registers share the codes, not the meaning.
    pub(super) reg_types: [Option<Type>; 16],
    pub(super) imm_types: [Option<Type>; 16],
    /// By predicate code; 0 stands for no predicate.
    pub(super) pred_modes: [Option<PredMode>; 16],
    pub(super) arfs: &'static [Arf],
    pub(super) math: [Option<MathFn>; 16],
    pub(super) sync: [Option<SyncFn>; 16],
    pub(super) sfids: [Option<Sfid>; 16],
    pub(super) depths: [u8; 4],
}

impl Platform {
    /// Name of the architecture, as its makers call it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Bytes of one general register.
    pub const fn grf_bytes(&self) -> u8 {
        self.grf_bytes
    }

    /// The operations it has, with the opcode of each.
    pub fn ops(&self) -> impl Iterator<Item = (u8, Op)> + '_ {
        self.ops.iter().map(|info| (info.code, info.op))
    }

    pub(super) fn op_info(&self, code: u8) -> Option<&OpInfo> {
        self.ops.iter().find(|info| info.code == code)
    }
}

impl std::fmt::Debug for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Platform").field("name", &self.name).finish_non_exhaustive()
    }
}
