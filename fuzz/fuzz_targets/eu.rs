//! Any bytes as a kernel → the executor: it ends within its budget, without a panic, whatever memory says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use xe_sim::eu::{Budget, Dispatch, Geometry, KernelCache, LocalIds, execute};

#[path = "../../crates/xe-sim/tests/eu_support/hostile.rs"]
mod hostile;

use hostile::{CODE, HostileMemory};

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, code)) = bytes.split_first_chunk::<4>() else { return };
    let inline: [u8; 32] = std::array::from_fn(|i| choice[i & 3].wrapping_add(i as u8));
    let geometry = Geometry { dss: 2, eus_per_dss: 2, threads_per_eu: 4 };
    let dispatch = Dispatch {
        group_end: [1 + u32::from(choice[0] >> 6), 1, 1],
        local_size: [u32::from(choice[1]) + 1, 2, 1],
        threads_per_group: 1 + u32::from(choice[2] & 3),
        last_thread_mask: u32::from(choice[3]),
        local_ids: (choice[2] & 4 != 0).then_some(LocalIds { emit: choice[2] >> 6, order: [0, 1, 2] }),
        inline_data: (choice[2] & 8 != 0).then_some(&inline),
        slm_bytes: 1024 * u32::from(choice[3] & 3),
        ..Dispatch::of_one_thread(CODE, 8 << (choice[0] & 3).min(2), geometry)
    };
    let mut memory = HostileMemory::new(code, choice[1]);
    _ = execute(&dispatch, &mut memory, &mut KernelCache::default(), Budget::of(5_000));
});
