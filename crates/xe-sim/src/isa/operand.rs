//! Operands: registers, regions, types and immediates.

/// Element type. `V`, `Uv` and `Vf` are packed immediates; `U1`…`S4` occur in `dpas` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    Ub,
    B,
    Uw,
    W,
    Ud,
    D,
    Uq,
    Q,
    Hf,
    Bf,
    F,
    Df,
    /// Eight signed 4-bit integers.
    V,
    /// Eight unsigned 4-bit integers.
    Uv,
    /// Four 8-bit floats.
    Vf,
    U1,
    U2,
    S2,
    U4,
    S4,
}

impl Type {
    /// Bytes of one element; 0 for packed immediates and for the types smaller than a byte.
    pub const fn size(self) -> u8 {
        match self {
            Self::Ub | Self::B => 1,
            Self::Uw | Self::W | Self::Hf | Self::Bf => 2,
            Self::Ud | Self::D | Self::F => 4,
            Self::Uq | Self::Q | Self::Df => 8,
            Self::V | Self::Uv | Self::Vf | Self::U1 | Self::U2 | Self::S2 | Self::U4 | Self::S4 => 0,
        }
    }

    /// Floating-point (`Vf` included).
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Hf | Self::Bf | Self::F | Self::Df | Self::Vf)
    }

    /// Signed integer (`V` included).
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::B | Self::W | Self::D | Self::Q | Self::V | Self::S2 | Self::S4)
    }
}

/// Register file: the general registers, or one kind of architecture register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegFile {
    /// r0 to r255.
    Grf,
    Null,
    /// a0: address register, sixteen 16-bit elements.
    Addr,
    /// acc0 to acc7.
    Acc,
    /// mme0 to mme7, the accumulators of the math macros.
    Mme,
    /// f0, f1.
    Flag,
    /// Channel enables.
    Ce,
    Msg,
    Sp,
    /// sr0: state register (thread ids).
    Sr,
    /// cr0: control register (rounding and denormal modes).
    Cr,
    /// n0: notification.
    N,
    Ip,
    Tdr,
    /// tm0: timestamp.
    Tm,
    Fc,
    Dbg,
}

/// `f<reg>.<sub>`: 16 flag bits each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FlagRef {
    pub reg: u8,
    pub sub: u8,
}

/// Extension accumulator of a math-macro operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mme {
    /// mme0 to mme7.
    Acc(u8),
    /// `.nomme`.
    None,
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `sub` in bytes from the start of register `reg`.
    Direct { file: RegFile, reg: u8, sub: u8 },
    /// In the general registers at byte address `a0.<addr> + offset`. `addr` counts 16-bit elements of a0;
    /// with a VxH or Vx1 region it is the first of several. `offset` in bytes.
    Indirect { addr: u8, offset: i16 },
    /// A whole register plus its extension accumulator (math macros).
    Macro { file: RegFile, reg: u8, mme: Mme },
}

/// Destination. Elements are `hstride` apart (1, 2 or 4; 0 is encodable but meaningless).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dst {
    pub place: Place,
    pub hstride: u8,
    pub ty: Type,
}

impl Dst {
    /// The null register: nothing is stored.
    pub const fn is_null(&self) -> bool {
        matches!(self.place, Place::Direct { file: RegFile::Null, .. })
    }
}

/// How a source walks through registers, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// `<v;w,h>`: channel `i` is at `(i / w) * v + (i % w) * h`.
    Vwh { v: u8, w: u8, h: u8 },
    /// `<w,h>`, indirect only: every `w` channels take the next element of a0 (w = 1: one address a channel);
    /// within them `h` apart.
    Vxh { w: u8, h: u8 },
    /// `<v;h>`, sources 0 and 1 of three-source operations: width `v / h`, or 1 where `h` is 0.
    Vh { v: u8, h: u8 },
    /// `<h>`, source 2 of three-source operations: `h` apart.
    H { h: u8 },
}

impl Region {
    /// Offset of channel `lane` from the operand's start, in elements. `None` for [`Region::Vxh`], where it
    /// depends on a0.
    pub const fn offset(self, lane: u8) -> Option<u32> {
        let lane = lane as u32;
        match self {
            Self::Vwh { v, w, h } => {
                let w = if w == 0 { 1 } else { w as u32 };
                Some((lane / w) * v as u32 + (lane % w) * h as u32)
            }
            Self::Vxh { .. } => None,
            Self::Vh { v, h } => {
                let w = if h == 0 || v < h { 1 } else { (v / h) as u32 };
                Some((lane / w) * v as u32 + (lane % w) * h as u32)
            }
            Self::H { h } => Some(lane * h as u32),
        }
    }
}

/// Source modifier. The operation decides what `Neg` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SrcMod {
    None,
    Abs,
    /// Arithmetic negation; bitwise complement for `and`, `or`, `xor`, `not`.
    Neg,
    NegAbs,
}

/// Source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    Reg {
        place: Place,
        region: Region,
        modifier: SrcMod,
        ty: Type,
    },
    /// Raw bits, zero-extended from the type's own width (32 bits for the packed vectors).
    Imm {
        bits: u64,
        ty: Type,
    },
}

impl Src {
    /// The null register, as `sync` has it.
    pub const NULL: Self = Self::whole(RegFile::Null, 0);

    /// A register without regions, as messages use it.
    pub(super) const fn whole(file: RegFile, reg: u8) -> Self {
        Self::Reg {
            place: Place::Direct { file, reg, sub: 0 },
            region: Region::Vwh { v: 0, w: 1, h: 0 },
            modifier: SrcMod::None,
            ty: Type::Ub,
        }
    }

    /// Its element type.
    pub const fn ty(&self) -> Type {
        match self {
            Self::Reg { ty, .. } | Self::Imm { ty, .. } => *ty,
        }
    }

    /// The null register.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Reg { place: Place::Direct { file: RegFile::Null, .. }, .. })
    }
}
