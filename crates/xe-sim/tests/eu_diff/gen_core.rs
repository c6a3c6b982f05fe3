//! The generator: state, leaves, and what is common to all types. Nothing it makes has undefined or
//! implementation-defined behaviour; each rule that keeps it so is noted where it is applied.

use super::ast::{Expr, Tree};
use super::gen_ops::{first_compared, hidden};
use super::prelude::{CONSTANT_WORDS, INPUT_WORDS};
use super::types::Scalar::{F32, F64, I16, I32, U32};
use super::types::{INTEGERS, Scalar, Ty};
use crate::eu_support::Rng;

pub const LENGTHS: [usize; 6] = [1, 2, 3, 4, 8, 16];

/// A private array of `1 << bits` elements.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub ty: Ty,
    pub bits: u32,
}

pub struct Gen {
    pub rng: Rng,
    pub tree: Tree,
    pub variables: Vec<Ty>,
    pub arrays: Vec<Array>,
    /// Result and arguments of helper functions.
    pub helpers: Vec<(Ty, Vec<Ty>)>,
    /// Names of loop counters in scope.
    pub counters: Vec<String>,
    pub names: usize,
    /// Half precision takes part.
    pub half: bool,
    /// Double precision does.
    pub double: bool,
    /// In a helper function: only its arguments can be seen.
    pub pure: bool,
    /// Loops around the place where the next statement goes.
    pub loops: usize,
}

pub fn ex(ty: Ty, text: impl Into<String>, kids: Vec<Expr>) -> Expr {
    Expr::new(ty, text, kids)
}

impl Gen {
    pub fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit as u32) as usize
    }

    /// True once in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn length(&mut self) -> usize {
        match self.below(10) {
            0..=4 => 1,
            5 => 2,
            6 => 4,
            _ => self.pick(&LENGTHS),
        }
    }

    pub fn integer(&mut self) -> Scalar {
        if self.one_in(3) { self.pick(&[I32, U32]) } else { self.pick(&INTEGERS) }
    }

    pub fn any_ty(&mut self) -> Ty {
        let n = self.length();
        let s = if self.one_in(4) { F32 } else { self.integer() };
        Ty::new(s, n)
    }

    pub fn expr(&mut self, ty: Ty, depth: usize) -> Expr {
        if depth == 0 || self.one_in(7) {
            return self.leaf(ty);
        }
        match self.below(12) {
            0 => self.memory(ty, depth),
            1 if !ty.is_scalar() => self.compose(ty, depth),
            2 => self.element(ty, depth),
            3 => match self.call(ty, depth) {
                Some(call) => call,
                None => self.expr(ty, depth - 1),
            },
            4 => self.choose(ty, depth),
            5 | 6 if self.half => self.half_op(ty, depth),
            _ if ty.s == F64 => self.double_op(ty, depth),
            _ if ty.s.is_float() => self.float(ty, depth),
            _ => self.integer_op(ty, depth),
        }
    }

    pub fn leaf(&mut self, ty: Ty) -> Expr {
        let same: Vec<usize> = (0..self.variables.len()).filter(|i| self.variables[*i] == ty).collect();
        let alike: Vec<usize> = (0..self.variables.len()).filter(|i| self.variables[*i].n == ty.n).collect();
        match self.below(10) {
            0..=4 if !same.is_empty() => {
                let i = self.pick(&same);
                ex(ty, format!("v{i}"), Vec::new())
            }
            0..=6 if !alike.is_empty() => {
                let i = self.pick(&alike);
                let from = ex(self.variables[i], format!("v{i}"), Vec::new());
                self.convert(ty, from)
            }
            7 if ty.is_scalar() && !self.pure => {
                let (s, name) = self.scalar_name();
                self.convert(ty, ex(Ty::scalar(s), name, Vec::new()))
            }
            8 if !self.pure => self.input(ty),
            _ => self.literal(ty),
        }
    }

    /// A name in scope that holds a scalar: ids, sizes, loop counters, arguments.
    fn scalar_name(&mut self) -> (Scalar, String) {
        if !self.counters.is_empty() && self.one_in(2) {
            let i = self.below(self.counters.len());
            return (U32, self.counters[i].clone());
        }
        let k = self.below(CONSTANT_WORDS);
        match self.below(14) {
            0 | 1 => (U32, "gid".into()),
            2 | 3 => (U32, "lid".into()),
            4 => (U32, "su".into()),
            5 => (I32, format!("sv.s{}", k % 4)),
            6 => (F32, "sf".into()),
            7 => (I16, "sh".into()),
            8 => (U32, format!("cin[{k}]")),
            9 => (U32, format!("((uint)get_local_id({}))", k % 3)),
            10 => (U32, format!("((uint)get_group_id({}))", k % 3)),
            11 => (U32, format!("((uint)get_global_id({}))", k % 3)),
            12 => (U32, format!("((uint)get_local_size({}))", k % 3)),
            _ => (U32, format!("((uint)get_num_groups({}))", k % 3)),
        }
    }

    /// From the input buffer or the constant buffer, at a place that the compiler knows.
    fn input(&mut self, ty: Ty) -> Expr {
        let index = ex(Ty::scalar(U32), format!("{}u", self.below(4096)), Vec::new());
        let gid = ex(Ty::scalar(U32), "gid", Vec::new());
        let index = if self.one_in(4) { index } else { ex(Ty::scalar(U32), "($0 + $1)", vec![gid, index]) };
        self.load(ty, index)
    }

    /// `index` may be anything.
    pub fn load(&mut self, ty: Ty, index: Expr) -> Expr {
        let (space, buffer, words) = if self.one_in(4) {
            ("constant", "cin", CONSTANT_WORDS)
        } else {
            ("global const", "in", INPUT_WORDS)
        };
        let raw = if ty.s.is_float() { ty.with(ty.s.unsigned()) } else { ty };
        let limit = words * 4 / raw.bytes();
        let s = raw.s.name();
        let value = if ty.n == 1 {
            ex(raw, format!("(({space} {s} *){buffer})[($0) % {limit}u]"), vec![index])
        } else {
            ex(raw, format!("vload{}(($0) % {limit}u, ({space} {s} *){buffer})", ty.n), vec![index])
        };
        self.as_float(ty, value)
    }

    /// Of any bits, or of bits that give a float near one, or of a number.
    pub fn as_float(&mut self, ty: Ty, bits: Expr) -> Expr {
        if !ty.s.is_float() {
            return bits;
        }
        let d = if ty.s == F64 { "D" } else { "" };
        match self.below(4) {
            0 => ex(ty, format!("FB{d}($0)"), vec![bits]),
            // Told not to optimise, the device's compiler converts the first element only of a constant.
            1 => ex(ty, format!("convert_{ty}({} & 1023u)", hidden(bits.ty, "($0)")), vec![bits]),
            _ => ex(ty, format!("FM{d}($0)"), vec![bits]),
        }
    }

    fn literal_scalar(&mut self, s: Scalar) -> String {
        if s.is_float() {
            const NUMBERS: [&str; 12] = [
                "0.0f",
                "-0.0f",
                "1.0f",
                "-1.5f",
                "0.5f",
                "2.25f",
                "1e10f",
                "-3.4e38f",
                "1e-40f",
                "16777216.0f",
                "INFINITY",
                "100.5f",
            ];
            let number = self.pick(&NUMBERS);
            return if s == F64 { format!("((double)({number}))") } else { format!("({number})") };
        }
        let bits = s.bytes() * 8;
        let raw = self.rng.next();
        let value = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => 1 << (bits - 1),
            4 => (1 << (bits - 1)) - 1,
            5 => raw % 100,
            6 => 1 << (raw % bits as u64),
            _ => raw,
        };
        let value = value & u64::MAX >> (64 - bits);
        let (u, suffix) = (s.unsigned().name(), if bits == 64 { "UL" } else { "u" });
        if s.is_signed() {
            format!("as_{}(({u})({value}{suffix}))", s.name())
        } else {
            format!("(({u}){value}{suffix})")
        }
    }

    pub fn literal(&mut self, ty: Ty) -> Expr {
        if ty.n == 1 {
            return ex(ty, self.literal_scalar(ty.s), Vec::new());
        }
        let count = if self.one_in(2) { 1 } else { ty.n };
        let parts: Vec<String> = (0..count).map(|_| self.literal_scalar(ty.s)).collect();
        ex(ty, format!("(({ty})({}))", parts.join(", ")), Vec::new())
    }

    /// Loads at computed places: buffers, the constant table, private arrays, through generic pointers.
    fn memory(&mut self, ty: Ty, depth: usize) -> Expr {
        if self.pure {
            return self.expr(ty, depth - 1);
        }
        let index = self.expr(Ty::scalar(U32), depth - 1);
        let same: Vec<usize> = (0..self.arrays.len()).filter(|i| self.arrays[*i].ty == ty).collect();
        if !same.is_empty() && !self.one_in(3) {
            let i = self.pick(&same);
            let mask = (1u32 << self.arrays[i].bits) - 1;
            return ex(ty, format!("pa{i}[($0) & {mask}u]"), vec![index]);
        }
        let words: Vec<usize> =
            (0..self.arrays.len()).filter(|i| self.arrays[*i].ty == Ty::scalar(U32)).collect();
        if !words.is_empty() && ty.n == 1 && self.one_in(2) {
            // Generic: which memory it is, is known at run time only.
            let i = self.pick(&words);
            let mask = (1u32 << self.arrays[i].bits) - 1;
            let other = self.expr(Ty::scalar(U32), depth - 1);
            let condition = self.condition(depth - 1);
            let value = ex(
                Ty::scalar(U32),
                format!("EITHER($0, pa{i} + (($1) & {mask}u), in + (($2) % {INPUT_WORDS}u))"),
                vec![condition, index, other],
            );
            return if ty.s == F32 { self.as_float(ty, value) } else { self.convert(ty, value) };
        }
        if ty.n == 1 && self.one_in(3) {
            let value = ex(Ty::scalar(U32), "ctab[($0) & 15u]", vec![index]);
            return if ty.s == F32 { self.as_float(ty, value) } else { self.convert(ty, value) };
        }
        self.load(ty, index)
    }

    /// A vector from parts, or from the elements of another.
    fn compose(&mut self, ty: Ty, depth: usize) -> Expr {
        match self.below(4) {
            0 => {
                let parts: Vec<Expr> = match ty.n {
                    2 => vec![1, 1],
                    3 => vec![1, 2],
                    4 => vec![1, 2, 1],
                    8 => vec![4, 1, 3],
                    _ => vec![8, 3, 1, 4],
                }
                .into_iter()
                .map(|n| self.expr(ty.of(n), depth - 1))
                .collect();
                let list: Vec<String> = (0..parts.len()).map(|i| format!("${i}")).collect();
                ex(ty, format!("(({ty})({}))", list.join(", ")), parts)
            }
            1 => {
                // A permutation with repetitions.
                let from = self.pick(&LENGTHS[1..]);
                let order: String =
                    (0..ty.n).map(|_| char::from_digit(self.below(from) as u32, 16).unwrap_or('0')).collect();
                let vector = self.expr(ty.of(from), depth - 1);
                ex(ty, format!("(($0).s{order})"), vec![vector])
            }
            2 if ty.n <= 8 && ty.n != 3 => {
                let half = self.pick(&["lo", "hi", "even", "odd"]);
                let vector = self.expr(ty.of(ty.n * 2), depth - 1);
                ex(ty, format!("(($0).{half})"), vec![vector])
            }
            _ if ty.n != 3 => {
                let from = self.pick(&[2, 4, 8, 16]);
                let mask = self.expr(ty.with(ty.s.unsigned()), depth - 1);
                let a = self.expr(ty.of(from), depth - 1);
                if self.one_in(2) {
                    return ex(ty, "shuffle($0, $1)", vec![a, mask]);
                }
                let b = self.expr(ty.of(from), depth - 1);
                ex(ty, "shuffle2($0, $1, $2)", vec![a, b, mask])
            }
            _ => {
                let scalar = self.expr(ty.of(1), depth - 1);
                ex(ty, format!("(({ty})($0))"), vec![scalar])
            }
        }
    }

    /// An element of a vector, as a scalar; for vectors, other bits of the same size.
    fn element(&mut self, ty: Ty, depth: usize) -> Expr {
        if ty.is_scalar() && self.one_in(2) {
            let n = self.pick(&LENGTHS[1..]);
            let k = self.below(n);
            let vector = self.expr(ty.of(n), depth - 1);
            return ex(ty, format!("(($0).s{k:x})"), vec![vector]);
        }
        if ty.n == 3 {
            return self.expr(ty, depth - 1);
        }
        let raw = if ty.s.is_float() { ty.with(ty.s.unsigned()) } else { ty };
        let other = self.integer();
        let n = raw.bytes() / other.bytes();
        if n == 0 || n > 16 || other == raw.s {
            return self.expr(ty, depth - 1);
        }
        let from = self.expr(Ty::new(other, n), depth - 1);
        let value = ex(raw, format!("as_{raw}($0)"), vec![from]);
        self.as_float(ty, value)
    }

    fn call(&mut self, ty: Ty, depth: usize) -> Option<Expr> {
        if self.pure {
            return None;
        }
        let fitting: Vec<usize> = (0..self.helpers.len()).filter(|i| self.helpers[*i].0 == ty).collect();
        if fitting.is_empty() {
            return None;
        }
        let i = self.pick(&fitting);
        let args = self.helpers[i].1.clone();
        let list: Vec<String> = (0..args.len()).map(|k| format!("${k}")).collect();
        let kids = args.into_iter().map(|arg| self.expr(arg, depth - 1)).collect();
        Some(ex(ty, format!("@f{i}(zero, {})", list.join(", ")), kids))
    }

    /// `?:`, `select` and `bitselect`.
    fn choose(&mut self, ty: Ty, depth: usize) -> Expr {
        let (a, b) = (self.expr(ty, depth - 1), self.expr(ty, depth - 1));
        if ty.is_scalar() && self.one_in(2) {
            let condition = self.condition(depth - 1);
            return ex(ty, format!("(({ty})(($0) ? $1 : $2))"), vec![condition, a, b]);
        }
        let mask = ty.with(if self.one_in(2) || !ty.is_scalar() { ty.s.signed() } else { ty.s.unsigned() });
        let mask = self.expr(mask, depth - 1);
        match self.below(3) {
            0 if !ty.is_scalar() => ex(ty, "(($0) ? $1 : $2)", vec![mask, a, b]),
            1 if !ty.s.is_float() => {
                let third = self.expr(ty, depth - 1);
                ex(ty, "bitselect($0, $1, $2)", vec![a, b, third])
            }
            _ => ex(ty, "select($0, $1, $2)", vec![a, b, mask]),
        }
    }

    /// A value of another type with as many elements, as this one.
    pub fn convert(&mut self, ty: Ty, from: Expr) -> Expr {
        if from.ty == ty {
            return from;
        }
        let rounding = self.pick(&["", "_rte", "_rtz", "_rtp", "_rtn"]);
        // Emulated double precision rounds to nearest.
        let rounding = if from.ty.s == F64 || ty.s == F64 { "" } else { rounding };
        match (from.ty.s.is_float(), ty.s.is_float()) {
            // What does not fit, saturates; without that it is undefined, as it is for NaN. The device's compiler
            // does not keep to that for constants, so they are hidden from it.
            (true, false) => ex(ty, format!("convert_{ty}_sat{rounding}(NZ($0, zero))"), vec![from]),
            // Constants as above. Where registers are short the device's compiler moves a conversion to its use, where another rounding mode is set; not from under `FX`.
            (false, true) => {
                let converted = format!("convert_{ty}{rounding}({})", hidden(from.ty, "$0"));
                let directed = ["_rtz", "_rtp", "_rtn"].contains(&rounding);
                ex(ty, if directed { format!("FX({converted}, zero)") } else { converted }, vec![from])
            }
            (false, false) if self.one_in(3) => ex(ty, format!("convert_{ty}_sat($0)"), vec![from]),
            (false, false) if ty.is_scalar() => ex(ty, format!("(({ty})($0))"), vec![from]),
            _ => ex(ty, format!("convert_{ty}($0)"), vec![from]),
        }
    }

    /// A scalar for `if`, `?:`, `&&` and the like.
    pub fn condition(&mut self, depth: usize) -> Expr {
        let int = Ty::scalar(I32);
        if depth == 0 {
            let a = self.leaf(Ty::scalar(U32));
            return ex(int, format!("(($0) & {}u)", 1 << self.below(6)), vec![a]);
        }
        match self.below(8) {
            0..=3 => {
                let s = if self.one_in(4) { F32 } else { self.integer() };
                let s = if self.double && self.one_in(3) { F64 } else { s };
                let (a, b) = (self.expr(Ty::scalar(s), depth - 1), self.expr(Ty::scalar(s), depth - 1));
                let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                ex(int, format!("({} {op} $1)", first_compared(s)), vec![a, b])
            }
            4 => {
                let ty = Ty::new(self.integer().signed(), self.length());
                let op = self.pick(&["any", "all"]);
                let a = self.expr(ty, depth - 1);
                ex(int, format!("{op}($0)"), vec![a])
            }
            5 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = self.pick(&["&&", "||"]);
                ex(int, format!("(($0) {op} ($1))"), vec![a, b])
            }
            6 => {
                let a = self.condition(depth - 1);
                ex(int, "(!($0))", vec![a])
            }
            _ => {
                let a = self.expr(int, depth - 1);
                ex(int, format!("(($0) & {})", 1 << self.below(6)), vec![a])
            }
        }
    }
}
