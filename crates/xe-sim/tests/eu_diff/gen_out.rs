//! Statements that write what is compared: values, operations within a limit, halves.

use super::ast::{Expr, Stmt};
use super::gen_core::{Gen, LENGTHS, ex};
use super::kernel::{Check, Slot};
use super::types::Scalar::{F32, U32};
use super::types::{Scalar, Ty};

/// Operations that need not be exact: the function and its limit in units of the last place, in OpenCL's table of
/// the full profile. The argument is made fit by a prefix.
const INEXACT1: [(&str, u32, &str); 24] = [
    ("exp", 3, "FM"),
    ("exp2", 3, "FM"),
    ("exp10", 3, "FM"),
    ("expm1", 3, "FM"),
    ("log", 3, "fabs"),
    ("log2", 3, "fabs"),
    ("log10", 3, "fabs"),
    ("log1p", 2, "fabs"),
    ("sin", 4, ""),
    ("cos", 4, ""),
    ("tan", 5, ""),
    ("sinpi", 4, "FM"),
    ("cospi", 4, "FM"),
    ("asin", 4, ""),
    ("acos", 4, ""),
    ("atan", 5, ""),
    ("sinh", 4, "FM"),
    ("cosh", 4, "FM"),
    ("tanh", 5, ""),
    ("asinh", 4, ""),
    ("atanh", 5, ""),
    ("cbrt", 2, ""),
    ("rsqrt", 2, "fabs"),
    ("atanpi", 5, ""),
];
const INEXACT2: [(&str, u32, &str); 4] =
    [("pow", 16, "fabs"), ("atan2", 6, ""), ("hypot", 4, ""), ("powr", 16, "fabs")];

impl Gen {
    pub fn inexact(&mut self, slots: &mut Vec<Slot>, stride: &mut usize) -> Stmt {
        let float = Ty::scalar(F32);
        let pair = self.one_in(5);
        let (function, ulp, prefix) = if pair { self.pick(&INEXACT2) } else { self.pick(&INEXACT1) };
        let operand = |g: &mut Self| {
            let value = g.expr(if prefix == "FM" { Ty::scalar(U32) } else { float }, 2);
            match prefix {
                "FM" => ex(float, "(FM($0) * 16.0f)", vec![value]),
                "" => ex(float, "NN($0)", vec![value]),
                _ => ex(float, "fabs(NN($0))", vec![value]),
            }
        };
        let a = operand(self);
        let at = place(float, Check::Ulp(ulp), slots, stride);
        if pair {
            let bits = self.expr(Ty::scalar(U32), 2);
            let b = ex(float, "FM($0)", vec![bits]);
            return Stmt::plain(format!("ULP2({at}, {function}, $0, $1);"), vec![a, b]);
        }
        Stmt::plain(format!("ULP1({at}, {function}, $0);"), vec![a])
    }

    pub fn vstore_half(&mut self, slots: &mut Vec<Slot>, stride: &mut usize) -> Stmt {
        let n = self.pick(&LENGTHS);
        let rounding = self.pick(&["", "_rte", "_rtz", "_rtp", "_rtn"]);
        let value = self.expr(Ty::new(F32, n), 3);
        let at = place(Ty::new(Scalar::U16, n), Check::Bits, slots, stride);
        let n = if n == 1 { String::new() } else { n.to_string() };
        Stmt::plain(format!("vstore_half{n}{rounding}(NN($0), 0, (global half *)(o + {at}));"), vec![value])
    }
}

/// Room in a work-item's output.
pub fn place(ty: Ty, check: Check, slots: &mut Vec<Slot>, stride: &mut usize) -> usize {
    let (align, bytes) = match check {
        Check::Bits => (ty.s.bytes(), ty.bytes()),
        // The reference is in double precision.
        Check::Ulp(_) => (8, 8),
    };
    let at = stride.next_multiple_of(align);
    *stride = at + bytes;
    slots.push(Slot { at, ty, check });
    at
}

pub fn store(at: usize, value: Expr) -> Stmt {
    let ty = value.ty;
    let raw = if ty.s.is_float() { ty.with(ty.s.unsigned()) } else { ty };
    let bits = if ty.s.is_float() { "CB($0)" } else { "$0" };
    let s = raw.s.name();
    if ty.is_scalar() {
        Stmt::plain(format!("*(global {s} *)(o + {at}) = {bits};"), vec![value])
    } else {
        Stmt::plain(format!("vstore{}({bits}, 0, (global {s} *)(o + {at}));", ty.n), vec![value])
    }
}
