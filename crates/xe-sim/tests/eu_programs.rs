//! Programs compiled by the real `ocloc`, executed on the model, compared with what the host computes. Needs a driver
//! tree (see `isa_support::tree`) and fails without one.

mod eu_support;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use eu_support::Rng;
use eu_support::launch::{Arg, Launch, value};
use eu_support::memory::Memory;
use eu_support::zebin::{Kernel, LEGACY_DATA_PORTS, compile_file};

const A: u64 = 0x20_0000_0000;
const B: u64 = 0x21_0000_0000;
const C: u64 = 0x22_0000_0000;
const D: u64 = 0x23_0000_0000;

const WIDTHS: [u32; 3] = [8, 16, 32];

/// The programs at each SIMD width, optimised and not, and through the legacy data ports.
fn programs(check: impl Fn(&BTreeMap<String, Kernel>)) {
    static COMPILED: OnceLock<Vec<BTreeMap<String, Kernel>>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let variants = WIDTHS
            .iter()
            .flat_map(|simd| ["", "-cl-opt-disable", LEGACY_DATA_PORTS].map(|options| (*simd, options)));
        let compile = |(simd, options)| {
            let kernels = compile_file("programs.cl", &format!("-DSG={simd} {options}"));
            assert!(kernels.values().all(|k| k.simd() == simd));
            kernels
        };
        variants.map(compile).collect()
    });
    compiled.iter().for_each(check);
}

fn buffer(addr: u64, words: usize) -> Arg {
    Arg::Buffer(addr, words as u64 * 4)
}

fn words(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
    values.into_iter().map(f32::to_bits).collect()
}

#[track_caller]
fn same(what: &str, kernel: &Kernel, ours: &[u32], expected: &[u32]) {
    assert_eq!(ours.len(), expected.len(), "{what}");
    let wrong: Vec<_> = (0..ours.len()).filter(|i| ours[*i] != expected[*i]).collect();
    if let Some(first) = wrong.first() {
        panic!(
            "{what} at SIMD {}: {} of {} wrong, first [{first}]: {:#x}, not {:#x}; {:?}",
            kernel.simd(),
            wrong.len(),
            ours.len(),
            ours[*first],
            expected[*first],
            &wrong[..wrong.len().min(40)]
        );
    }
}

#[test]
fn vector_add() {
    programs(|kernels| {
        let kernel = &kernels["vector_add"];
        let mut rng = Rng(1);
        let n = 1000usize;
        let mut float = |_| rng.word() as f32 / 65536.0 - 30000.0;
        let (a, b): (Vec<f32>, Vec<f32>) =
            ((0..n).map(&mut float).collect(), (0..n).map(&mut float).collect());
        for hardware_ids in [true, false] {
            let mut memory = Memory::new();
            memory.put_words(A, &words(a.iter().copied()));
            memory.put_words(B, &words(b.iter().copied()));
            memory.put_words(C, &vec![7; 1024]);
            let args = [buffer(C, 1024), buffer(A, n), buffer(B, n), value((n as u32).to_le_bytes())];
            // 100 work-items: the last thread of each group is not full.
            let mut launch = Launch::new(kernel, &args, [11, 1, 1], [100, 1, 1]);
            launch.hardware_ids = hardware_ids;
            launch.run(&mut memory);
            let mut expected = words(a.iter().zip(&b).map(|(a, b)| a + b));
            expected.resize(1024, 7);
            same("vector_add", kernel, &memory.words(C), &expected);
        }
    });
}

#[test]
fn ids_in_three_dimensions() {
    programs(|kernels| {
        let kernel = &kernels["ids"];
        let (local, groups) = ([6u32, 5, 3], [3u32, 2, 4]);
        let size: Vec<u32> = (0..3).map(|d| local[d] * groups[d]).collect();
        let n = (2 * size[0] * size[1] * size[2]) as usize;
        let mut expected = Vec::new();
        for z in 0..size[2] {
            for y in 0..size[1] {
                for x in 0..size[0] {
                    expected.push((x % 6) | ((y % 5) << 8) | ((z % 3) << 16));
                    expected.push((x / 6) | ((y / 5) << 8) | ((z / 3) << 16));
                }
            }
        }
        for hardware_ids in [true, false] {
            let mut memory = Memory::new();
            memory.put_words(A, &vec![u32::MAX; n]);
            let args = [buffer(A, n)];
            let mut launch = Launch::new(kernel, &args, groups, local);
            launch.hardware_ids = hardware_ids;
            launch.run(&mut memory);
            same("ids", kernel, &memory.words(A), &expected);
        }
    });
}

fn run(kernel: &Kernel, memory: &mut Memory, args: &[Arg], groups: u32, local: u32) {
    Launch::new(kernel, args, [groups, 1, 1], [local, 1, 1]).run(memory);
}

#[test]
fn reduction_in_local_memory() {
    programs(|kernels| {
        let kernel = &kernels["reduce"];
        let a = Rng(3).words(256 * 5);
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &[0; 5]);
        let args = [buffer(C, 5), buffer(A, a.len()), Arg::Local(1024)];
        run(kernel, &mut memory, &args, 5, 256);
        let expected: Vec<u32> =
            a.chunks(256).map(|c| c.iter().fold(0, |s: u32, x| s.wrapping_add(*x))).collect();
        same("reduce", kernel, &memory.words(C), &expected);
    });
}

#[test]
fn matrix_multiply() {
    programs(|kernels| {
        let n = 48usize;
        let mut rng = Rng(4);
        let mut matrix = || (0..n * n).map(|_| rng.below(2000) as f32 / 64.0 - 15.0).collect::<Vec<f32>>();
        let (a, b) = (matrix(), matrix());
        let mut expected = Vec::new();
        for y in 0..n {
            for x in 0..n {
                expected.push((0..n).fold(0f32, |s, k| a[y * n + k].mul_add(b[k * n + x], s)).to_bits());
            }
        }
        for name in ["matmul", "matmul_tiled"] {
            let kernel = &kernels[name];
            let mut memory = Memory::new();
            memory.put_words(A, &words(a.iter().copied()));
            memory.put_words(B, &words(b.iter().copied()));
            memory.put_words(C, &vec![0; n * n]);
            let size = n * n;
            let args = [buffer(C, size), buffer(A, size), buffer(B, size), value((n as u32).to_le_bytes())];
            Launch::new(kernel, &args, [3, 3, 1], [16, 16, 1]).run(&mut memory);
            same(name, kernel, &memory.words(C), &expected);
        }
    });
}

#[test]
fn histogram_with_local_and_global_atomics() {
    programs(|kernels| {
        let kernel = &kernels["histogram"];
        let a = Rng(5).words(128 * 6);
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &[0; 64]);
        run(kernel, &mut memory, &[buffer(C, 64), buffer(A, a.len()), Arg::Local(256)], 6, 128);
        let mut expected = [0; 64];
        a.iter().for_each(|v| expected[(v & 63) as usize] += 1);
        same("histogram", kernel, &memory.words(C), &expected);
    });
}

#[test]
fn every_atomic() {
    programs(|kernels| {
        let kernel = &kernels["atomics"];
        let a = Rng(6).words(64 * 3);
        let mut start = Rng(7).words(64);
        (0..32).for_each(|i| start[32 + i] = i as u32);
        let mut memory = Memory::new();
        memory.put_words(A, &start);
        memory.put_words(B, &vec![0; a.len()]);
        memory.put_words(C, &a);
        run(kernel, &mut memory, &[buffer(A, 64), buffer(B, a.len()), buffer(C, a.len())], 3, 64);
        let ours = memory.words(A);
        let fold = |k: usize, f: &dyn Fn(u32, u32) -> u32| a.iter().fold(start[k], |x, v| f(x, *v));
        let expected = [
            fold(0, &u32::wrapping_add),
            fold(1, &u32::wrapping_sub),
            fold(2, &|x, v| (x as i32).min(v as i32) as u32),
            fold(3, &|x, v| (x as i32).max(v as i32) as u32),
            fold(4, &|x, v| x.min(v)),
            fold(5, &|x, v| x.max(v)),
            fold(6, &|x, v| x & v),
            fold(7, &|x, v| x | v),
            fold(8, &|x, v| x ^ v),
        ];
        same("atomics", kernel, &ours[..9], &expected);
        for i in 0..16 {
            // An exchange keeps one of the values that were offered.
            assert!((0..a.len()).any(|j| j % 16 == i && a[j] == ours[16 + i]), "exchange {i}");
        }
        let old = memory.words(B);
        for i in 0..32 {
            let winners: Vec<_> = (0..a.len()).filter(|j| j % 32 == i && old[*j] == i as u32).collect();
            // The first exchange finds the old value; whoever stores it again makes room for another.
            assert!(
                !winners.is_empty() && winners.iter().any(|j| ours[32 + i] == a[*j]),
                "compare {i}: {winners:?}"
            );
        }
    });
}

#[test]
fn float_atomics() {
    programs(|kernels| {
        let kernel = &kernels["float_atomics"];
        let mut rng = Rng(8);
        // Sums of quarters this small are exact in any order.
        let a: Vec<f32> = (0..64 * 3).map(|_| rng.below(4096) as f32 / 4.0 - 500.0).collect();
        let mut memory = Memory::new();
        memory.put_words(A, &words([1.25, 0.0, 0.0, 0.0, 0.0, 0.0]));
        memory.put_words(B, &vec![0; a.len()]);
        memory.put_words(C, &words(a.iter().copied()));
        let args = [buffer(A, 6), buffer(B, a.len()), buffer(C, a.len()), Arg::Local(4)];
        run(kernel, &mut memory, &args, 3, 64);
        let sum = a.iter().fold(1.25, |x, v| x + v);
        let most = |values: &[f32]| values.iter().copied().fold(0.0, f32::max);
        let least = a.iter().copied().fold(0.0, f32::min);
        let mut expected = vec![sum, least, most(&a)];
        expected.extend(a.chunks(64).map(most));
        same("float atomics", kernel, &memory.words(A), &words(expected));
        // Each found what another left, one the start; one left the end.
        let old: Vec<f32> = memory.words(B).into_iter().map(f32::from_bits).collect();
        let mut found: Vec<f32> = old.iter().copied().chain([sum]).collect();
        let mut left: Vec<f32> = old.iter().zip(&a).map(|(x, v)| x + v).chain([1.25]).collect();
        for values in [&mut found, &mut left] {
            values.sort_by(f32::total_cmp);
        }
        assert_eq!(found, left, "SIMD {}", kernel.simd());
    });
}

#[test]
fn private_arrays() {
    programs(|kernels| {
        let kernel = &kernels["private_array"];
        let (n, count) = (37usize, 128 * 5);
        let a = Rng(8).words(count + n + 48);
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &vec![0; count]);
        let args = [buffer(C, count), buffer(A, a.len()), value((n as u32).to_le_bytes())];
        run(kernel, &mut memory, &args, 5, 128);
        let expected: Vec<u32> = (0..count)
            .map(|i| {
                let mut p: Vec<u32> = a[..48].iter().map(|v| v.wrapping_add(n as u32)).collect();
                for j in 0..n {
                    let add = p[j % 48].wrapping_add(i as u32);
                    p[(a[i + j] & 31) as usize] ^= add;
                }
                p[n % 48].wrapping_add(p[(a[i] & 15) as usize])
            })
            .collect();
        same("private_array", kernel, &memory.words(C), &expected);
    });
}

#[test]
fn divergent_loops() {
    programs(|kernels| {
        let kernel = &kernels["collatz"];
        let a = Rng(9).words(1024);
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &[0; 1024]);
        run(kernel, &mut memory, &[buffer(C, 1024), buffer(A, 1024)], 8, 128);
        let expected: Vec<u32> = a
            .iter()
            .map(|v| {
                let (mut v, mut steps) = (v % 4096 + 1, 0);
                while v != 1 {
                    v = if v & 1 != 0 { 3 * v + 1 } else { v >> 1 };
                    steps += 1;
                    if steps == 100 {
                        break;
                    }
                }
                steps << 16 | v & 0xffff
            })
            .collect();
        same("collatz", kernel, &memory.words(C), &expected);
    });
}

fn flow_on_host(a: &[i32], i: usize, n: i32) -> i32 {
    let mut s = 0i32;
    for j in 0..n {
        let mut v = a[(j as usize * 7 + i) & 1023];
        if v < 0 {
            continue;
        }
        if v & 127 == 5 {
            break;
        }
        match v & 7 {
            0 => s = s.wrapping_add(v),
            1 => s ^= v,
            2 => s = s.wrapping_sub(j).wrapping_mul(3),
            3 => s = s.wrapping_mul(3),
            6 if s & 1 != 0 => return s.wrapping_neg(),
            _ => s = (s >> 1).wrapping_add(1),
        }
        loop {
            s = s.wrapping_add(v & j);
            v >>= 3;
            if v <= j {
                break;
            }
        }
    }
    s
}

#[test]
fn control_flow() {
    programs(|kernels| {
        let kernel = &kernels["flow"];
        let a: Vec<i32> = Rng(10).words(1024).iter().map(|w| *w as i32 >> 12).collect();
        let mut memory = Memory::new();
        memory.put_words(A, &a.iter().map(|v| *v as u32).collect::<Vec<_>>());
        memory.put_words(C, &[0; 512]);
        run(kernel, &mut memory, &[buffer(C, 512), buffer(A, 1024), value(60i32.to_le_bytes())], 4, 128);
        let expected: Vec<u32> = (0..512).map(|i| flow_on_host(&a, i, 60) as u32).collect();
        same("flow", kernel, &memory.words(C), &expected);
    });
}

#[test]
fn calls_that_are_not_inlined() {
    programs(|kernels| {
        let kernel = &kernels["calls"];
        let a: Vec<i32> = Rng(11).words(512).iter().map(|w| *w as i32 >> 20).collect();
        let mut memory = Memory::new();
        memory.put_words(A, &a.iter().map(|v| *v as u32).collect::<Vec<_>>());
        memory.put_words(C, &[0; 256]);
        run(kernel, &mut memory, &[buffer(C, 256), buffer(A, 512), value(9i32.to_le_bytes())], 2, 128);
        let helper = |x: i32, a: &[i32], depth: i32| {
            (0..depth).fold(x, |s, j| s.wrapping_mul(a[j as usize]).wrapping_add(if s > x { j } else { -j }))
        };
        let expected: Vec<u32> = (0..256)
            .map(|i| {
                let x = helper(a[i], &a, 9);
                (if x > 3 { x.wrapping_add(helper(x, &a[4..], 3)) } else { x }) as u32
            })
            .collect();
        same("calls", kernel, &memory.words(C), &expected);
    });
}

#[test]
fn sums_of_byte_products_saturate() {
    let (n, mut rng) = (512, Rng(40));
    let (a, b) = (rng.words(n), rng.words(n));
    // Half of the sums leave the range of one of the types.
    let edges = [0x7fff_0000, 0x8000_8000, 0xffff_0000, 0, 77];
    let c: Vec<u32> = (0..n).map(|i| edges[i % edges.len()]).collect();
    let expected: Vec<u32> = (0..n)
        .flat_map(|i| {
            let signed = |word: u32| word.to_le_bytes().map(|byte| i64::from(byte as i8));
            let unsigned = |word: u32| word.to_le_bytes().map(i64::from);
            let dot = |a: [i64; 4], b: [i64; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<i64>();
            let int = |sum: i64| sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32;
            let acc = i64::from(c[i] as i32);
            [
                dot(signed(a[i]), signed(b[i])) as u32,
                dot(unsigned(a[i]), unsigned(b[i])) as u32,
                dot(signed(a[i]), unsigned(b[i])) as u32,
                int(acc + dot(signed(a[i]), signed(b[i]))),
                (i64::from(c[i]) + dot(unsigned(a[i]), unsigned(b[i]))).min(u32::MAX.into()) as u32,
                int(acc + dot(unsigned(a[i]), signed(b[i]))),
            ]
        })
        .collect();
    programs(|kernels| {
        let kernel = &kernels["byte_products"];
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(B, &b);
        memory.put_words(D, &c);
        memory.put_words(C, &vec![0; 6 * n]);
        let args = [buffer(C, 6 * n), buffer(A, n), buffer(B, n), buffer(D, n)];
        Launch::new(kernel, &args, [n as u32 / 64, 1, 1], [64, 1, 1]).run(&mut memory);
        same("byte products", kernel, &memory.words(C), &expected);
    });
}
