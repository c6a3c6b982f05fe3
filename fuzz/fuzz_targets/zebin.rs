//! Any bytes → the build stage's check of a module, native and SPIR-V, and its debug information: no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::build::zebin::inspect;
use repro_matrix::model::arm::ModuleFormat;

fuzz_target!(|bytes: &[u8]| {
    let _ = inspect(bytes, ModuleFormat::Native);
    let _ = inspect(bytes, ModuleFormat::Spirv);
    let _ = repro_matrix::asm::lines(bytes);
});
