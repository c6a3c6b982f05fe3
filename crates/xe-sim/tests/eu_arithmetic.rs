//! Integer, conversion and float arithmetic of compiled kernels against the host's. Needs a driver tree (see
//! `isa_support::tree`) and fails without one.

mod eu_support;

use eu_support::Rng;
use eu_support::launch::{Arg, Launch};
use eu_support::memory::Memory;
use eu_support::zebin::{Kernel, compile_file};

const A: u64 = 0x20_0000_0000;
const B: u64 = 0x21_0000_0000;
const C: u64 = 0x22_0000_0000;

const ITEMS: usize = 2048;

fn variants(name: &str, options: &str, check: impl Fn(&Kernel)) {
    for simd in [8, 16, 32] {
        for optimise in ["", "-cl-opt-disable"] {
            check(&compile_file("programs.cl", &format!("-DSG={simd} {optimise} {options}"))[name]);
        }
    }
}

fn buffer(addr: u64, words: usize) -> Arg {
    Arg::Buffer(addr, words as u64 * 4)
}

/// Interesting words among random ones.
fn operands(seed: u64, n: usize) -> Vec<u32> {
    const EDGES: [u32; 10] = [0, 1, 2, 31, 32, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fff, 0x8000];
    let mut rng = Rng(seed);
    (0..n)
        .map(|_| match rng.below(6) {
            0 => EDGES[rng.below(10) as usize],
            1 => rng.word() >> rng.below(32),
            _ => rng.word(),
        })
        .collect()
}

/// Runs `kernel(o, a[, b])` and compares each work-item's `width` words.
fn check(kernel: &Kernel, inputs: &[&[u32]], width: usize, expected: impl Fn(usize) -> Vec<u32>) {
    let mut memory = Memory::new();
    memory.put_words(C, &vec![0; ITEMS * width]);
    let mut args = vec![buffer(C, ITEMS * width)];
    for (addr, words) in [A, B].into_iter().zip(inputs) {
        memory.put_words(addr, words);
        args.push(buffer(addr, words.len()));
    }
    Launch::new(kernel, &args, [ITEMS as u32 / 128, 1, 1], [128, 1, 1]).run(&mut memory);
    let ours = memory.words(C);
    let mut failures = Vec::new();
    for (i, ours) in ours.chunks(width).enumerate() {
        for (k, (ours, expected)) in ours.iter().zip(expected(i)).enumerate() {
            if *ours != expected {
                failures.push(format!("item {i} word {k}: {ours:#x}, not {expected:#x}"));
            }
        }
    }
    let mut kinds: Vec<_> = failures.iter().filter_map(|f| f.split(' ').nth(3)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert!(
        failures.is_empty(),
        "{} at SIMD {}: {} words differ (kinds {kinds:?}):\n{}",
        kernel.name,
        kernel.simd(),
        failures.len(),
        failures[..failures.len().min(12)].join("\n")
    );
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn integers(x: u64, y: u64) -> [u64; 16] {
    let (u, v) = (x as u32, y as u32);
    let (iu, iv) = (u as i32, v as i32);
    [
        x.wrapping_add(y),
        x.wrapping_sub(y),
        x.wrapping_mul(y),
        pair(((u64::from(u) * u64::from(v)) >> 32) as u32, ((i64::from(iu) * i64::from(iv)) >> 32) as u32),
        x << (y & 63),
        x >> (y & 63),
        ((x as i64) >> (y & 63)) as u64,
        u64::from(u.checked_div(v).unwrap_or(0)),
        u64::from(u.checked_rem(v).unwrap_or(0)),
        u64::from(if v == 0 { 0 } else { iu.wrapping_div(iv | 1) as u32 }),
        u64::from(u.count_ones() | u.leading_zeros() << 8 | u32::from(x < y) << 16)
            | u64::from((x as i64) < (y as i64)) << 17,
        pair(u.rotate_left(v), u32::from((u as u16).rotate_left(v & 15))),
        pair(u.saturating_add(v), iu.saturating_add(iv) as u32),
        u64::from((u as i16).saturating_sub(v as i16) as u16)
            | u64::from((u as i8).saturating_add(v as i8) as u8) << 16,
        pair(((u64::from(u) + u64::from(v)) >> 1) as u32, (u32::from(u as u8) + u32::from(v as u8) + 1) >> 1),
        u64::from(
            (((u64::from(u) * u64::from(v)) >> 32) as u32).wrapping_add(u)
                ^ iu.max(iv) as u32
                ^ u.min(v)
                ^ iu.abs_diff(iv),
        ),
    ]
}

#[test]
fn integer_operations() {
    variants("integers", "", |kernel| {
        let (a, b) = (operands(20, 2 * ITEMS), operands(21, 2 * ITEMS));
        check(kernel, &[&a, &b], 32, |i| {
            let at = |v: &[u32]| pair(v[2 * i], v[2 * i + 1]);
            integers(at(&a), at(&b)).iter().flat_map(|q| [*q as u32, (*q >> 32) as u32]).collect()
        });
    });
}

/// Rounds an exact `f64` to `f32` upwards or towards zero.
fn directed(exact: f64, up: bool) -> f32 {
    let near = exact as f32;
    let back = f64::from(near);
    if up && back < exact {
        near.next_up()
    } else if !up && back.abs() > exact.abs() {
        if near > 0.0 { near.next_down() } else { near.next_up() }
    } else {
        near
    }
}

#[test]
fn conversions() {
    variants("conversions", "", |kernel| {
        let a = operands(22, ITEMS);
        check(kernel, &[&a], 16, |i| {
            let u = a[i];
            let s = u as i32;
            let f = f32::from_bits(u & 0x4fff_ffff | 0x2000_0000) * if u & 1 != 0 { -1.0 } else { 1.0 };
            vec![
                (u as f32).to_bits(),
                (s as f32).to_bits(),
                f as i32 as u32,
                f as u32,
                u32::from(f as i16 as u16) | u32::from(f as i8 as u8) << 16,
                f.round_ties_even() as i32 as u32,
                directed(f64::from(u), false).to_bits(),
                directed(f64::from(s), true).to_bits(),
                u as i16 as u32,
                u as i8 as u32,
                f.floor().to_bits(),
                f.round_ties_even().to_bits(),
                (f.trunc() + f.ceil()).to_bits(),
                (u64::from(u).wrapping_mul(u64::from(u)) as f32).to_bits(),
                (i64::from(s).wrapping_mul(77777) as f32).to_bits(),
                f.min(3.5).to_bits() ^ f.max(-2.25).to_bits() ^ f.abs().to_bits(),
            ]
        });
    });
}

/// Finite floats of moderate size, denormals among them.
fn floats(seed: u64) -> Vec<f32> {
    let mut rng = Rng(seed);
    (0..ITEMS)
        .map(|i| match i % 8 {
            0 => f32::from_bits(rng.word() & 0x807f_ffff),
            1 => rng.below(17) as f32 - 8.0,
            _ => f32::from_bits(rng.word() & 0x87ff_ffff | (0x3000_0000 + (rng.below(16) << 23))),
        })
        .collect()
}

#[test]
fn float_operations() {
    variants("floats", "-cl-fp32-correctly-rounded-divide-sqrt", |kernel| {
        let (a, b) = (floats(23), floats(24));
        let bits = |v: &[f32]| v.iter().map(|f| f.to_bits()).collect::<Vec<_>>();
        check(kernel, &[&bits(&a), &bits(&b)], 8, |i| {
            let (x, y) = (a[i], b[i]);
            let quotient = x / y;
            let out = [
                x + y,
                x - y,
                x * y,
                x.mul_add(y, x),
                quotient,
                x.abs().sqrt(),
                if x < y {
                    x
                } else if x == y {
                    0.5
                } else {
                    y
                },
                f32::from(u8::from((x / (y - y)).is_nan())),
            ];
            let mut out: Vec<u32> = out.iter().map(|f| f.to_bits()).collect();
            if quotient.is_nan() {
                // Which NaN is not defined.
                out.truncate(4);
            }
            out
        });
    });
}
