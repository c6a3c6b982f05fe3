//! Instructions in the syntax of IGA, Intel's assembler, with single spaces.

use std::fmt::{self, Display, Formatter};

use super::float;
use super::ir::{Branch, Ctrl, Desc, Instruction, Op, Send};
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
        if let Some(offset) = self.offset {
            for target in self.inst.targets(offset) {
                let sign = if target < 0 { "_N" } else { "" };
                write!(f, " L{sign}{}", target.unsigned_abs())?;
            }
        } else {
            for distance in [branch.jip, branch.uip].into_iter().flatten() {
                write!(f, " {distance}")?;
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
