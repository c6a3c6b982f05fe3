//! Any text → `.ze_info`: no panic, and no kernel without a name.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::build::ze_info;

fuzz_target!(|text: &str| {
    for input in [text.to_owned(), format!("kernels:\n{text}")] {
        if let Ok(kernels) = ze_info::parse(&input) {
            assert!(kernels.iter().all(|kernel| !kernel.name.is_empty()));
        }
    }
});
