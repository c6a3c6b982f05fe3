//! The math box.
//!
//! The machine's own results are within a few units in the last place; these are the correctly rounded ones wherever
//! the host's `f64` functions are good enough, which is everywhere but in the rarest ties. `invm` and `rsqtm` give
//! the final IEEE quotient or square root at once and report "early out" for every channel, so the refinement steps
//! (`madm`) that follow are skipped, as the machine skips them for operands that need none.

use super::regs::LANES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MathOp {
    Inv,
    Log,
    Exp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Fdiv,
    Pow,
    /// Divide; early out.
    Invm,
    /// Reciprocal square root; early out.
    Rsqtm,
    Quotient {
        signed: bool,
    },
    Remainder {
        signed: bool,
    },
}

/// One channel; `f64` carries the exact operands and a result to be rounded.
pub(super) fn float(op: MathOp, a: f64, b: f64) -> f64 {
    match op {
        MathOp::Inv => 1.0 / a,
        MathOp::Log => a.log2(),
        MathOp::Exp => a.exp2(),
        MathOp::Sqrt => a.sqrt(),
        MathOp::Rsqrt | MathOp::Rsqtm => {
            if a == 0.0 {
                f64::INFINITY.copysign(a)
            } else {
                1.0 / a.sqrt()
            }
        }
        MathOp::Sin => a.sin(),
        MathOp::Cos => a.cos(),
        MathOp::Fdiv | MathOp::Invm => a / b,
        // The machine's power is that of the magnitude.
        MathOp::Pow => a.abs().powf(b),
        MathOp::Quotient { .. } | MathOp::Remainder { .. } => f64::NAN,
    }
}

/// Division by zero gives all ones (quotient) and the dividend (remainder).
pub(super) fn integer(op: MathOp, n: usize, a: &[u32; LANES], b: &[u32; LANES]) -> [u32; LANES] {
    let mut out = [0; LANES];
    for ((slot, &a), &b) in out.iter_mut().zip(a).zip(b).take(n) {
        *slot = match op {
            MathOp::Quotient { .. } if b == 0 => u32::MAX,
            MathOp::Remainder { .. } if b == 0 => a,
            MathOp::Quotient { signed: true } => (a as i32).wrapping_div(b as i32) as u32,
            MathOp::Remainder { signed: true } => (a as i32).wrapping_rem(b as i32) as u32,
            MathOp::Quotient { signed: false } => a / b,
            MathOp::Remainder { signed: false } => a % b,
            _ => 0,
        };
    }
    out
}
