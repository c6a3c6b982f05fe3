//! Instructions in the syntax of IGA, Intel's assembler, with single spaces.

use std::fmt::{self, Display, Formatter};

use super::float;
use super::ir::{Branch, CondMod, Ctrl, Desc, Instruction, MathFn, Op, PredMode, Send, Sfid, SyncFn};
use super::operand::{Dst, Mme, Place, RegFile, Region, Src, SrcMod, Type};
use super::swsb::{Pipe, TokenUse};

impl Instruction {
    /// For printing, with branch targets as labels: `L` and the target's offset in the kernel (`L_N` and the
    /// distance for a target before its start).
    pub const fn at(&self, offset: usize) -> At<'_> {
        At { inst: self, offset: Some(offset) }
    }
}

/// With branch targets as they are encoded: bytes from the instruction.
impl Display for Instruction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        At { inst: self, offset: None }.fmt(f)
    }
}

/// An instruction at its place: see [`Instruction::at`].
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    inst: &'a Instruction,
    offset: Option<usize>,
}

impl Display for At<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let inst = self.inst;
        self.mask_and_predicate(f)?;
        f.write_str(inst.op.mnemonic())?;
        self.function(f)?;
        if !matches!(inst.op, Op::Sync | Op::Nop | Op::Illegal | Op::Jmpi) {
            write!(f, " ({}|M{})", inst.exec_size.lanes(), inst.mask_offset)?;
        }
        if let Some(cond) = inst.cond {
            write!(f, " ({})f{}.{}", cond.name(), inst.flag.reg, inst.flag.sub)?;
        }
        if let Some(dst) = &inst.dst {
            f.write_str(" ")?;
            self.dst(f, dst)?;
        }
        for (at, src) in inst.src.iter().flatten().enumerate() {
            f.write_str(" ")?;
            self.src(f, at, src)?;
        }
        match &inst.ctrl {
            Ctrl::Branch(branch) => self.targets(f, branch)?,
            Ctrl::Send(send) => {
                match send.ex_desc {
                    Desc::Imm(bits) => write!(f, " 0x{bits:X}")?,
                    Desc::A0 { sub } => write!(f, " a0.{sub}")?,
                }
                match send.desc {
                    Desc::Imm(bits) => write!(f, " 0x{bits:08X}")?,
                    Desc::A0 { sub } => write!(f, " a0.{sub}")?,
                }
            }
            _ => {}
        }
        self.options(f)
    }
}

impl At<'_> {
    fn mask_and_predicate(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let inst = self.inst;
        let Some(pred) = inst.pred else {
            return if inst.no_mask { f.write_str("(W) ") } else { Ok(()) };
        };
        let mask = if inst.no_mask { "W&" } else { "" };
        let not = if pred.inverted { "~" } else { "" };
        write!(f, "({mask}{not}f{}.{}{}) ", inst.flag.reg, inst.flag.sub, pred.mode.suffix())
    }

    fn function(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.inst.ctrl {
            Ctrl::Math(function) => write!(f, ".{}", function.name()),
            Ctrl::Sync(function) => write!(f, ".{}", function.name()),
            Ctrl::Bfn(table) => write!(f, ".0x{table:02X}"),
            Ctrl::Dpas(dpas) => write!(f, ".{}x{}", dpas.depth, dpas.repeat),
            Ctrl::Send(send) => write!(f, ".{}", send.sfid.name()),
            Ctrl::Branch(Branch { branch_ctrl: true, .. }) => f.write_str(".b"),
            Ctrl::Branch(_) | Ctrl::None => Ok(()),
        }
    }

    /// Neither regions nor types are written where the operation implies them.
    fn is_bare(&self) -> bool {
        matches!(self.inst.ctrl, Ctrl::Send(_) | Ctrl::Branch(_))
    }

    fn has_sub(&self, at: Option<usize>) -> bool {
        match self.inst.ctrl {
            Ctrl::Send(_) => false,
            Ctrl::Dpas(_) => at == Some(2),
            _ => true,
        }
    }

    fn dst(&self, f: &mut Formatter<'_>, dst: &Dst) -> fmt::Result {
        if self.inst.saturate {
            f.write_str("(sat)")?;
        }
        place(f, &dst.place, dst.ty, self.has_sub(None))?;
        if self.is_bare() {
            return Ok(());
        }
        let implied = self.inst.is_macro() || matches!(self.inst.ctrl, Ctrl::Dpas(_));
        if !(implied && dst.hstride == 1) {
            write!(f, "<{}>", dst.hstride)?;
        }
        write!(f, ":{}", dst.ty.name())
    }

    fn src(&self, f: &mut Formatter<'_>, at: usize, src: &Src) -> fmt::Result {
        let inst = self.inst;
        if let (Ctrl::Send(Send { src1_len: Some(length), .. }), 1) = (&inst.ctrl, at) {
            // The length is written where the instruction, not a descriptor, gives it.
            if self.src1_len_is_own() {
                self.src_reg(f, at, src)?;
                return write!(f, ":{length}");
            }
        }
        match src {
            Src::Reg { .. } => self.src_reg(f, at, src),
            Src::Imm { bits, .. } if inst.op == Op::Sync => tokens(f, *bits),
            Src::Imm { bits, ty } => {
                immediate(f, *bits, *ty)?;
                write!(f, ":{}", ty.name())
            }
        }
    }

    fn src1_len_is_own(&self) -> bool {
        matches!(&self.inst.ctrl, Ctrl::Send(Send { ex_bso: true, .. } | Send { ex_desc: Desc::Imm(_), .. }))
    }

    fn src_reg(&self, f: &mut Formatter<'_>, at: usize, src: &Src) -> fmt::Result {
        let Src::Reg { place: at_place, region, modifier, ty } = src else { return Ok(()) };
        let inst = self.inst;
        f.write_str(match modifier {
            SrcMod::None => "",
            SrcMod::Abs => "(abs)",
            SrcMod::Neg if matches!(inst.op, Op::And | Op::Or | Op::Xor | Op::Not) => "~",
            SrcMod::Neg => "-",
            SrcMod::NegAbs => "-(abs)",
        })?;
        place(f, at_place, *ty, self.has_sub(Some(at)))?;
        if self.is_bare() || inst.op == Op::Sync {
            return Ok(());
        }
        if !matches!(inst.ctrl, Ctrl::Dpas(_)) && inst.op != Op::Madm {
            match region {
                Region::Vwh { v, w, h } => write!(f, "<{v};{w},{h}>")?,
                Region::Vxh { w, h } => write!(f, "<{w},{h}>")?,
                Region::Vh { v, h } => write!(f, "<{v};{h}>")?,
                Region::H { h } => write!(f, "<{h}>")?,
            }
        }
        write!(f, ":{}", ty.name())
    }

    fn targets(&self, f: &mut Formatter<'_>, branch: &Branch) -> fmt::Result {
        for target in [branch.jip, branch.uip].into_iter().flatten() {
            let Some(offset) = self.offset else {
                write!(f, " {target}")?;
                continue;
            };
            let base = if self.inst.op == Op::Calla { 0 } else { offset as i64 };
            match base + i64::from(target) {
                before if before < 0 => write!(f, " L_N{}", -before)?,
                target => write!(f, " L{target}")?,
            }
        }
        Ok(())
    }

    fn options(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let inst = self.inst;
        let mut list = List { f, any: false };
        let send = inst.send();
        for (on, name) in [
            (inst.acc_wr_en, "AccWrEn"),
            (inst.atomic, "Atomic"),
            (inst.breakpoint, "Breakpoint"),
            (inst.compacted, "Compacted"),
            (send.is_some_and(|send| send.eot), "EOT"),
            (send.is_some_and(|send| send.serialize), "Serialize"),
            (send.is_some_and(|send| send.ex_bso), "ExBSO"),
            (send.is_some_and(|send| send.cps), "CPS"),
        ] {
            if on {
                list.add(format_args!("{name}"))?;
            }
        }
        if let Some((pipe, dist)) = inst.swsb.dist {
            let pipe = match pipe {
                Pipe::Own => "",
                Pipe::All => "A",
                Pipe::Float => "F",
                Pipe::Int => "I",
                Pipe::Long => "L",
                Pipe::Math => "M",
            };
            list.add(format_args!("{pipe}@{dist}"))?;
        }
        if let Some((on, token)) = inst.swsb.token {
            let on = match on {
                TokenUse::Dst => ".dst",
                TokenUse::Src => ".src",
                TokenUse::Set => "",
            };
            list.add(format_args!("${token}{on}"))?;
        }
        list.end()
    }
}

/// ` {a,b}`, or nothing.
struct List<'f, 'b> {
    f: &'f mut Formatter<'b>,
    any: bool,
}

impl List<'_, '_> {
    fn add(&mut self, item: fmt::Arguments<'_>) -> fmt::Result {
        self.f.write_str(if self.any { "," } else { " {" })?;
        self.any = true;
        self.f.write_fmt(item)
    }

    fn end(self) -> fmt::Result {
        if self.any { self.f.write_str("}") } else { Ok(()) }
    }
}

fn place(f: &mut Formatter<'_>, place: &Place, ty: Type, has_sub: bool) -> fmt::Result {
    match *place {
        Place::Indirect { addr, offset: 0 } => write!(f, "r[a0.{addr}]"),
        Place::Indirect { addr, offset } => write!(f, "r[a0.{addr},{offset}]"),
        Place::Macro { file, reg, mme } => {
            register(f, file, reg)?;
            match mme {
                Mme::Acc(number) => write!(f, ".mme{number}"),
                Mme::None => f.write_str(".nomme"),
            }
        }
        Place::Direct { file, reg, sub } => {
            register(f, file, reg)?;
            let sub = if file.is_scaled() { ty.elements(sub) } else { sub };
            if sub != 0 || (has_sub && file.has_sub()) { write!(f, ".{sub}") } else { Ok(()) }
        }
    }
}

fn register(f: &mut Formatter<'_>, file: RegFile, reg: u8) -> fmt::Result {
    f.write_str(file.name())?;
    if matches!(file, RegFile::Null | RegFile::Ce | RegFile::Ip) { Ok(()) } else { write!(f, "{reg}") }
}

fn tokens(f: &mut Formatter<'_>, mask: u64) -> fmt::Result {
    f.write_str("(")?;
    let mut separator = "";
    for token in (0..32).filter(|token| mask >> token & 1 != 0) {
        write!(f, "{separator}${token}")?;
        separator = ",";
    }
    f.write_str(")")
}

fn immediate(f: &mut Formatter<'_>, bits: u64, ty: Type) -> fmt::Result {
    match ty {
        Type::B => write!(f, "{}", bits as i8),
        Type::W => write!(f, "{}", bits as i16),
        Type::D => write!(f, "{}", bits as i32),
        Type::Q => write!(f, "{}", bits as i64),
        Type::F => float::f32(f, bits as u32),
        Type::Hf => float::f16(f, bits as u16),
        Type::Df => float::f64(f, bits),
        _ => write!(f, "0x{bits:X}"),
    }
}

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
    const fn elements(self, bytes: u8) -> u8 {
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

    const fn has_sub(self) -> bool {
        !matches!(self, Self::Ip | Self::Ce | Self::Null)
    }

    /// Sub-registers are counted in elements, not in bytes.
    const fn is_scaled(self) -> bool {
        !matches!(self, Self::Fc | Self::Msg | Self::Ce | Self::Ip)
    }
}

impl PredMode {
    const fn suffix(self) -> &'static str {
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
    const fn name(self) -> &'static str {
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
