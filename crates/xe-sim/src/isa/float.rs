//! Floating-point immediates as IGA writes them: the shortest of C's `%g`, then `%e`, that reads back as the same
//! bits; else the bits.

use std::fmt;

/// Prints a value of `bits`.
pub(super) fn f32(f: &mut fmt::Formatter<'_>, bits: u32) -> fmt::Result {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return nan(f, bits >> 31 != 0, bits & 0x40_0000 != 0, (bits & 0x3f_ffff).into());
    }
    match decimal(value.into(), |text| text.parse::<f64>().is_ok_and(|back| back as f32 == value)) {
        Some(text) => f.write_str(&text),
        None => write!(f, "0x{bits:X}"),
    }
}

pub(super) fn f64(f: &mut fmt::Formatter<'_>, bits: u64) -> fmt::Result {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        let quiet = 1 << 51;
        return nan(f, bits >> 63 != 0, bits & quiet != 0, bits & (quiet - 1));
    }
    match decimal(value, |text| text.parse::<f64>().is_ok_and(|back| back == value)) {
        Some(text) => f.write_str(&text),
        None => write!(f, "0x{bits:X}"),
    }
}

pub(super) fn f16(f: &mut fmt::Formatter<'_>, bits: u16) -> fmt::Result {
    let (exponent, mantissa) = (bits >> 10 & 31, bits & 0x3ff);
    if exponent == 31 && mantissa != 0 {
        return nan(f, bits >> 15 != 0, bits & 0x200 != 0, (bits & 0x1ff).into());
    }
    let value = half_value(bits);
    match decimal(value.into(), |text| text.parse::<f64>().is_ok_and(|back| back as f32 == value)) {
        Some(text) => f.write_str(&text),
        None => write!(f, "0x{bits:X}"),
    }
}

/// Value of a half that is no NaN.
fn half_value(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 => f32::INFINITY,
        _ => (1024.0 + mantissa) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

fn nan(f: &mut fmt::Formatter<'_>, negative: bool, quiet: bool, payload: u64) -> fmt::Result {
    let sign = if negative { "-" } else { "" };
    let kind = if quiet { "qnan" } else { "snan" };
    write!(f, "{sign}{kind}(0x{payload:X})")
}

fn decimal(value: f64, reads_back: impl Fn(&str) -> bool) -> Option<String> {
    if value.is_infinite() {
        return Some(if value < 0.0 { "-inf" } else { "inf" }.to_owned());
    }
    let general = general(value)?;
    if reads_back(&general) {
        let plain = !general.contains(['.', 'e']);
        return Some(if plain { general + ".0" } else { general });
    }
    let (mantissa, exponent) = split(value, 6)?;
    let scientific = format!("{mantissa}{}", exponent_text(exponent));
    reads_back(&scientific).then_some(scientific)
}

/// Mantissa with `digits` digits after the point, and decimal exponent.
fn split(value: f64, digits: usize) -> Option<(String, i32)> {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e')?;
    Some((mantissa.to_owned(), exponent.parse().ok()?))
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.abs())
}

/// C's `%g`.
fn general(value: f64) -> Option<String> {
    const DIGITS: i32 = 6;
    let (mantissa, exponent) = split(value, 5)?;
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..DIGITS).contains(&exponent) {
        let after_point = usize::try_from(DIGITS - 1 - exponent).ok()?;
        Some(trim(&format!("{value:.after_point$}")))
    } else {
        Some(trim(&mantissa) + &exponent_text(exponent))
    }
}
