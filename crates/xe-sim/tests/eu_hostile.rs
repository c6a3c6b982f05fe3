//! Kernels that no compiler would make: words of real instructions with bits turned over, in any order. The executor
//! ends within its budget, with a result or a reason, and never panics.

#[path = "eu_support/hostile.rs"]
mod hostile;

use hostile::{CODE, HostileMemory};
use proptest::prelude::*;
use xe_sim::eu::{Budget, Dispatch, ExecError, ExecStats, Geometry, KernelCache, LocalIds, execute};
use xe_sim::testkit::END_OF_THREAD;

const BUDGET: u64 = 3_000;

/// The corpus of instruction words, as bytes.
fn words() -> Vec<Vec<u8>> {
    let lines = include_str!("isa_corpus/words.txt").lines().filter(|l| !l.starts_with('#'));
    let hex = |text: &str| -> Option<Vec<u8>> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()).collect()
    };
    lines
        .filter_map(|line| hex(line.split_whitespace().next()?))
        .filter(|b| matches!(b.len(), 8 | 16))
        .collect()
}

fn run(code: Vec<u8>, simd: u8, fill: u8, threads: u32) -> Result<ExecStats, ExecError> {
    run_with(&mut KernelCache::default(), &code, simd, fill, threads)
}

fn run_with(
    cache: &mut KernelCache,
    code: &[u8],
    simd: u8,
    fill: u8,
    threads: u32,
) -> Result<ExecStats, ExecError> {
    let inline = [fill; 32];
    let dispatch = Dispatch {
        group_end: [2, 1, 1],
        local_size: [u32::from(simd) * threads, 1, 1],
        threads_per_group: threads,
        local_ids: (fill & 1 != 0).then_some(LocalIds { emit: 3, order: [2, 0, 1] }),
        inline_data: Some(&inline),
        indirect_start: u32::from(fill) << 6,
        surface_base: 0x2000,
        bindless_surface_base: 0x3000,
        binding_table: 0x20,
        scratch_field: 0x400,
        slm_bytes: 1024 * u32::from(fill & 3),
        ..Dispatch::of_one_thread(CODE, simd, Geometry { dss: 2, eus_per_dss: 2, threads_per_eu: 4 })
    };
    let mut memory = HostileMemory::new(code, fill);
    execute(&dispatch, &mut memory, cache, Budget::of(BUDGET))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn hostile_kernels_end_within_their_budget(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..3, any::<u8>(), any::<u8>()), 1..12),
        simd in prop::sample::select(vec![8u8, 16, 32]),
        fill in any::<u8>(),
        threads in 1u32..4,
    ) {
        static WORDS: std::sync::LazyLock<Vec<Vec<u8>>> = std::sync::LazyLock::new(words);
        let words = &*WORDS;
        let mut code = Vec::new();
        for (pick, flips, a, b) in picks {
            let mut word = words[pick.index(words.len())].clone();
            for bit in [a, b].into_iter().take(flips.into()) {
                let at = usize::from(bit) % (8 * word.len());
                word[at / 8] ^= 1 << (at % 8);
            }
            code.extend(word);
        }
        if let Ok(stats) = run(code, simd, fill, threads) {
            prop_assert!(stats.instructions <= BUDGET && stats.messages <= stats.instructions);
        }
    }
}

#[test]
fn endless_loop_is_stopped_by_the_budget() {
    // jmpi to itself: the offset counts from the instruction, zero bytes.
    let jmpi: u128 = u128::from_str_radix("20000080004000000000000000000000", 16).expect("hex");
    match run(jmpi.to_be_bytes().to_vec(), 8, 0, 1) {
        Err(ExecError::Budget { instructions, .. }) => assert_eq!(instructions, BUDGET),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kernel_that_takes_the_place_of_no_instruction_is_decoded() {
    let end: Vec<u8> = END_OF_THREAD.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut cache = KernelCache::default();
    match run_with(&mut cache, &[0xff; 16], 8, 0, 1) {
        Err(ExecError::Unsupported { reason, offset: u32::MAX, .. }) => {
            assert!(reason.contains("no instruction"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    let stats = run_with(&mut cache, &end, 8, 0, 1).expect("it ends");
    assert_eq!((stats.groups, stats.instructions), (2, 2));
    // And the other way round, where what follows is no instruction.
    assert!(run_with(&mut cache, &[0xff; 16], 8, 0, 1).is_err());
}

#[test]
fn group_that_no_sub_slice_has_room_for_is_refused() {
    let end: Vec<u8> = END_OF_THREAD.iter().flat_map(|word| word.to_le_bytes()).collect();
    // Two execution units of four threads.
    assert_eq!(run(end.clone(), 8, 0, 8).map(|stats| stats.threads), Ok(16));
    match run(end, 8, 0, 9) {
        Err(ExecError::BadDispatch(why)) => assert!(why.contains("dual sub-slice"), "{why}"),
        other => panic!("{other:?}"),
    }
}
