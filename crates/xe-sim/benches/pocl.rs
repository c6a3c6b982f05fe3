//! The model beside PoCL on the same kernels: `cargo bench -p xe-sim --bench pocl` (REPRO_MATRIX_TEST_TREE names a
//! driver tree; PoCL as for the tests).
//!
//! Each program is compiled by the driver's compiler at SIMD 16 for the model, and by PoCL, optimising, for the host.
//! Both run it on one core; the shortest of five runs counts, and the results must be the same.

use std::env;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

#[path = "../tests/eu_diff/mod.rs"]
#[allow(dead_code)]
mod eu_diff;
#[path = "../tests/eu_support/mod.rs"]
mod eu_support;

use eu_diff::batch::{Batch, COMMON};
use eu_diff::compare::differences;
use eu_diff::gen_core::Gen;
use eu_diff::kernel::{Case, Data, Slot};
use eu_diff::sys::{OpenCl, Program};
use eu_diff::{model, reference};
use eu_support::zebin;

const SIMD: u32 = 16;
const ROUNDS: usize = 5;
/// Random kernels, launched with more groups than in the tests.
const SEEDS: std::ops::Range<u64> = 1..17;
const MORE: u32 = 16;

/// Programs in the form of the random kernels: float arithmetic, integer arithmetic, local memory, private memory.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "floats",
        "KERNEL void floats(PARAMETERS) { PLACE(8); float x = FM(in[gid & 255u]), y = FM(in[(gid + 7u) & 255u]);
         for (uint i = 0; i < 200; i++) { x = fma(x, 0.5f, y); y = y * 0.25f + x; }
         *(global uint *)o = CB(x); *(global uint *)(o + 4) = CB(y); }\n",
    ),
    (
        "integers",
        "KERNEL void integers(PARAMETERS) { PLACE(8); uint x = in[gid & 255u], y = gid;
         for (uint i = 0; i < 200; i++) { x = rotate(x ^ y, 7u) * 0x9e3779b1u; y += x >> 3; }
         *(global uint *)o = x; *(global uint *)(o + 4) = y; }\n",
    ),
    (
        "local",
        "KERNEL void local_(PARAMETERS) { PLACE(8); la[lid] = in[gid & 255u]; uint sum = 0;
         for (uint i = 0; i < 50; i++) { barrier(CLK_LOCAL_MEM_FENCE); uint v = la[(lid + i) % LSZ];
         barrier(CLK_LOCAL_MEM_FENCE); la[lid] += v; sum ^= v; } *(global uint *)o = sum; *(global uint *)(o + 4) = la[lid]; }\n",
    ),
    (
        "private",
        "KERNEL void private_(PARAMETERS) { PLACE(8); uint pa[32]; for (uint i = 0; i < 32; i++) pa[i] = in[(gid + i) & 255u];
         uint x = gid; for (uint i = 0; i < 100; i++) { uint k = x & 31u; x = x * 5u + pa[k]; pa[k] = x ^ i; }
         *(global uint *)o = x; *(global uint *)(o + 4) = pa[lid & 31u]; }\n",
    ),
];

fn main() -> ExitCode {
    if env::var_os("POCL_CACHE_DIR").is_none() {
        // Again, with PoCL on one core and a cache of its own.
        let dir = tempfile::tempdir().expect("a temporary directory");
        let status = Command::new(env::current_exe().expect("this program"))
            .env("POCL_CACHE_DIR", dir.path())
            .env("POCL_DEVICES", "pthread")
            .env("POCL_MAX_PTHREAD_COUNT", "1")
            .status();
        return if status.is_ok_and(|status| status.success()) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let mut batch = Batch::default();
    for (name, source) in PROGRAMS {
        let kernel = source.split(['(', ' ']).nth(2).unwrap_or(name).to_owned();
        let word = |at| Slot {
            at,
            ty: eu_diff::types::Ty::scalar(eu_diff::types::Scalar::U32),
            check: eu_diff::kernel::Check::Bits,
        };
        let slots = vec![word(0), word(4)];
        let case = Case { kernel, seed: 1, stride: 8, slots, local: [64, 1, 1], groups: [64, 1, 1] };
        batch.kernels.push((source.to_owned(), case));
    }
    for seed in SEEDS {
        let kernel = Gen::kernel(seed);
        let name = format!("k{seed}");
        let mut case = kernel.case(&name);
        case.groups[0] *= MORE;
        batch.kernels.push((kernel.source(&name), case));
    }
    let cl = OpenCl::open().unwrap_or_else(|error| panic!("{error}"));
    let program =
        cl.build(&batch.source(), &format!("{COMMON} -DREFERENCE")).unwrap_or_else(|error| panic!("{error}"));
    let compiled = zebin::compile(&batch.source(), &format!("{COMMON} -DSG={SIMD}"));
    println!(
        "kernel         work-items   SIMD instructions   on the model     a second         PoCL    ratio"
    );
    let mut all = (0, Duration::ZERO, Duration::ZERO);
    for (i, (_, case)) in batch.kernels.iter().enumerate() {
        let (instructions, ours, theirs) = measure(&compiled, &cl, &program, case);
        if i < PROGRAMS.len() {
            row(&case.kernel, case.items(), instructions, ours, theirs);
        } else {
            all = (all.0 + instructions, all.1 + ours, all.2 + theirs);
        }
    }
    let items = batch.kernels.iter().skip(PROGRAMS.len()).map(|(_, case)| case.items()).sum();
    row("random kernels", items, all.0, all.1, all.2);
    ExitCode::SUCCESS
}

fn row(name: &str, items: usize, instructions: u64, ours: Duration, theirs: Duration) {
    println!(
        "{name:<14} {items:>10} {instructions:>19} {ours:>14.1?} {:>10.1} M {theirs:>12.1?} {:>8.0}",
        instructions as f64 / ours.as_secs_f64() / 1e6,
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
}

fn measure(
    compiled: &std::collections::BTreeMap<String, zebin::Kernel>,
    cl: &OpenCl,
    program: &Program,
    case: &Case,
) -> (u64, Duration, Duration) {
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    let mut instructions = 0;
    // The first run of PoCL compiles.
    let mut warm = case.data();
    reference::launch(cl, program, case, &mut warm).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let (result, stats) =
            model::run(compiled, case).unwrap_or_else(|error| panic!("{}: {error}", case.kernel));
        ours = ours.min(started.elapsed());
        instructions = stats.instructions;
        let mut data: Data = case.data();
        let took = reference::launch(cl, program, case, &mut data).unwrap_or_else(|error| panic!("{error}"));
        theirs = theirs.min(took);
        let found = differences(case, &result, &data);
        assert!(found.is_empty(), "{}: {found:?}", case.kernel);
    }
    (instructions, ours, theirs)
}
