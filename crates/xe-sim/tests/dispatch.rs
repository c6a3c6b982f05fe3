//! Compiled kernels launched through the device: client memory, unbound memory, copies at the host's speed. Needs a driver
//! tree (see `isa_support::tree`) and fails without one.

mod eu_support;

use eu_support::Rng;
use eu_support::device::OnDevice;
use eu_support::launch::{Arg, Launch, value};
use eu_support::memory::Memory;
use eu_support::zebin::{Kernel, compile};
use xe_sim::trace::Event;

const A: u64 = 0x20_0000_0000;
const B: u64 = 0x21_0000_0000;
const C: u64 = 0x22_0000_0000;

const SOURCE: &str = "
__kernel void add(__global uint *c, __global const uint *a, __global const uint *b) {
    uint i = get_global_id(0);
    c[i] = a[i] + b[i];
}
__kernel void count(__global uint *c, __global const uint *a) {
    atomic_inc(&c[a[get_global_id(0)] & 15]);
}
__kernel void copy(__global uint4 *c, __global const uint4 *a, uint n) {
    uint i = get_global_id(0);
    if (i < n) c[i] = a[i];
}
__kernel void almost(__global uint4 *c, __global const uint4 *a, uint n) {
    uint i = get_global_id(0);
    if (i != n) c[i] = a[i];
}
__kernel void around(__global uint4 *c, __global const uint4 *a, uint n) {
    uint i = get_global_id(0);
    if (i - n > 4) c[i] = a[i];
}
__attribute__((intel_reqd_sub_group_size(8))) __kernel void crowd(__global uint *c) {
    c[get_global_id(0)] = get_local_id(0);
}
";

/// Arguments by their order: buffers of `words` words, then perhaps a number.
fn args(buffers: &[(u64, usize)], n: Option<u32>) -> Vec<Arg> {
    let mut args: Vec<Arg> =
        buffers.iter().map(|(addr, words)| Arg::Buffer(*addr, *words as u64 * 4)).collect();
    args.extend(n.map(|n| value(n.to_le_bytes())));
    args
}

/// Memory with `n` words at A and at B, which are told, and room for their sums at C.
fn terms(n: usize) -> (Memory, Vec<u32>, Vec<u32>) {
    let (a, b) = (Rng(1).words(n), Rng(2).words(n));
    let mut memory = Memory::new();
    memory.put_words(A, &a);
    memory.put_words(B, &b);
    memory.put_words(C, &vec![7; n]);
    (memory, a, b)
}

/// Runs `add` on `n` words and checks each sum; everything is bound, and all of it is executed.
#[track_caller]
fn adds(add: &Kernel, device: &mut OnDevice, n: usize) {
    let (mut memory, a, b) = terms(n);
    let args = args(&[(C, n), (A, n), (B, n)], None);
    let launch = Launch::new(add, &args, [(n / 256) as u32, 1, 1], [256, 1, 1]);
    let ran = device.run(&launch, &mut memory, &[]).expect("it runs");
    assert_eq!((ran.unmapped.len(), ran.native_groups), (0, 0));
    let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
    assert!(memory.words(C) == expected, "client memory: {:x?}", device.user);
}

#[test]
fn kernels_reach_objects_and_client_memory() {
    let kernels = compile(SOURCE, "");
    // Every choice of which of the three buffers is the client's own memory.
    for choice in 0..8 {
        let mut device = OnDevice::new("a770", true);
        device.user =
            [A, B, C].into_iter().enumerate().filter(|(i, _)| choice >> i & 1 != 0).map(|x| x.1).collect();
        adds(&kernels["add"], &mut device, 64 * 1024);
    }
}

#[test]
fn group_counts_of_an_indirect_dispatch_come_from_the_registers() {
    let mut device = OnDevice::new("a770", true);
    device.indirect = true;
    adds(&compile(SOURCE, "")["add"], &mut device, 4096);
}

#[test]
fn atomics_of_groups_on_several_host_threads_lose_nothing() {
    let kernels = compile(SOURCE, "");
    let n = 32 * 1024;
    let a = Rng(3).words(n);
    let mut expected = vec![0u32; 16];
    a.iter().for_each(|a| expected[*a as usize & 15] += 1);
    for user in [vec![], vec![C]] {
        let mut device = OnDevice::new("a770", true);
        device.user = user;
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &[0; 16]);
        let args = args(&[(C, 16), (A, n)], None);
        let launch = Launch::new(&kernels["count"], &args, [(n / 256) as u32, 1, 1], [256, 1, 1]);
        device.run(&launch, &mut memory, &[]).expect("it runs");
        assert_eq!(memory.words(C), expected);
    }
}

#[test]
fn unbound_input_is_zeros_counted_in_its_range_and_a_fault_without_scratch() {
    let kernels = compile(SOURCE, "");
    let n = 4096;
    let (mut memory, a, _) = terms(n);
    let args = args(&[(C, n), (A, n), (B, n)], None);
    let launch = Launch::new(&kernels["add"], &args, [(n / 256) as u32, 1, 1], [256, 1, 1]);
    let mut device = OnDevice::new("a380", true);
    let ran = device.run(&launch, &mut memory, &[B]).expect("it runs");
    assert_eq!(memory.words(C), a);
    let [missed] = &ran.unmapped[..] else { panic!("one range: {:?}", ran.unmapped) };
    assert_eq!((missed.range_addr, missed.read, missed.written), (B, 4 * n as u64, 0));

    let mut device = OnDevice::new("a380", false);
    memory.put_words(C, &vec![7; n]);
    assert!(device.run(&launch, &mut memory, &[B]).is_err());
    assert_eq!(device.bench.banned(device.queue), Ok(true));
    let reason = device.bench.events().into_iter().find_map(|e| match e {
        Event::QueueBanned { reason, .. } => Some(reason),
        _ => None,
    });
    assert!(reason.is_some_and(|r| r.contains("page fault: read from unbound 0x21000")));
}

#[test]
fn group_fits_a_dual_sub_slice_whose_threads_have_large_registers_or_is_refused() {
    let kernels = compile(SOURCE, "");
    // 128 threads of 8 channels: all that a dual sub-slice has, and twice what is left with large registers.
    for (large_registers, items, runs) in [(false, 1024, true), (true, 512, true), (true, 1024, false)] {
        let mut device = OnDevice::new("a770", true);
        device.large_registers = large_registers;
        let mut memory = Memory::new();
        memory.put_words(C, &[7; 1024]);
        let args = args(&[(C, 1024)], None);
        let launch = Launch::new(&kernels["crowd"], &args, [1, 1, 1], [items, 1, 1]);
        assert_eq!(device.run(&launch, &mut memory, &[]).is_ok(), runs, "{large_registers} {items}");
        let written = if runs { items } else { 0 };
        assert!((0..1024).zip(memory.words(C)).all(|(i, word)| word == if i < written { i } else { 7 }));
        let named = |event| matches!(event, Event::UnsupportedCommand { name, .. } if name.contains("dual sub-slice"));
        assert_eq!(device.bench.events().into_iter().any(named), !runs);
    }
}

#[test]
fn copies_are_recognised_compared_and_exact_and_what_is_almost_one_is_executed() {
    let kernels = compile(SOURCE, "");
    // The last group is not full.
    let (n, groups) = (4 * (64 * 1024 - 100), 256u32);
    let a = Rng(5).words(4 * 64 * 1024);
    for (name, user) in
        [("copy", vec![]), ("copy", vec![A]), ("copy", vec![C]), ("almost", vec![]), ("around", vec![])]
    {
        let mut device = OnDevice::new("a770", true);
        device.user = user;
        let mut memory = Memory::new();
        memory.put_words(A, &a);
        memory.put_words(C, &vec![7; a.len()]);
        let skipped = 31_337;
        let limit = if name == "copy" { n / 4 } else { skipped };
        let args = args(&[(C, a.len()), (A, a.len())], Some(limit as u32));
        let launch = Launch::new(&kernels[name], &args, [groups, 1, 1], [256, 1, 1]);
        let ran = device.run(&launch, &mut memory, &[]).expect("it runs");
        let mut expected = a.clone();
        if name == "copy" {
            expected[n..].fill(7);
            assert_eq!((ran.native_groups, ran.native_bytes), (255, 255 * 256 * 16), "{ran:?}");
            assert!(ran.sampled_groups >= 5, "{ran:?}");
        } else {
            let items = if name == "almost" { 1 } else { 5 };
            expected[4 * skipped..4 * (skipped + items)].fill(7);
            assert_eq!((ran.native_groups, ran.sampled_groups), (0, 0), "{ran:?}");
        }
        assert!(memory.words(C) == expected, "{name}");
    }
}

#[test]
fn copy_that_is_partly_unbound_or_overlaps_is_executed() {
    let kernels = compile(SOURCE, "");
    let words = 4 * 64 * 1024;
    let a = Rng(6).words(words);
    let mut memory = Memory::new();
    memory.put_words(A, &a);
    memory.put_words(C, &vec![7; words]);
    let args_of = |from, to| args(&[(to, words), (from, words)], Some(words as u32 / 4));
    let mut device = OnDevice::new("a770", true);
    let whole = args_of(A, C);
    let launch = Launch::new(&kernels["copy"], &whole, [256, 1, 1], [256, 1, 1]);
    let ran = device.run(&launch, &mut memory, &[C]).expect("it runs");
    assert_eq!(ran.native_groups, 0);
    assert_eq!(ran.unmapped.iter().map(|u| u.written).sum::<u64>(), 4 * words as u64);

    // A source that is gone: what the samples did not find is not counted beside what the launch does not find.
    let mut device = OnDevice::new("a770", true);
    let ran = device.run(&launch, &mut memory, &[A]).expect("it runs");
    let [missed] = &ran.unmapped[..] else { panic!("one range: {:?}", ran.unmapped) };
    assert_eq!((ran.native_groups, missed.range_addr, missed.read), (0, A, 4 * words as u64));
    assert!(memory.words(C).iter().all(|word| *word == 0));

    // One group further on in the same buffer.
    let mut memory = Memory::new();
    memory.put_words(A, &[a.clone(), a].concat());
    let mut device = OnDevice::new("a770", true);
    let shifted = args_of(A, A + 4096);
    let launch = Launch::new(&kernels["copy"], &shifted, [256, 1, 1], [256, 1, 1]);
    assert_eq!(device.run(&launch, &mut memory, &[]).expect("it runs").native_groups, 0);
}
