//! Any bytes → the instruction decoder and its printer: a text or a reason, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(kernel) = xe_sim::isa::kernel(bytes, &xe_sim::isa::XE_HPG) {
        _ = kernel.to_string();
    }
});
