//! Names in the assembly, and what printing needs to know of types and register files.

use super::ir::{CondMod, MathFn, Op, PredMode, Sfid, SyncFn};
use super::operand::{RegFile, Type};

impl Type {
    /// As in the assembly, without the colon.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ub => "ub",
            Self::B => "b",
            Self::Uw => "uw",
            Self::W => "w",
            Self::Ud => "ud",
            Self::D => "d",
            Self::Uq => "uq",
            Self::Q => "q",
            Self::Hf => "hf",
            Self::Bf => "bf",
            Self::F => "f",
            Self::Df => "df",
            Self::V => "v",
            Self::Uv => "uv",
            Self::Vf => "vf",
            Self::U1 => "u1",
            Self::U2 => "u2",
            Self::S2 => "s2",
            Self::U4 => "u4",
            Self::S4 => "s4",
        }
    }

    /// Bytes as elements.
    pub(super) const fn elements(self, bytes: u8) -> u8 {
        match self {
            Self::U1 => bytes.wrapping_mul(8),
            Self::U2 | Self::S2 => bytes.wrapping_mul(4),
            Self::U4 | Self::S4 => bytes.wrapping_mul(2),
            _ => match self.size() {
                0 => bytes,
                size => bytes / size,
            },
        }
    }
}

impl RegFile {
    /// As in the assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grf => "r",
            Self::Null => "null",
            Self::Addr => "a",
            Self::Acc => "acc",
            Self::Mme => "mme",
            Self::Flag => "f",
            Self::Ce => "ce",
            Self::Msg => "msg",
            Self::Sp => "sp",
            Self::Sr => "sr",
            Self::Cr => "cr",
            Self::N => "n",
            Self::Ip => "ip",
            Self::Tdr => "tdr",
            Self::Tm => "tm",
            Self::Fc => "fc",
            Self::Dbg => "dbg",
        }
    }

    pub(super) const fn has_sub(self) -> bool {
        !matches!(self, Self::Ip | Self::Ce | Self::Null)
    }

    /// Sub-registers are counted in elements, not in bytes.
    pub(super) const fn is_scaled(self) -> bool {
        !matches!(self, Self::Fc | Self::Msg | Self::Ce | Self::Ip)
    }
}

impl PredMode {
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Sequential => "",
            Self::AnyV => ".anyv",
            Self::AllV => ".allv",
            Self::Any2H => ".any2h",
            Self::All2H => ".all2h",
            Self::Any4H => ".any4h",
            Self::All4H => ".all4h",
            Self::Any8H => ".any8h",
            Self::All8H => ".all8h",
            Self::Any16H => ".any16h",
            Self::All16H => ".all16h",
            Self::Any32H => ".any32h",
            Self::All32H => ".all32h",
            Self::Any => ".any",
            Self::All => ".all",
        }
    }
}

impl CondMod {
    /// As in the assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Ov => "ov",
            Self::Un => "un",
            Self::Eo => "eo",
        }
    }
}

impl MathFn {
    /// As in the assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inv => "inv",
            Self::Log => "log",
            Self::Exp => "exp",
            Self::Sqt => "sqt",
            Self::Rsqt => "rsqt",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Fdiv => "fdiv",
            Self::Pow => "pow",
            Self::Idiv => "idiv",
            Self::Iqot => "iqot",
            Self::Irem => "irem",
            Self::Invm => "invm",
            Self::Rsqtm => "rsqtm",
        }
    }
}

impl SyncFn {
    /// As in the assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nop => "nop",
            Self::Allrd => "allrd",
            Self::Allwr => "allwr",
            Self::Flush => "flush",
            Self::Fence => "fence",
            Self::Bar => "bar",
            Self::Host => "host",
        }
    }
}

impl Sfid {
    /// As in the assembly.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Smpl => "smpl",
            Self::Gtwy => "gtwy",
            Self::Dc2 => "dc2",
            Self::Rc => "rc",
            Self::Urb => "urb",
            Self::Ts => "ts",
            Self::Vme => "vme",
            Self::Dcro => "dcro",
            Self::Dc0 => "dc0",
            Self::Pixi => "pixi",
            Self::Dc1 => "dc1",
            Self::Cre => "cre",
            Self::Btd => "btd",
            Self::Rta => "rta",
            Self::Slm => "slm",
            Self::Tgm => "tgm",
            Self::Ugm => "ugm",
            Self::Ugml => "ugml",
        }
    }
}

impl Op {
    /// As in the assembly.
    pub const fn mnemonic(self) -> &'static str {
        match self {
            Self::Illegal => "illegal",
            Self::Sync => "sync",
            Self::Nop => "nop",
            Self::Jmpi => "jmpi",
            Self::Brd => "brd",
            Self::Brc => "brc",
            Self::If => "if",
            Self::Else => "else",
            Self::Endif => "endif",
            Self::While => "while",
            Self::Break => "break",
            Self::Cont => "cont",
            Self::Halt => "halt",
            Self::Call => "call",
            Self::Calla => "calla",
            Self::Ret => "ret",
            Self::Goto => "goto",
            Self::Join => "join",
            Self::Send => "send",
            Self::Sendc => "sendc",
            Self::Math => "math",
            Self::Mov => "mov",
            Self::Not => "not",
            Self::Frc => "frc",
            Self::Rndu => "rndu",
            Self::Rndd => "rndd",
            Self::Rnde => "rnde",
            Self::Rndz => "rndz",
            Self::Lzd => "lzd",
            Self::Fbh => "fbh",
            Self::Fbl => "fbl",
            Self::Cbit => "cbit",
            Self::Bfrev => "bfrev",
            Self::Movi => "movi",
            Self::Sel => "sel",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Shr => "shr",
            Self::Shl => "shl",
            Self::Asr => "asr",
            Self::Ror => "ror",
            Self::Rol => "rol",
            Self::Cmp => "cmp",
            Self::Cmpn => "cmpn",
            Self::Add => "add",
            Self::Mul => "mul",
            Self::Avg => "avg",
            Self::Mac => "mac",
            Self::Mach => "mach",
            Self::Addc => "addc",
            Self::Subb => "subb",
            Self::Bfi1 => "bfi1",
            Self::Add3 => "add3",
            Self::Mad => "mad",
            Self::Madm => "madm",
            Self::Csel => "csel",
            Self::Bfe => "bfe",
            Self::Bfi2 => "bfi2",
            Self::Bfn => "bfn",
            Self::Dp4a => "dp4a",
            Self::Dpas => "dpas",
            Self::Dpasw => "dpasw",
        }
    }
}
