//! The reproducer's kernel: what becomes of its outputs when private memory is there, is gone, or is too small. The
//! counts are relations that were measured on hardware; here they come from executing the compiled kernel. Needs a
//! driver tree (see `isa_support::tree`) and fails without one.

mod eu_support;

use std::time::Instant;

use eu_support::launch::{Arg, Launch, PRIVATE, Private, value};
use eu_support::memory::Memory;
use eu_support::zebin::{Kernel, compile_file};
use xe_sim::eu::ExecError;

const OUT: u64 = 0x20_0000_0000;
const INPUTS: [u64; 2] = [0x21_0000_0000, 0x22_0000_0000];
const SENTINEL: u32 = 0xdead_beef;
/// Elements of one input.
const N: usize = 65536;
const BATCH: usize = 16;

fn kernel(name: &str) -> Kernel {
    compile_file("private.cl", &format!("-DSIMD=16 -DBATCH={BATCH}"))[name].clone()
}

fn element(input: usize, i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9e37_79b9) ^ (input as u32 + 1) << 30
}

/// The by-value argument: addresses, then where each input goes and how long it is.
fn block() -> Vec<u8> {
    let mut words = vec![0u64; (21 * BATCH + 80) / 8];
    for (k, addr) in INPUTS.iter().enumerate() {
        words[k] = *addr;
        words[BATCH + k] = (k * N) as u64 | (N as u64) << 32;
    }
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

struct Outcome {
    wrong: usize,
    untouched: usize,
    memory: Memory,
    result: Result<xe_sim::eu::ExecStats, ExecError>,
}

fn run(kernel: &Kernel, private: Private, scratch: bool) -> Outcome {
    let mut memory = Memory::new();
    memory.scratch = scratch;
    for (k, addr) in INPUTS.iter().enumerate() {
        memory.put_words(*addr, &(0..N).map(|i| element(k, i)).collect::<Vec<_>>());
    }
    memory.put_words(OUT, &vec![SENTINEL; 2 * N]);
    let size = 4 * N as u64;
    let args = if kernel.name.starts_with("priv") {
        vec![Arg::Buffer(OUT, 2 * size), Arg::Value(block()), value((N as u32).to_le_bytes())]
    } else {
        let [a, b] = INPUTS.map(|addr| Arg::Buffer(addr, size));
        vec![Arg::Buffer(OUT, 2 * size), a, b, value((N as u32).to_le_bytes())]
    };
    let mut launch = Launch::new(kernel, &args, [(N / 256) as u32, 2, 1], [256, 1, 1]);
    launch.private = private;
    let started = Instant::now();
    let result = launch.try_run(&mut memory);
    if let Ok(stats) = &result {
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{}, {private:?}: {} threads, {} instructions in {seconds:.3} s, {:.1} million a second; {:?}",
            kernel.name,
            stats.threads,
            stats.instructions,
            stats.instructions as f64 / seconds / 1e6,
            stats.memory
        );
    }
    let out = memory.words(OUT);
    let expected = |i: usize| element(i / N, i % N);
    let wrong = (0..2 * N).filter(|i| out[*i] != expected(*i)).count();
    let untouched = out.iter().filter(|v| **v == SENTINEL).count();
    Outcome { wrong, untouched, memory, result }
}

#[test]
fn with_its_private_memory_every_output_is_right() {
    let kernel = kernel("priv0");
    assert!(kernel.env("private_size") > 0, "the argument block must live in private memory");
    let outcome = run(&kernel, Private::Threads(4096), true);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert_eq!((outcome.wrong, outcome.untouched), (0, 0));
    assert!(outcome.memory.missed.is_empty(), "{:?}", outcome.memory.missed);
}

#[test]
fn without_private_memory_every_output_is_wrong_and_half_are_untouched() {
    let outcome = run(&kernel("priv0"), Private::Unmapped, true);
    let stats = outcome.result.expect("scratch pages let it run to the end");
    assert_eq!(outcome.wrong, 2 * N, "all outputs are wrong");
    assert_eq!(outcome.untouched, N, "all inputs land on the first one's outputs");
    assert!(stats.memory.write_missed > 0 && stats.memory.read_missed > 0);
}

#[test]
fn private_memory_for_half_of_the_hardware_threads_is_not_enough() {
    let kernel = kernel("priv0");
    let outcome = run(&kernel, Private::Threads(2048), true);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert!(outcome.wrong > 0 && outcome.wrong < 2 * N, "{} wrong", outcome.wrong);
    let end = PRIVATE + kernel.env("private_size").next_multiple_of(64) * 2048;
    // Beyond the surface, and in the null page's neighbourhood, where the lost pointers lead.
    assert!(
        outcome.memory.missed.keys().all(|page| *page >= end >> 21 || *page == 0),
        "{:?}",
        outcome.memory.missed
    );
}

#[test]
fn without_scratch_pages_the_first_access_to_it_faults() {
    let outcome = run(&kernel("priv0"), Private::Unmapped, false);
    match outcome.result {
        Err(ExecError::Fault { fault, .. }) => {
            assert!(fault.write && fault.addr >= PRIVATE, "{fault:?}: the block is copied there first");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome.untouched, 2 * N);
}

#[test]
fn the_control_kernel_has_no_private_memory_to_lose() {
    let outcome = run(&kernel("nopriv"), Private::Unmapped, true);
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert_eq!((outcome.wrong, outcome.untouched), (0, 0));
}
