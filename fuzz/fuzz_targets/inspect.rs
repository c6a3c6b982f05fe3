//! Any bytes → the readers of containers (ELF, archives, bundles, SYCLBIN, zstd, SPIR-V): no panic, bounded output.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::inspect::{Limits, inspect};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { unpacked: 1 << 20, unpacked_total: 4 << 20, images: 256, depth: 8 };
    let report = inspect("fuzz", bytes, limits);
    assert!(report.images.len() <= 256);
    assert!(report.images.iter().all(|image| image.bytes <= (1 << 20).max(bytes.len() as u64)));
});
