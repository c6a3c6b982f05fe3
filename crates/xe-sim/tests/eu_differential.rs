//! The model of the execution units against PoCL: random kernels, and those that once differed. Needs a driver tree
//! (see `isa_support::tree`) and PoCL, and fails without them.
//!
//! `EU_DIFF_KERNELS` sets how many kernels are made, `EU_DIFF_SEED` the first one's seed. A long run:
//! `cargo test -p xe-sim --test eu_differential two_thousand -- --ignored --nocapture`.

mod eu_diff;
mod eu_support;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use eu_diff::batch::{Batch, COMMON, WIDTHS};
use eu_diff::gen_core::Gen;
use eu_diff::gen_stmt::{DOUBLES, HALVES};
use eu_diff::hunt::{STRUCTURED_OPTIONS, hunt, read_case};
use eu_diff::reduce::reduce;
use eu_diff::reference;
use eu_support::zebin::{LEGACY_DATA_PORTS, try_compile};
use xe_sim::isa::{XE_HPG, decode};

/// Not a test: the others start it.
#[test]
#[ignore = "run by the other tests as the process that has PoCL in it"]
fn reference_child() {
    if !reference::serve() {
        println!("nothing to do: started by hand");
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Kernels of the seeds from `base` on. Returns how many were compared.
#[track_caller]
fn compare(base: u64, default_count: u64) -> usize {
    let (first, count) = (base + number("EU_DIFF_SEED", 1), number("EU_DIFF_KERNELS", default_count));
    println!("seeds {first} to {}", first + count - 1);
    let tally = hunt(first, count);
    println!("{}", tally.summary());
    for (seed, error) in &tally.untested {
        println!(
            "seed {seed} not compared: {}",
            error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("")
        );
    }
    let enough = tally.untested.len() as u64 <= count / 50;
    assert!(enough, "the compilers take too few of the kernels; the first: {}", tally.untested[0].1);
    if let Some((text, path)) = tally.explain(number("EU_DIFF_ROUNDS", 40) as usize) {
        let seeds: Vec<_> = tally.failures.iter().map(|failure| (failure.seed, failure.simd)).collect();
        panic!("{} (seed, SIMD): {seeds:?}\n{text}\nwritten to {}", tally.summary(), path.display());
    }
    assert_eq!(tally.compared + tally.untested.len(), count as usize, "kernels were left out");
    tally.compared
}

#[test]
fn random_kernels_do_on_the_model_what_they_do_on_pocl() {
    compare(0, 60);
}

#[test]
fn kernels_with_half_precision_do_too() {
    compare(HALVES, 10);
}

#[test]
fn kernels_with_emulated_double_precision_do_too() {
    compare(DOUBLES, 2);
}

/// Seeds 21 to 30 are a module of this kind (see `hunt`): that blocks are compared, and not `goto` again, is shown here.
#[test]
fn structured_flow_is_among_what_is_compared() {
    let mut batch = Batch::default();
    for seed in 21..=30 {
        let (kernel, name) = (Gen::kernel(seed), format!("k{seed}"));
        batch.kernels.push((kernel.source(&name), kernel.case(&name)));
    }
    let options = format!("{COMMON} -DSG=16 {STRUCTURED_OPTIONS}");
    let compiled = try_compile(&batch.source(), &options, "").unwrap_or_else(|error| panic!("{error}"));
    let mut seen = HashSet::new();
    for kernel in compiled.values() {
        let mut at = 0;
        while let Ok(inst) = decode(kernel.text.get(at..).unwrap_or_default(), &XE_HPG) {
            seen.insert(format!("{:?}", inst.op));
            at += inst.size();
        }
    }
    for op in ["If", "Else", "Endif", "While", "Break", "Goto", "Join"] {
        assert!(seen.contains(op), "no {op} in {seen:?}");
    }
}

#[test]
#[ignore = "takes a quarter of an hour of two quiet cores"]
fn two_thousand_kernels() {
    // A few that a compiler crashes on.
    let compared = compare(0, 2020);
    assert!(compared >= 2000 || std::env::var_os("EU_DIFF_KERNELS").is_some(), "only {compared} compared");
}

/// Kernels that once differed, each with the launch in its first line and the reason in the following ones.
#[test]
fn what_once_differed_does_no_more() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/eu_corpus/differential");
    for options in ["", "-cl-opt-disable", LEGACY_DATA_PORTS] {
        let mut batch = Batch { options: options.into(), ..Batch::default() };
        for entry in fs::read_dir(&dir).expect("the corpus") {
            let text = fs::read_to_string(entry.expect("an entry").path()).expect("a source");
            let case = read_case(&text);
            batch.kernels.push((text, case));
        }
        assert!(!batch.kernels.is_empty(), "no kernels in {}", dir.display());
        let theirs = batch.reference().unwrap_or_else(|error| panic!("{error}"));
        for simd in WIDTHS {
            for outcome in batch.compare(simd, &theirs).unwrap_or_else(|error| panic!("{error}")) {
                assert!(
                    outcome.found.is_empty(),
                    "{} at SIMD {simd} {options}: {:#?}",
                    outcome.case.kernel,
                    outcome.found
                );
            }
        }
    }
}

#[test]
#[ignore = "a tool: prints the kernel of EU_DIFF_SEED"]
fn show() {
    let seed = number("EU_DIFF_SEED", 1);
    println!("{}{}", eu_diff::prelude::prelude(), Gen::kernel(seed).source(&format!("k{seed}")));
}

#[test]
#[ignore = "a tool: reduces the kernel of EU_DIFF_SEED at EU_DIFF_SIMD"]
fn reduced() {
    let simd = number("EU_DIFF_SIMD", 16) as u32;
    let options = std::env::var("EU_DIFF_OPTIONS").unwrap_or_default();
    let (kernel, found) = reduce(&Gen::kernel(number("EU_DIFF_SEED", 1)), simd, &options, 80);
    println!("{}\n{found:#?}", kernel.source("k"));
}
