//! Any bytes → the simulated device's trace: facts or a reason, never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::observe::sim::{self, Known};

fuzz_target!(|bytes: &[u8]| {
    _ = sim::facts(bytes, Known { phases: &[], private_surfaces: &[4096] });
});
