//! Float formats and rounding, bit by bit: the host's `f32` and `f64` are IEEE 754, the rest is built from them.

/// Rounding mode, from cr0 bits 5:4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Even,
    Up,
    Down,
    Zero,
}

/// What cr0 says about floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub round: Round,
    /// Denormals of `f` and of `hf` are kept, not flushed to zero.
    pub keep32: bool,
    pub keep16: bool,
}

impl Mode {
    /// Source: PRM, "Control Register", cr0.0: bits 5:4 rounding, 7 single, 10 half precision denormals.
    pub fn from_cr0(cr0: u32) -> Self {
        let round = match cr0 >> 4 & 3 {
            0 => Round::Even,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::Zero,
        };
        Self { round, keep32: cr0 & 1 << 7 != 0, keep16: cr0 & 1 << 10 != 0 }
    }
}

/// `a + b` as a rounded sum and its exact error.
#[inline(always)]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The exact value `sum + error` rounded to odd: a following rounding to half the digits or fewer is then the
/// only one that counts (Boldo and Melquiond, "When double rounding is odd").
#[inline(always)]
pub(super) fn to_odd(sum: f64, error: f64) -> f64 {
    // NaN errors come with infinite sums, which stay.
    let inexact = error != 0.0 && error.is_finite() && sum.is_finite();
    let bits = sum.to_bits();
    if !inexact || bits & 1 != 0 {
        return sum;
    }
    f64::from_bits(if (error > 0.0) == (sum > 0.0) { bits + 1 } else { bits.wrapping_sub(1) })
}

/// `a * b + c` with one rounding. The product of two `f32` is exact in `f64`.
#[inline(always)]
pub(super) fn fused_odd(a: f32, b: f32, c: f32) -> f64 {
    let (sum, error) = two_sum(f64::from(a) * f64::from(b), f64::from(c));
    to_odd(sum, error)
}

pub(super) fn to_f32(value: f64, round: Round) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    match round {
        Round::Even => nearest,
        _ if back == value || value.is_nan() || value.is_infinite() => nearest,
        Round::Up if back < value => nearest.next_up(),
        Round::Down if back > value => nearest.next_down(),
        Round::Zero if back.abs() > value.abs() => {
            if value > 0.0 {
                nearest.next_down()
            } else {
                nearest.next_up()
            }
        }
        _ => nearest,
    }
}

/// Bits of the 16-bit float nearest to `value` by `round`.
pub(super) fn to_f16(value: f64, round: Round) -> u16 {
    let sign = ((value.to_bits() >> 63) as u16) << 15;
    if value.is_nan() {
        return sign | 0x7e00;
    }
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return sign;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let away = match round {
        Round::Up => sign == 0,
        Round::Down => sign != 0,
        Round::Even | Round::Zero => false,
    };
    let overflow = if away || round == Round::Even { 0x7c00 } else { 0x7bff };
    if exponent > 15 {
        return sign | if magnitude.is_infinite() { 0x7c00 } else { overflow };
    }
    // In units of the last place, exact: a scaling by a power of two.
    let scaled = magnitude * 2f64.powi(10 - exponent);
    let whole = scaled.floor();
    let rest = scaled - whole;
    let mut digits = whole as u16;
    let up = match round {
        Round::Even => rest > 0.5 || (rest == 0.5 && digits & 1 != 0),
        _ => away && rest > 0.0,
    };
    digits += u16::from(up);
    // The leading digit, where there is one, adds one to the exponent.
    let bits = (((exponent + 14) as u16) << 10) + digits;
    sign | if bits >= 0x7c00 { overflow } else { bits }
}

pub(super) fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let exponent = u32::from(bits >> 10 & 0x1f);
    let digits = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => return f32::from_bits(sign | (digits as f32 * 2f32.powi(-24)).to_bits()),
        31 => 0x7f80_0000 | digits << 13,
        _ => (exponent + 112) << 23 | digits << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// Bits of the bfloat16 for `value`.
pub(super) fn to_bf16(value: f64, round: Round) -> u16 {
    // To odd in 24 digits first, which is more than twice 8 digits.
    let toward_zero = to_f32(value, Round::Zero);
    let mut bits = toward_zero.to_bits();
    if f64::from(toward_zero) != value && !value.is_nan() {
        bits |= 1;
    }
    let (high, low) = ((bits >> 16) as u16, bits & 0xffff);
    if value.is_nan() {
        return high | 0x40;
    }
    let negative = bits >> 31 != 0;
    let up = match round {
        Round::Even => low > 0x8000 || (low == 0x8000 && high & 1 != 0),
        Round::Up => !negative && low != 0,
        Round::Down => negative && low != 0,
        Round::Zero => false,
    };
    high.wrapping_add(u16::from(up))
}

pub(super) fn flush32(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

/// The 8-bit floats of packed immediates: sign, three bits of exponent (bias 3), four digits; 0 and 0x80 are zeros.
pub(super) fn from_restricted(bits: u8) -> f32 {
    let sign = if bits & 0x80 != 0 { -1.0 } else { 1.0 };
    if bits & 0x7f == 0 {
        return 0f32.copysign(sign);
    }
    sign * (1.0 + f32::from(bits & 15) / 16.0) * 2f32.powi(i32::from(bits >> 4 & 7) - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = from_f16(bits);
            if value.is_nan() {
                assert!(bits & 0x7c00 == 0x7c00 && bits & 0x3ff != 0);
                continue;
            }
            for round in [Round::Even, Round::Up, Round::Down, Round::Zero] {
                assert_eq!(to_f16(f64::from(value), round), bits, "{bits:#x} {round:?}");
            }
        }
    }

    #[test]
    fn halves_between_two_neighbours_round_by_the_mode() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (f64::from(from_f16(bits)), f64::from(from_f16(bits + 1)));
            let middle = (low + high) / 2.0;
            assert_eq!(to_f16(middle, Round::Even), bits + (bits & 1), "tie after {bits:#x}");
            assert_eq!(to_f16(middle.next_up(), Round::Even), bits + 1);
            assert_eq!(to_f16(middle, Round::Zero), bits);
            assert_eq!(to_f16(middle, Round::Up), bits + 1);
            assert_eq!(to_f16(-middle, Round::Up), bits | 0x8000);
            assert_eq!(to_f16(-middle, Round::Down), (bits + 1) | 0x8000);
        }
        assert_eq!(to_f16(65520.0, Round::Even), 0x7c00);
        assert_eq!(to_f16(65519.0, Round::Even), 0x7bff);
        assert_eq!(to_f16(1e9, Round::Zero), 0x7bff);
    }

    #[test]
    fn fused_multiply_add_rounds_once() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        for _ in 0..200_000 {
            // Exponents near each other, so that the sum cancels or straddles.
            let mut float = || f32::from_bits(next() & 0x83ff_ffff | (0x3c00_0000 + (next() & 0x0380_0000)));
            let (a, b, c) = (float(), float(), float());
            assert_eq!(
                to_f32(fused_odd(a, b, c), Round::Even).to_bits(),
                a.mul_add(b, c).to_bits(),
                "{a} {b} {c}"
            );
        }
    }

    #[test]
    fn directed_roundings_bracket_the_value() {
        let third = 1.0 / 3.0f64;
        assert!(f64::from(to_f32(third, Round::Down)) < third && f64::from(to_f32(third, Round::Up)) > third);
        assert_eq!(to_f32(-third, Round::Zero), -to_f32(third, Round::Down));
        assert_eq!(to_f32(1e300, Round::Zero), f32::MAX);
        assert_eq!(to_bf16(1.0 + 1.0 / 256.0, Round::Even), 0x3f80);
        assert_eq!(to_bf16(1.0 + 3.0 / 256.0, Round::Even), 0x3f82);
    }

    #[test]
    fn restricted_floats() {
        assert_eq!(from_restricted(0x30), 1.0);
        assert_eq!(from_restricted(0xc8), -3.0);
        assert_eq!(from_restricted(0x00), 0.0);
    }
}
