//! Integer operations, lane by lane, on 32-bit or 64-bit words.

use super::micro::Int;
use super::operand::Lanes;
use super::regs::LANES;

#[inline(always)]
fn map1<T: Copy + Default>(n: usize, a: &Lanes<T>, f: impl Fn(T) -> T) -> Lanes<T> {
    let mut out = [T::default(); LANES];
    for (slot, a) in out.iter_mut().zip(a).take(n) {
        *slot = f(*a);
    }
    out
}

#[inline(always)]
fn map2<T: Copy + Default>(n: usize, a: &Lanes<T>, b: &Lanes<T>, f: impl Fn(T, T) -> T) -> Lanes<T> {
    let mut out = [T::default(); LANES];
    for ((slot, a), b) in out.iter_mut().zip(a).zip(b).take(n) {
        *slot = f(*a, *b);
    }
    out
}

#[inline(always)]
fn map3<T: Copy + Default>(
    n: usize,
    a: &Lanes<T>,
    b: &Lanes<T>,
    c: &Lanes<T>,
    f: impl Fn(T, T, T) -> T,
) -> Lanes<T> {
    let mut out = [T::default(); LANES];
    for (((slot, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c).take(n) {
        *slot = f(*a, *b, *c);
    }
    out
}

macro_rules! operations {
    ($name:ident, $word:ty, $signed:ty) => {
        /// `select`: channels where the predicate of `sel` holds.
        #[inline]
        pub(super) fn $name(
            op: Int,
            n: usize,
            a: &Lanes<$word>,
            b: &Lanes<$word>,
            c: &Lanes<$word>,
            select: u32,
        ) -> Lanes<$word> {
            const BITS: u32 = <$word>::BITS;
            match op {
                Int::Mov => *a,
                Int::Not => map1(n, a, |a| !a),
                Int::And => map2(n, a, b, |a, b| a & b),
                Int::Or => map2(n, a, b, |a, b| a | b),
                Int::Xor => map2(n, a, b, |a, b| a ^ b),
                Int::Add => map2(n, a, b, <$word>::wrapping_add),
                Int::Add3 => map3(n, a, b, c, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
                Int::Mul => map2(n, a, b, <$word>::wrapping_mul),
                Int::Mad => map3(n, a, b, c, |a, b, c| a.wrapping_add(b.wrapping_mul(c))),
                // Of the sources as they are, sign included, without losing the carry.
                Int::Avg => map2(n, a, b, |a, b| {
                    let sum = i128::from(a as $signed) + i128::from(b as $signed) + 1;
                    (sum >> 1) as $word
                }),
                Int::Shl => map2(n, a, b, |a, b| a << (b as u32 & (BITS - 1))),
                Int::Shr => map2(n, a, b, |a, b| a >> (b as u32 & (BITS - 1))),
                Int::Asr => map2(n, a, b, |a, b| ((a as $signed) >> (b as u32 & (BITS - 1))) as $word),
                Int::Rol(width) => map2(n, a, b, |a, b| rotate(a.into(), b as u32, width) as $word),
                Int::Ror(width) => {
                    let back = |b: $word| u32::from(width).wrapping_sub(b as u32 % u32::from(width));
                    map2(n, a, b, |a, b| rotate(a.into(), back(b), width) as $word)
                }
                Int::Bfn(table) => map3(n, a, b, c, |a, b, c| {
                    let mut out = 0;
                    for row in 0..8u8 {
                        if table >> row & 1 != 0 {
                            let of = |bit: u8, word: $word| if row >> bit & 1 != 0 { word } else { !word };
                            out |= of(0, a) & of(1, b) & of(2, c);
                        }
                    }
                    out
                }),
                Int::Bfe { signed } => map3(n, a, b, c, |width, offset, value| {
                    let (width, offset) = (width as u32 & 31, offset as u32 & 31);
                    let value = value as u32;
                    let left = 32u32.saturating_sub(width + offset);
                    match (width, signed) {
                        (0, _) => 0,
                        (_, true) => (((value << left) as i32) >> (left + offset).min(31)) as $word,
                        (_, false) => ((value << left) >> (left + offset).min(31)) as $word,
                    }
                }),
                Int::Bfi1 => map2(n, a, b, |width, offset| {
                    (((1u32 << (width as u32 & 31)) - 1) << (offset as u32 & 31)) as $word
                }),
                Int::Bfi2 => map3(n, a, b, c, |mask, insert, base| (insert & mask) | (base & !mask)),
                Int::Lzd => map1(n, a, |a| (a as u32).leading_zeros() as $word),
                Int::Fbh { signed } => map1(n, a, |a| {
                    let a = if signed && (a as i32) < 0 { !(a as u32) } else { a as u32 };
                    if a == 0 { u32::MAX as $word } else { a.leading_zeros() as $word }
                }),
                Int::Fbl => map1(n, a, |a| {
                    let a = a as u32;
                    if a == 0 { u32::MAX as $word } else { a.trailing_zeros() as $word }
                }),
                Int::Cbit => map1(n, a, |a| a.count_ones() as $word),
                Int::Bfrev => map1(n, a, |a| (a as u32).reverse_bits() as $word),
                Int::Dp4a(signed1, signed2) => map3(n, a, b, c, |a, b, c| {
                    let mut sum = a;
                    let (b, c) = ((b as u32).to_le_bytes(), (c as u32).to_le_bytes());
                    let widen = |byte: u8, signed: bool| {
                        if signed { i32::from(byte as i8) } else { i32::from(byte) }
                    };
                    for (b, c) in b.into_iter().zip(c) {
                        sum = sum.wrapping_add((widen(b, signed1) * widen(c, signed2)) as $word);
                    }
                    sum
                }),
                Int::Select => {
                    let mut out = *b;
                    for (i, (slot, a)) in out.iter_mut().zip(a).take(n).enumerate() {
                        if select >> i & 1 != 0 {
                            *slot = *a;
                        }
                    }
                    out
                }
                Int::Min { signed: true } => map2(n, a, b, |a, b| (a as $signed).min(b as $signed) as $word),
                Int::Max { signed: true } => map2(n, a, b, |a, b| (a as $signed).max(b as $signed) as $word),
                Int::Min { signed: false } => map2(n, a, b, |a, b| a.min(b)),
                Int::Max { signed: false } => map2(n, a, b, |a, b| a.max(b)),
            }
        }
    };
}
operations!(words, u32, i32);
operations!(wides, u64, i64);

fn rotate(value: u64, by: u32, width: u8) -> u64 {
    match width {
        8 => u64::from((value as u8).rotate_left(by)),
        16 => u64::from((value as u16).rotate_left(by)),
        32 => u64::from((value as u32).rotate_left(by)),
        _ => value.rotate_left(by),
    }
}
