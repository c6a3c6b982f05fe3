//! Operands of a native instruction word.

use super::bits::Field;
use super::decode::{Decoder, Reason, reserved};
use super::ir::Ctrl;
use super::operand::{Dst, Mme, Place, RegFile, Region, Src, SrcMod, Type};
use super::platform::{Format, SrcFields, TernarySrcFields};

const HSTRIDES: [u8; 4] = [0, 1, 2, 4];
const TERNARY_VSTRIDES: [u8; 4] = [0, 1, 4, 8];
const VXH: u8 = 15;
/// A type of earlier platforms that Intel's disassembler still prints, as `nf`.
const NATIVE_FLOAT: u8 = 15;
const NATIVE_FLOAT_TYPE: &str = "native float type";
const BYTE_IMMEDIATE: &str = "byte immediate";
const DST_TYPE: &str = "destination type";

/// By a two-bit code.
fn pick(table: [u8; 4], code: u8) -> u8 {
    table.get(usize::from(code)).copied().unwrap_or(0)
}

impl Decoder<'_> {
    fn reg(&self, is_grf: bool, number: u8) -> Result<(RegFile, u8), Reason> {
        if is_grf {
            return Ok((RegFile::Grf, number));
        }
        let (code, low) = (number >> 4, number & 15);
        self.platform
            .arfs
            .iter()
            .find(|arf| arf.code == code && low >= arf.base && low - arf.base < arf.count)
            .map(|arf| (arf.file, low - arf.base))
            .ok_or(reserved("architecture register", number))
    }

    fn reg_type(&self, code: u8, field: &'static str) -> Result<Type, Reason> {
        let ty = self.platform.reg_types.get(usize::from(code)).copied().flatten();
        ty.filter(|ty| *ty != Type::Bf || self.info.has.bf).ok_or(reserved(field, code))
    }

    pub(super) fn imm_type(&self, code: u8, field: &'static str) -> Result<Type, Reason> {
        self.platform.imm_types.get(usize::from(code)).copied().flatten().ok_or(reserved(field, code))
    }

    fn mme(&self, field: Field) -> Result<Mme, Reason> {
        match self.get(field) {
            number @ 0..=7 => Ok(Mme::Acc(number)),
            8 => Ok(Mme::None),
            code => Err(reserved("extension accumulator", code)),
        }
    }

    fn modifier(&self, field: Field) -> SrcMod {
        match (self.info.has.src_mods, self.get(field)) {
            (true, 1) => SrcMod::Abs,
            (true, 2) => SrcMod::Neg,
            (true, 3) => SrcMod::NegAbs,
            _ => SrcMod::None,
        }
    }

    pub(super) fn dst(&self, is_macro: bool) -> Result<Dst, Reason> {
        let fields = &self.encoding.dst;
        let hstride = pick(HSTRIDES, self.get(fields.hstride));
        let ty = self.reg_type(self.get(fields.ty), DST_TYPE)?;
        let place = if self.is_set(fields.indirect) {
            Place::Indirect {
                addr: self.get(fields.addr),
                offset: fields.offset.get_signed(self.word) as i16,
            }
        } else {
            let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
            if is_macro {
                Place::Macro { file, reg, mme: self.mme(fields.mme)? }
            } else {
                Place::Direct { file, reg, sub: self.get(fields.sub) }
            }
        };
        Ok(Dst { place, hstride, ty })
    }

    /// Source `at`: 0 or 1.
    pub(super) fn src(&self, at: usize, is_macro: bool) -> Result<Src, Reason> {
        let [first, second] = &self.encoding.src;
        let (fields, names) = if at == 0 { (first, SRC0) } else { (second, SRC1) };
        let code = self.get(fields.ty);
        if self.is_set(fields.is_imm) {
            return self.immediate(at, self.imm_type(code, names.ty)?, names.kind);
        }
        let ty = self.reg_type(code, names.ty)?;
        let region = self.region(fields, names)?;
        let place = if self.is_set(fields.indirect) {
            Place::Indirect {
                addr: self.get(fields.addr),
                offset: fields.offset.get_signed(self.word) as i16,
            }
        } else {
            let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
            if is_macro {
                Place::Macro { file, reg, mme: self.mme(fields.mme)? }
            } else {
                Place::Direct { file, reg, sub: self.get(fields.sub) }
            }
        };
        Ok(Src::Reg { place, region, modifier: self.modifier(fields.modifier), ty })
    }

    fn immediate(&self, at: usize, ty: Type, kind: &'static str) -> Result<Src, Reason> {
        let low = self.encoding.imm32.get(self.word);
        // The value lies on source 1, its upper half on source 0: only a lone source has room for both.
        let lone = match self.ctrl {
            Ctrl::Math(function) => function.sources() == 1,
            _ => self.info.format == Format::Unary,
        };
        if at == 0 && !lone {
            return Err(reserved(kind, 1u8));
        }
        let bits = match ty.size() {
            8 if self.info.format == Format::Unary => self.encoding.imm64_high.get(self.word) << 32 | low,
            8 => return Err(reserved("source 1 type", self.get(self.encoding.src[1].ty))),
            2 => low & 0xffff,
            _ => low,
        };
        Ok(Src::Imm { bits, ty })
    }

    fn region(&self, fields: &SrcFields, names: Names) -> Result<Region, Reason> {
        let h = pick(HSTRIDES, self.get(fields.hstride));
        let w = match self.get(fields.width) {
            code @ 0..=4 => 1 << code,
            code => return Err(reserved(names.width, code)),
        };
        match self.get(fields.vstride) {
            0 => Ok(Region::Vwh { v: 0, w, h }),
            code @ 1..=6 => Ok(Region::Vwh { v: 1 << (code - 1), w, h }),
            VXH => Ok(Region::Vxh { w, h }),
            code => Err(reserved(names.vstride, code)),
        }
    }

    fn ternary_type(&self, code: u8, field: &'static str) -> Result<Type, Reason> {
        let code = self.get(self.encoding.ternary.is_float) << 3 | code;
        if code == NATIVE_FLOAT {
            return Err(reserved(NATIVE_FLOAT_TYPE, code));
        }
        self.reg_type(code, field)
    }

    /// Type of `dpas` sources 1 and 2, whose elements may be smaller than a byte.
    fn precision(&self, code: u8, precision: u8, field: &'static str) -> Result<Type, Reason> {
        let ty = self.ternary_type(code, field)?;
        match (ty, precision) {
            (Type::Ub | Type::B | Type::Hf | Type::Bf, 0) => Ok(ty),
            (Type::Ub, 1) => Ok(Type::U4),
            (Type::Ub, 2) => Ok(Type::U2),
            (Type::Ub, 3) => Ok(Type::U1),
            (Type::B, 1) => Ok(Type::S4),
            (Type::B, 2) => Ok(Type::S2),
            _ => Err(reserved(field, code << 2 | precision)),
        }
    }

    /// The systolic array has no doubles.
    fn dpas_sized(&self, ty: Type, field: &'static str) -> Result<Type, Reason> {
        if self.info.format == Format::Dpas && ty == Type::Df {
            return Err(reserved(field, u64::from(ty.size())));
        }
        Ok(ty)
    }

    pub(super) fn ternary_dst(&self, is_macro: bool) -> Result<Dst, Reason> {
        let (fields, ternary) = (&self.encoding.dst, &self.encoding.ternary);
        let ty = self.dpas_sized(self.ternary_type(self.get(ternary.dst_ty), DST_TYPE)?, DST_TYPE)?;
        let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
        if is_macro {
            return Ok(Dst { place: Place::Macro { file, reg, mme: self.mme(fields.mme)? }, hstride: 1, ty });
        }
        let hstride = if self.info.format == Format::Dpas { 1 } else { 1 << self.get(ternary.dst_hstride) };
        Ok(Dst { place: Place::Direct { file, reg, sub: self.get(fields.sub) }, hstride, ty })
    }

    /// Source `at`: 0, 1 or 2.
    pub(super) fn ternary_src(&self, at: usize, is_macro: bool) -> Result<Src, Reason> {
        let [first, second, third] = &self.encoding.ternary.src;
        let (fields, names) = match at {
            0 => (first, SRC0),
            1 => (second, SRC1),
            _ => (third, SRC2),
        };
        let is_dpas = self.info.format == Format::Dpas;
        let code = self.get(fields.ty);
        if fields.is_imm.is_some_and(|field| self.is_set(field)) {
            if is_dpas || is_macro {
                return Err(reserved(names.kind, 1u8));
            }
            return self.ternary_immediate(fields, self.ternary_type(code, names.ty)?);
        }
        let is_grf = self.is_set(fields.file);
        let (file, reg) = self.reg(is_grf, self.get(fields.reg))?;
        let ty = match fields.precision {
            Some(precision) if is_dpas => self.precision(code, self.get(precision), names.ty)?,
            _ => self.dpas_sized(self.ternary_type(code, names.ty)?, names.ty)?,
        };
        if is_dpas && !is_grf && !(at == 0 && file == RegFile::Null) {
            return Err(reserved(names.kind, 0u8));
        }
        if is_macro || is_dpas {
            let region = if at == 2 { Region::H { h: 1 } } else { Region::Vh { v: 1, h: 0 } };
            let place = if is_macro {
                Place::Macro { file, reg, mme: self.mme(fields.mme)? }
            } else {
                Place::Direct { file, reg, sub: self.get(fields.sub) }
            };
            return Ok(Src::Reg { place, region, modifier: self.modifier(fields.modifier), ty });
        }
        Ok(Src::Reg {
            place: Place::Direct { file, reg, sub: self.get(fields.sub) },
            region: self.ternary_region(fields),
            modifier: self.modifier(fields.modifier),
            ty,
        })
    }

    /// Sixteen bits, extended to the type's width.
    fn ternary_immediate(&self, fields: &TernarySrcFields, ty: Type) -> Result<Src, Reason> {
        let bits = match ty {
            // Immediates are of 16 bits at least.
            Type::Ub | Type::B => return Err(reserved(BYTE_IMMEDIATE, fields.imm.get(self.word))),
            Type::D => u64::from(fields.imm.get_signed(self.word) as u32),
            Type::Q => fields.imm.get_signed(self.word) as u64,
            _ => fields.imm.get(self.word),
        };
        Ok(Src::Imm { bits, ty })
    }

    fn ternary_region(&self, fields: &TernarySrcFields) -> Region {
        let h = pick(HSTRIDES, self.get(fields.hstride));
        match fields.vstride {
            None => Region::H { h },
            Some([low, high]) => {
                Region::Vh { v: pick(TERNARY_VSTRIDES, self.get(high) << 1 | self.get(low)), h }
            }
        }
    }

    /// Whole registers, as messages use them.
    pub(super) fn whole_dst(&self) -> Result<Dst, Reason> {
        let fields = &self.encoding.dst;
        let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
        Ok(Dst { place: Place::Direct { file, reg, sub: 0 }, hstride: 1, ty: Type::Ub })
    }

    pub(super) fn whole_src(&self, at: usize) -> Result<Src, Reason> {
        let [first, second] = &self.encoding.src;
        let fields = if at == 0 { first } else { second };
        let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
        Ok(Src::whole(file, reg))
    }

    /// Register of a branch target: 32-bit integers.
    pub(super) fn branch_reg(&self) -> Result<Src, Reason> {
        let fields = &self.encoding.src[0];
        let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
        Ok(Src::Reg {
            place: Place::Direct { file, reg, sub: self.get(fields.sub) },
            region: Region::Vwh { v: 1, w: 1, h: 0 },
            modifier: SrcMod::None,
            ty: Type::D,
        })
    }

    pub(super) fn branch_dst(&self) -> Result<Dst, Reason> {
        let fields = &self.encoding.dst;
        let (file, reg) = self.reg(self.is_set(fields.file), self.get(fields.reg))?;
        Ok(Dst { place: Place::Direct { file, reg, sub: self.get(fields.sub) }, hstride: 1, ty: Type::D })
    }
}

/// Field names for errors.
#[derive(Clone, Copy)]
struct Names {
    ty: &'static str,
    kind: &'static str,
    width: &'static str,
    vstride: &'static str,
}

const SRC0: Names = Names {
    ty: "source 0 type",
    kind: "source 0 register file",
    width: "source 0 width",
    vstride: "source 0 vertical stride",
};
const SRC1: Names = Names {
    ty: "source 1 type",
    kind: "source 1 register file",
    width: "source 1 width",
    vstride: "source 1 vertical stride",
};
const SRC2: Names = Names {
    ty: "source 2 type",
    kind: "source 2 register file",
    width: "source 2 width",
    vstride: "source 2 vertical stride",
};
