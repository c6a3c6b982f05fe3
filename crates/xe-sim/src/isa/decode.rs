//! Bytes → [`Instruction`].
//!
//! Total: any bytes give an instruction or an error with the field at fault. What an operation's encoding has no
//! use for is ignored, as the hardware and Intel's disassembler do; a reserved value in a field that is used is an
//! error.

use super::bits::{Field, gather};
use super::ir::{
    Branch, CondMod, Ctrl, Desc, Dpas, ExecSize, Instruction, MathFn, Op, Predicate, Send, SyncFn,
};
use super::operand::{Dst, FlagRef, Src, Type};
use super::platform::{Encoding, Format, OpInfo, Platform};
use super::swsb::{Latency, Swsb};

/// Why bytes are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("{have} bytes are left of an instruction of {want}")]
    Truncated { have: usize, want: usize },
    #[error("unknown opcode {0:#04x}")]
    Opcode(u8),
    #[error("this operation has no compact form")]
    NoCompactForm,
    #[error("reserved value {value:#x} of {field}")]
    Field { field: &'static str, value: u64 },
}

/// A place in a kernel that is no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no instruction at offset {offset:#x}: {reason}")]
pub struct DecodeError {
    /// Bytes from the start of what was given.
    pub offset: usize,
    pub reason: Reason,
}

pub(super) fn reserved(field: &'static str, value: impl Into<u64>) -> Reason {
    Reason::Field { field, value: value.into() }
}

/// The instruction at the start of `bytes`; what follows it is not looked at.
///
/// # Errors
/// [`DecodeError`] with offset 0, when the bytes are too few or hold a reserved encoding.
pub fn decode(bytes: &[u8], platform: &Platform) -> Result<Instruction, DecodeError> {
    instruction(bytes, platform).map_err(|reason| DecodeError { offset: 0, reason })
}

pub(super) fn instruction(bytes: &[u8], platform: &Platform) -> Result<Instruction, Reason> {
    let encoding = &platform.encoding;
    let short = bytes.first_chunk::<8>().ok_or(Reason::Truncated { have: bytes.len(), want: 8 })?;
    let short = u64::from_le_bytes(*short);
    let compacted = encoding.compact.is_set(short.into());
    let code = encoding.opcode.get8(short.into());
    let word = if compacted {
        short.into()
    } else {
        let long = bytes.first_chunk::<16>().ok_or(Reason::Truncated { have: bytes.len(), want: 16 })?;
        u128::from_le_bytes(*long)
    };
    let info = platform.op_info(code).ok_or(Reason::Opcode(code))?;
    let word =
        if compacted { platform.compaction.expand(short, info.format, &platform.hints)? } else { word };
    Decoder { word, platform, encoding, info, ctrl: Ctrl::None }.instruction(compacted)
}

/// One native instruction word being taken apart.
pub(super) struct Decoder<'a> {
    pub word: u128,
    pub platform: &'a Platform,
    pub encoding: &'a Encoding,
    pub info: &'a OpInfo,
    /// The operation's function: what operands mean can depend on it.
    pub ctrl: Ctrl,
}

impl Decoder<'_> {
    pub fn get(&self, field: Field) -> u8 {
        field.get8(self.word)
    }

    pub fn is_set(&self, field: Field) -> bool {
        field.is_set(self.word)
    }

    fn instruction(mut self, compacted: bool) -> Result<Instruction, Reason> {
        let has = self.info.has;
        let mut inst = Instruction { compacted, ..Instruction::of(self.info.op) };
        if self.info.format == Format::Illegal {
            return Ok(inst);
        }
        inst.swsb = self.swsb()?;
        inst.breakpoint = self.is_set(self.encoding.breakpoint);
        if self.info.format == Format::Nop {
            return Ok(inst);
        }
        self.ctrl = self.control()?;
        inst.ctrl = self.ctrl;
        let size = self.get(self.encoding.exec_size);
        inst.exec_size = ExecSize::from_bits(size).ok_or(reserved("execution size", size))?;
        if inst.op == Op::Jmpi {
            if inst.exec_size != ExecSize::S1 {
                return Err(reserved("execution size of jmpi", size));
            }
        } else {
            inst.mask_offset = 4 * self.get(self.encoding.mask_offset);
        }
        inst.no_mask = self.is_set(self.encoding.no_mask);
        inst.atomic = self.is_set(self.encoding.atomic);
        if has.pred {
            inst.pred = self.predicate()?;
        }
        inst.cond = self.cond(&inst)?;
        if inst.pred.is_some() || inst.cond.is_some() {
            inst.flag =
                FlagRef { reg: self.get(self.encoding.flag_reg), sub: self.get(self.encoding.flag_sub) };
        }
        inst.saturate = has.saturate && self.is_set(self.encoding.saturate);
        inst.acc_wr_en = self.is_set(self.encoding.acc_wr)
            && matches!(
                self.info.format,
                Format::Unary
                    | Format::Binary
                    | Format::Math
                    | Format::Ternary
                    | Format::TernaryMacro
                    | Format::Dpas
            );
        (inst.dst, inst.src) = self.operands(&inst)?;
        Ok(inst)
    }

    fn swsb(&self) -> Result<Swsb, Reason> {
        let latency = match self.info.format {
            Format::Send => Latency::Send,
            Format::Math | Format::Dpas => Latency::Variable,
            _ => Latency::Fixed,
        };
        let raw = self.encoding.swsb.get(self.word);
        self.platform.swsb.decode(raw, latency).ok_or(reserved("scoreboard field", raw))
    }

    fn predicate(&self) -> Result<Option<Predicate>, Reason> {
        let code = self.get(self.encoding.pred);
        if code == 0 {
            return Ok(None);
        }
        let mode = self.platform.pred_modes.get(usize::from(code)).copied().flatten();
        let mode = mode.ok_or(reserved("predicate control", code))?;
        Ok(Some(Predicate { inverted: self.is_set(self.encoding.pred_inv), mode }))
    }

    fn cond(&self, inst: &Instruction) -> Result<Option<CondMod>, Reason> {
        if matches!(inst.ctrl, Ctrl::Math(MathFn::Invm | MathFn::Rsqtm)) {
            return Ok(Some(CondMod::Eo));
        }
        if !self.info.has.cond {
            return Ok(None);
        }
        if inst.op == Op::Bfn {
            let code = self.get(self.encoding.ternary.bfn_cond);
            return Ok([None, Some(CondMod::Eq), Some(CondMod::Gt), Some(CondMod::Lt)]
                .get(usize::from(code))
                .copied()
                .flatten());
        }
        // The upper half of a 64-bit immediate lies on the condition modifier.
        let src0 = &self.encoding.src[0];
        let imm_type = self.platform.imm_types.get(usize::from(self.get(src0.ty))).copied().flatten();
        if matches!(self.info.format, Format::Unary | Format::Binary)
            && self.is_set(src0.is_imm)
            && imm_type.is_some_and(|ty| ty.size() == 8)
        {
            return Ok(None);
        }
        let code = self.get(self.encoding.cond);
        Ok(Some(match code {
            0 => return Ok(None),
            1 => CondMod::Eq,
            2 => CondMod::Ne,
            3 => CondMod::Gt,
            4 => CondMod::Ge,
            5 => CondMod::Lt,
            6 => CondMod::Le,
            8 => CondMod::Ov,
            9 => CondMod::Un,
            _ => return Err(reserved("condition modifier", code)),
        }))
    }

    fn control(&self) -> Result<Ctrl, Reason> {
        let function = self.get(self.encoding.function);
        let by_code = usize::from(function);
        Ok(match self.info.format {
            Format::Math => {
                let math = self.platform.math.get(by_code).copied().flatten();
                Ctrl::Math(math.ok_or(reserved("math function", function))?)
            }
            Format::Sync => {
                let sync = self.platform.sync.get(by_code).copied().flatten();
                Ctrl::Sync(sync.ok_or(reserved("sync function", function))?)
            }
            Format::Ternary if self.info.op == Op::Bfn => {
                let ternary = &self.encoding.ternary;
                Ctrl::Bfn(self.get(ternary.bfn_high) << 4 | self.get(ternary.bfn_low))
            }
            Format::Dpas => {
                let ternary = &self.encoding.ternary;
                let code = self.get(ternary.dpas_depth);
                let depth = self.platform.depths.get(usize::from(code)).copied();
                Ctrl::Dpas(Dpas {
                    depth: depth.ok_or(reserved("systolic depth", code))?,
                    repeat: self.get(ternary.dpas_repeat) + 1,
                })
            }
            Format::Send => Ctrl::Send(self.send()?),
            Format::Branch1 | Format::Branch2 | Format::BranchCall => Ctrl::Branch(self.branch()?),
            Format::Illegal
            | Format::Nop
            | Format::Unary
            | Format::Binary
            | Format::Ternary
            | Format::TernaryMacro => Ctrl::None,
        })
    }

    fn send(&self) -> Result<Send, Reason> {
        let fields = &self.encoding.send;
        let code = self.get(fields.sfid);
        let sfid = self.platform.sfids.get(usize::from(code)).copied().flatten();
        let desc = if self.is_set(fields.desc_is_reg) {
            Desc::A0 { sub: 0 }
        } else {
            Desc::Imm(gather(self.word, fields.desc))
        };
        let ex_desc = if self.is_set(fields.ex_desc_is_reg) {
            Desc::A0 { sub: self.get(fields.ex_desc_sub) }
        } else {
            Desc::Imm(gather(self.word, fields.ex_desc))
        };
        let by_reg = matches!(ex_desc, Desc::A0 { .. });
        let ex_bso = by_reg && self.is_set(fields.ex_bso);
        let length = |shift: u32, mask: u32| match desc {
            Desc::Imm(desc) => Some(((desc >> shift) & mask) as u8),
            Desc::A0 { .. } => None,
        };
        let src1_len = if self.whole_src(1)?.is_null() {
            // A null source has no length, whatever the bits say.
            Some(0)
        } else if by_reg && !ex_bso {
            None
        } else {
            Some(self.get(fields.src1_len))
        };
        Ok(Send {
            sfid: sfid.ok_or(reserved("shared function", code))?,
            desc,
            ex_desc,
            src0_len: length(25, 0xf),
            src1_len,
            dst_len: length(20, 0x1f),
            eot: self.is_set(fields.eot),
            ex_bso,
            cps: ex_bso && self.is_set(fields.cps),
            serialize: self.is_set(fields.serialize),
        })
    }

    fn branch(&self) -> Result<Branch, Reason> {
        let target = |field: Field| Some(field.get(self.word) as u32 as i32);
        let by_imm = self.is_set(self.encoding.src[0].is_imm);
        let jip = if by_imm { target(self.encoding.jip) } else { None };
        let mut uip = None;
        if self.info.format == Format::Branch2 {
            // `brc` alone may take its targets, both of them, from a register.
            let in_reg = self.info.op == Op::Brc && self.is_set(self.encoding.src[0].file);
            if !by_imm && !in_reg {
                return Err(reserved(
                    "register target of a two-target branch",
                    self.get(self.encoding.src[0].reg),
                ));
            }
            if by_imm {
                if !self.is_set(self.encoding.src[1].is_imm) {
                    return Err(reserved("second branch target's kind", 0u8));
                }
                uip = target(self.encoding.uip);
            }
        }
        let branch_ctrl = self.info.has.branch_ctrl && self.is_set(self.encoding.branch_ctrl);
        Ok(Branch { jip, uip, branch_ctrl })
    }

    fn operands(&self, inst: &Instruction) -> Result<(Option<Dst>, [Option<Src>; 3]), Reason> {
        let is_macro = inst.is_macro();
        Ok(match self.info.format {
            Format::Illegal | Format::Nop => (None, [None; 3]),
            Format::Sync => (None, [Some(self.sync_source(&inst.ctrl)?), None, None]),
            Format::Unary => (Some(self.dst(is_macro)?), [Some(self.src(0, is_macro)?), None, None]),
            Format::Binary => (
                Some(self.dst(is_macro)?),
                [Some(self.src(0, is_macro)?), Some(self.src(1, is_macro)?), None],
            ),
            Format::Math => {
                let second = match inst.ctrl {
                    Ctrl::Math(function) if function.sources() == 2 => Some(self.src(1, is_macro)?),
                    _ => None,
                };
                (Some(self.dst(is_macro)?), [Some(self.src(0, is_macro)?), second, None])
            }
            Format::Ternary | Format::TernaryMacro | Format::Dpas => {
                let mut src = [None; 3];
                for (at, place) in src.iter_mut().enumerate() {
                    *place = Some(self.ternary_src(at, is_macro)?);
                }
                (Some(self.ternary_dst(is_macro)?), src)
            }
            Format::Send => {
                (Some(self.whole_dst()?), [Some(self.whole_src(0)?), Some(self.whole_src(1)?), None])
            }
            Format::Branch1 | Format::Branch2 => (None, [self.branch_src(inst)?, None, None]),
            Format::BranchCall => (Some(self.branch_dst()?), [self.branch_src(inst)?, None, None]),
        })
    }

    fn sync_source(&self, ctrl: &Ctrl) -> Result<Src, Reason> {
        let fields = &self.encoding.src[0];
        if self.is_set(fields.is_imm) {
            if !matches!(ctrl, Ctrl::Sync(SyncFn::Allrd | SyncFn::Allwr)) {
                return Err(reserved("source kind of sync", 1u8));
            }
            let ty = self.get(fields.ty);
            if self.imm_type(ty, "source 0 type")?.size() == 8 {
                return Err(reserved("source 0 type", ty));
            }
            return Ok(Src::Imm { bits: self.encoding.imm32.get(self.word), ty: Type::Ud });
        }
        if self.is_set(fields.file) {
            return Err(reserved("source register file of sync", 1u8));
        }
        Ok(Src::NULL)
    }

    fn branch_src(&self, inst: &Instruction) -> Result<Option<Src>, Reason> {
        match inst.ctrl {
            Ctrl::Branch(Branch { jip: None, .. }) => self.branch_reg().map(Some),
            _ => Ok(None),
        }
    }
}
