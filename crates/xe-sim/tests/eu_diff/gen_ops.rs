//! Operators and built-in functions of integers and floats.

use super::ast::Expr;
use super::gen_core::{Gen, ex};
use super::prelude_half;
use super::types::Scalar::{F32, F64, I32, U32};
use super::types::{Scalar, Ty};

/// `mul_hi` of `long`. The device's library has no value for the lowest one.
const MUL_HI_LONG: &str = "mul_hi(($0 >> 1), ($1 >> 1))";

impl Gen {
    fn two(&mut self, ty: Ty, depth: usize) -> Vec<Expr> {
        vec![self.expr(ty, depth - 1), self.expr(ty, depth - 1)]
    }

    fn three(&mut self, ty: Ty, depth: usize) -> Vec<Expr> {
        vec![self.expr(ty, depth - 1), self.expr(ty, depth - 1), self.expr(ty, depth - 1)]
    }

    pub fn integer_op(&mut self, ty: Ty, depth: usize) -> Expr {
        let (s, u) = (ty.s, ty.with(ty.s.unsigned()));
        // Signed overflow is undefined: such operations are made on unsigned words and cast back.
        let word = if s.bytes() == 8 { "ulong" } else { "uint" };
        let wrapping = |op: &str| match (ty.is_scalar(), s.is_signed()) {
            (true, _) => format!("(({s})(({word})($0) {op} ({word})($1)))", s = s.name()),
            (false, true) => format!("as_{ty}(as_{u}($0) {op} as_{u}($1))"),
            (false, false) => format!("($0 {op} $1)"),
        };
        let plain = |op: &str| match ty.is_scalar() {
            true => format!("(({s})($0 {op} $1))", s = s.name()),
            false => format!("($0 {op} $1)"),
        };
        match self.below(24) {
            0..=3 => {
                let op = self.pick(&["+", "-", "*", "+", "*"]);
                let kids = self.two(ty, depth).into_iter().map(opaque).collect();
                ex(ty, wrapping(op), kids)
            }
            4 | 5 => {
                let op = self.pick(&["&", "|", "^"]);
                ex(ty, plain(op), self.two(ty, depth))
            }
            6 => {
                let op =
                    if ty.is_scalar() { format!("(({s})~($0))", s = s.name()) } else { "(~($0))".into() };
                ex(ty, op, vec![self.expr(ty, depth - 1)])
            }
            // OpenCL takes shift counts modulo the width. The device's compiler, told not to optimise, does not where a
            // `long` is shifted by a constant multiple of 64: its count is hidden.
            7 => {
                let kids = self.two(ty, depth).into_iter().map(opaque).collect();
                ex(ty, wrapping("<<"), kids)
            }
            8 => {
                let kids = self.two(ty, depth).into_iter().map(opaque).collect();
                ex(ty, plain(">>"), kids)
            }
            9 => {
                // An odd divisor is not zero, an odd dividend is not the one that overflows with -1.
                let op = self.pick(&["/", "%"]);
                let cast = if ty.is_scalar() { format!("({})", s.name()) } else { String::new() };
                let one = format!("({ty})(1)");
                ex(ty, format!("({cast}((($0) | {one}) {op} (($1) | {one})))"), self.two(ty, depth))
            }
            10 => {
                // Of an odd number: see `opaque`.
                let zero = ex(ty, format!("(({ty})(0))"), Vec::new());
                let value = self.expr(ty, depth - 1);
                let odd = format!(
                    "({}($0 | ({ty})(1)))",
                    if ty.is_scalar() { format!("({})", s.name()) } else { String::new() }
                );
                ex(ty, wrapping("-"), vec![zero, ex(ty, odd, vec![value])])
            }
            11 => {
                let function = self.pick(&["abs", "abs_diff"]);
                let from = if self.one_in(2) { ty.with(s.signed()) } else { u };
                let kids =
                    if function == "abs" { vec![self.expr(from, depth - 1)] } else { self.two(from, depth) };
                let lowest = 1u64 << (s.bytes() * 8 - 1);
                // Not of the lowest number: see `opaque`.
                let cast = if ty.is_scalar() { format!("({from})") } else { String::new() };
                let one = hidden(from, &format!("({from})(1)"));
                let half = |k: usize| format!("({cast}(${k} >> {one}))");
                let args = match (function, from.s.is_signed()) {
                    ("abs", true) => {
                        format!("max($0, ({from})(as_{}(({})({}UL))))", from.s.name(), u.s.name(), lowest + 1)
                    }
                    ("abs", false) => "$0".into(),
                    (_, false) => "$0, $1".into(),
                    // PoCL's is wrong where the difference of signed numbers overflows. The device's compiler makes
                    // one `avg` of a sum, the one that is in a difference, and a shift by a known one: that keeps a
                    // carry which the sum has to lose.
                    (_, true) => format!("{}, {}", half(0), half(1)),
                };
                let value = ex(u, format!("{function}({args})"), kids);
                if u == ty { value } else { ex(ty, format!("as_{ty}($0)"), vec![value]) }
            }
            12 | 13 => {
                let function =
                    self.pick(&["add_sat", "sub_sat", "hadd", "rhadd", "max", "min", "mul_hi", "rotate"]);
                if function == "mul_hi" && s == Scalar::I64 {
                    return ex(ty, MUL_HI_LONG, self.two(ty, depth));
                }
                // The device's compiler makes of a negated word the word itself where it is turned.
                let first = if function == "rotate" { hidden(ty, "$0") } else { "$0".to_owned() };
                ex(ty, format!("{function}({first}, $1)"), self.two(ty, depth))
            }
            14 => {
                // `mad_hi` adds, which may overflow. The device's library has `mad_sat` of `long` wrong where the product
                // is 0 or a negative number of few bits.
                let function = match s {
                    Scalar::I64 => format!("add_sat({MUL_HI_LONG}, $2)"),
                    _ if s.is_signed() => "mad_sat($0, $1, $2)".to_owned(),
                    _ => self.pick(&["mad_hi($0, $1, $2)", "mad_sat($0, $1, $2)"]).to_owned(),
                };
                ex(ty, function, self.three(ty, depth))
            }
            15 => {
                // The lower limit must not be above the upper one.
                ex(ty, "clamp($0, min($1, $2), max($1, $2))", self.three(ty, depth))
            }
            16 => {
                let function = self.pick(&["clz", "ctz", "popcount"]);
                ex(ty, format!("{function}($0)"), vec![self.expr(ty, depth - 1)])
            }
            17 => self.upsample(ty, depth),
            18 if s.bytes() == 4 => {
                // Operands have to be of 24 bits.
                let small = |k: usize| match (ty.is_scalar(), s.is_signed()) {
                    (_, false) => format!("(${k} & 0xffffffu)"),
                    (_, true) => format!("(as_{ty}(as_{u}(${k}) << 8u) >> 8)"),
                };
                let sum = if self.one_in(2) { Some(self.expr(ty, depth - 1)) } else { None };
                let mut kids = self.two(ty, depth);
                let product = |f: &str, rest: &str| format!("{f}({}, {}{rest})", small(0), small(1));
                match sum {
                    // The sum may overflow, which only unsigned numbers may.
                    Some(sum) if !s.is_signed() => {
                        kids.push(sum);
                        ex(ty, product("mad24", ", $2"), kids)
                    }
                    _ => ex(ty, product("mul24", ""), kids),
                }
            }
            19 | 20 if s.is_signed() => self.relation(ty, depth),
            _ => {
                // Conversions from any type.
                let from = Ty::new(if self.one_in(3) { F32 } else { self.integer() }, ty.n);
                let from = if self.double && self.one_in(3) { from.with(F64) } else { from };
                let value = self.expr(from, depth - 1);
                if from.s == F32 && s == I32 && self.one_in(3) {
                    return ex(
                        ty,
                        "as_$T($0)".replace("$T", &ty.to_string()),
                        vec![ex(ty.with(U32), "CB($0)", vec![value])],
                    );
                }
                self.convert(ty, value)
            }
        }
    }

    /// Sums, differences and products of floats.
    fn float_ring(&mut self, ty: Ty, depth: usize) -> Expr {
        let op = self.pick(&["+", "-", "*"]);
        // The device's compiler makes -x of 0.0f - x, which is another zero.
        let first = if op == "-" { "FX($0, zero)" } else { "$0" };
        ex(ty, format!("({first} {op} $1)"), self.two(ty, depth))
    }

    /// Double precision, which the device's compiler emulates: what it has routines for.
    pub fn double_op(&mut self, ty: Ty, depth: usize) -> Expr {
        match self.below(12) {
            0..=4 => self.float_ring(ty, depth),
            5 => ex(ty, "($0 / $1)", self.two(ty, depth)),
            6 => ex(ty, "sqrt($0)", vec![self.expr(ty, depth - 1)]),
            7 => ex(ty, "fma($0, $1, $2)", self.three(ty, depth)),
            8 => {
                let text = self.pick(&["fabs($0)", "(-($0))"]);
                ex(ty, text, vec![self.expr(ty, depth - 1)])
            }
            9 => {
                let value = self.expr(ty.with(F32), depth - 1);
                self.convert(ty, value)
            }
            10 => {
                let s = self.integer();
                let value = self.expr(ty.with(s), depth - 1);
                self.convert(ty, value)
            }
            _ => {
                let bits = self.expr(ty.with(Scalar::U64), depth - 1);
                self.as_float(ty, bits)
            }
        }
    }

    /// Half precision, as bits in an unsigned word: see `prelude_half`.
    pub fn half_op(&mut self, ty: Ty, depth: usize) -> Expr {
        let bits = ty.with(Scalar::U16);
        let rounding = self.pick(&prelude_half::ROUNDINGS);
        match ty.s {
            Scalar::U16 if self.one_in(4) => {
                let from = self.pick(&[F32, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16]);
                let function = if from == F32 { "FH" } else { "IH" };
                let value = self.expr(ty.with(from), depth - 1);
                ex(ty, format!("{function}_{rounding}($0)"), vec![value])
            }
            Scalar::U16 if self.one_in(6) => {
                let (function, _) = self.pick(&prelude_half::COMPARISONS);
                ex(ty, format!("{function}($0, $1)"), self.two(bits, depth))
            }
            Scalar::U16 => {
                let all: Vec<_> = prelude_half::operations().collect();
                let (function, operands) = self.pick(&all);
                let kids = match operands {
                    1 => vec![self.expr(bits, depth - 1)],
                    // As for other subtractions.
                    2 => self.two(bits, depth).into_iter().map(opaque).collect(),
                    _ => self.three(bits, depth),
                };
                let list = ["$0", "$0, $1", "$0, $1, $2"][operands - 1];
                ex(ty, format!("{function}({list})"), kids)
            }
            Scalar::I8 | Scalar::U8 | Scalar::I16 => {
                let value = self.expr(bits, depth - 1);
                ex(ty, format!("HI_{}_{rounding}($0)", ty.s.name()), vec![value])
            }
            F32 => ex(ty, "HF($0)", vec![self.expr(bits, depth - 1)]),
            _ => {
                let value = self.expr(bits, depth - 1);
                self.convert(ty, value)
            }
        }
    }

    fn upsample(&mut self, ty: Ty, depth: usize) -> Expr {
        let half = match ty.s {
            Scalar::I16 => Scalar::I8,
            Scalar::U16 => Scalar::U8,
            Scalar::I32 => Scalar::I16,
            Scalar::U32 => Scalar::U16,
            Scalar::I64 => Scalar::I32,
            Scalar::U64 => Scalar::U32,
            _ => return self.expr(ty, depth - 1),
        };
        let (high, low) = (ty.with(half), ty.with(half.unsigned()));
        let kids = vec![self.expr(high, depth - 1), self.expr(low, depth - 1)];
        // Hidden: a shift to the right and back becomes a mask, and this compiler loses the sign bit of a mask that is a
        // negative NaN as a float (0xffff0000 becomes `qnan(0x3F0000):f`).
        let hidden = if ty.is_scalar() {
            format!("(({high})($0 * ({high})(zero | 1u)))")
        } else {
            format!("($0 * convert_{high}(({})(zero | 1u)))", ty.with(U32))
        };
        ex(ty, format!("upsample({hidden}, $1)"), kids)
    }

    /// Comparisons; those of scalars give `int`, those of vectors a mask as wide as the operands.
    fn relation(&mut self, ty: Ty, depth: usize) -> Expr {
        if ty.is_scalar() && ty.s != I32 {
            let condition = self.condition(depth - 1);
            return self.convert(ty, condition);
        }
        if ty.s == I32 && self.one_in(2) {
            let float = ty.with(F32);
            return match self.below(3) {
                0 => {
                    let f = self.pick(&["isnan", "isinf", "isfinite", "isnormal"]);
                    // The device's compiler, told not to optimise, crashes if it is given a constant vector.
                    ex(ty, format!("{f}(FX($0, zero))"), vec![self.expr(float, depth - 1)])
                }
                // The sign of a NaN is not defined.
                1 => ex(ty, "signbit(NZ($0, zero))", vec![self.expr(float, depth - 1)]),
                _ => {
                    let f = self.pick(&[
                        "isequal",
                        "isnotequal",
                        "isgreater",
                        "isgreaterequal",
                        "isless",
                        "islessequal",
                        "islessgreater",
                        "isordered",
                        "isunordered",
                    ]);
                    ex(ty, format!("{f}({}, $1)", first_compared(F32)), self.two(float, depth))
                }
            };
        }
        let operands = if ty.is_scalar() {
            Ty::scalar(self.integer())
        } else if ty.s == I32 && self.one_in(3) {
            ty.with(F32)
        } else {
            ty.with(if self.one_in(2) { ty.s } else { ty.s.unsigned() })
        };
        let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
        ex(ty, format!("({} {op} $1)", first_compared(operands.s)), self.two(operands, depth))
    }

    /// Operations whose result OpenCL defines to the last bit, apart from which NaN it is.
    pub fn float(&mut self, ty: Ty, depth: usize) -> Expr {
        let ints = ty.with(I32);
        match self.below(20) {
            0..=4 => self.float_ring(ty, depth),
            5 => ex(ty, "($0 / $1)", self.two(ty, depth)),
            6 => ex(ty, "sqrt($0)", vec![self.expr(ty, depth - 1)]),
            7 | 8 => ex(ty, "fma($0, $1, $2)", self.three(ty, depth)),
            9 => {
                // Of zeros either may be returned: the sum makes both positive.
                let f = self.pick(&["fmin", "fmax"]);
                let zero = format!("({ty})(0.0f)");
                ex(ty, format!("({f}($0, $1) + {zero})"), self.two(ty, depth))
            }
            10 => {
                let f = self.pick(&["floor", "ceil", "trunc", "rint", "round", "fabs"]);
                ex(ty, format!("{f}($0)"), vec![self.expr(ty, depth - 1)])
            }
            11 => ex(ty, "(-($0))", vec![self.expr(ty, depth - 1)]),
            12 => {
                let f = self.pick(&["fmod", "remainder", "fdim", "nextafter", "fmod"]);
                let nan = if f == "nextafter" { "NN($0), NN($1)" } else { "$0, $1" };
                ex(ty, format!("{f}({nan})"), self.two(ty, depth))
            }
            13 => ex(ty, "copysign($0, NN($1))", self.two(ty, depth)),
            14 => {
                let value = self.expr(ty, depth - 1);
                let exponent = self.expr(ints, depth - 1);
                ex(ty, "ldexp($0, ($1) % 160)", vec![value, exponent])
            }
            15 => {
                // Undefined for NaN; of zeros either.
                let zero = format!("({ty})(0.0f)");
                let f = self.pick(&["min", "max"]);
                ex(ty, format!("({f}(NN($0), NN($1)) + {zero})"), self.two(ty, depth))
            }
            16 => ex(ty, "sign($0)", vec![self.expr(ty, depth - 1)]),
            17 => ex(ty, "step(NN($0), NN($1))", self.two(ty, depth)),
            18 => {
                let s = self.integer();
                let s = if self.double && self.one_in(2) { F64 } else { s };
                let value = self.expr(ty.with(s), depth - 1);
                self.convert(ty, value)
            }
            _ => {
                let bits = self.expr(ty.with(U32), depth - 1);
                self.as_float(ty, bits)
            }
        }
    }
}

/// With a zero in it that only the running kernel knows, if it is a leaf. The device's compiler makes negations of
/// additions, subtractions and products with constants and folds them into the instructions that use them, where the
/// lowest number of a type has no negative; what comes out then is not defined by OpenCL's rules, but by the machine.
fn opaque(kid: Expr) -> Expr {
    if !kid.kids.is_empty() {
        return kid;
    }
    let ty = kid.ty;
    ex(ty, hidden(ty, "$0"), vec![kid])
}

/// `value` of type `ty`, which the compilers cannot know.
pub fn hidden(ty: Ty, value: &str) -> String {
    if ty.is_scalar() {
        format!("(({ty})({value} ^ ({ty})zero))")
    } else {
        format!("({value} ^ convert_{ty}(({})(zero)))", ty.with(U32))
    }
}

/// The first operand of a comparison. The device's compiler makes of `x + 1.0f != 1.5f` the comparison of `x` with what is
/// left, as if floats did not round.
pub fn first_compared(s: Scalar) -> &'static str {
    if matches!(s, F32 | F64) { "FX($0, zero)" } else { "$0" }
}
