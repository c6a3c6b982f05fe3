//! Any bytes → strace's output: no panic, and no line lost.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::logs::strace;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split_inclusive(|&b| b == b'\n').count() as u64;
    assert_eq!(strace::parse(bytes).lines, lines);
});
