//! Statements computed from made-up matrices whose truth is known: here the "driver" is a rule.

use super::*;
use crate::model::arm::{PageCache, Prot, SourceKind};
use crate::model::verdict::Verdict;
use crate::report::aggregate::summarise;
use crate::report::fixture::{arm, record, with};

fn under(a: &mut Arm) {
    a.variant.kernels = 173;
}
fn rw(a: &mut Arm) {
    a.source.prot = Prot::Rw;
}
fn anon(a: &mut Arm) {
    a.source.kind = SourceKind::Anon;
}

/// The world of seed 003: corrupt where the module is over the threshold and the source is mapped read-only.
fn truth(a: &Arm) -> bool {
    a.variant.kernels > 173
        && a.source.prot == Prot::R
        && !a.keys.keys.contains_key("MakeEachAllocationResident")
}

fn told(arms: &[Arm]) -> Vec<Finding> {
    let records: Vec<_> = arms.iter().map(|a| record(a, 0, truth(a))).collect();
    findings(arms, &summarise(arms, &records), &records)
}

fn text<'a>(found: &'a [Finding], heading: &str) -> &'a str {
    found.iter().find(|f| f.heading == heading).map_or("", |f| f.text.as_str())
}

#[test]
fn the_two_by_two_shows_that_protection_decides_and_kind_does_not() {
    let arms = [
        arm("over/file-r", |_| {}),
        arm("over/file-rw", rw),
        arm("over/anon-r", anon),
        arm("over/anon-rw", |a| {
            anon(a);
            rw(a)
        }),
        arm("under/file-r", under),
    ];
    let found = told(&arms);
    let decides = text(&found, "Decides");
    assert!(decides.contains("source protection r → rw (2 pairs)"), "{decides}");
    assert!(decides.contains("kernels 174 → 173 (1 pair)"), "{decides}");
    assert!(!decides.contains("source kind"), "{decides}");
    assert!(text(&found, "Does not matter").contains("source kind file → anon (1 pair)"), "{found:?}");
    assert_eq!(text(&found, "Confounded"), "");
}

#[test]
fn the_seeds_own_arms_leave_kind_and_protection_confounded() {
    let arms = [
        arm("over/file", |_| {}),
        arm("over/anon", |a| {
            anon(a);
            rw(a)
        }),
        arm("under/file", under),
        arm("under/anon", |a| {
            under(a);
            anon(a);
            rw(a)
        }),
    ];
    let found = told(&arms);
    let confounded = text(&found, "Confounded");
    assert!(
        confounded.contains(
            "source kind and source protection were never varied apart (anon with rw, file with r)"
        ),
        "{confounded}"
    );
    assert!(!text(&found, "Decides").contains("source"), "{found:?}");
}

#[test]
fn threshold_names_the_nearest_sums_on_either_side() {
    let arms = [
        arm("a", |_| {}),
        arm("b", under),
        arm("c", |a| a.variant.kernels = 300),
        arm("d", |a| a.variant.kernels = 16),
    ];
    let found = told(&arms);
    let t = text(&found, "Threshold");
    assert!(t.contains("16,238,247,936 B of private memory in one module (a)"), "{t}");
    assert!(t.contains("16,144,924,672 B (b) do not"), "{t}");
    assert!(t.contains("On that path 2 corrupt and 0 clean; off it 0 corrupt and 2 clean"), "{t}");
    // Numbers are compared with their neighbours only: not 16 with 300.
    let d = text(&found, "Decides");
    assert!(d.contains("kernels 174 → 173") && !d.contains("300 → 16"), "{d}");
}

#[test]
fn one_sided_matrix_says_that_the_other_side_was_not_tried() {
    let found = told(&[arm("a", |_| {}), arm("b", rw)]);
    assert!(text(&found, "Threshold").contains("the other side was not tried"), "{found:?}");
}

#[test]
fn key_sets_are_compared_with_no_keys_and_cold_cache_does_not_matter() {
    let key = |name: &'static str| move |a: &mut Arm| drop(a.keys.keys.insert(name.into(), "2".into()));
    let arms = [
        arm("ref", |_| {}),
        arm("resident", key("MakeEachAllocationResident")),
        arm("other", key("DisableScratchPages")),
        arm("cold", |a| a.source.page_cache = PageCache::Cold),
    ];
    let found = told(&arms);
    assert!(
        text(&found, "Decides").contains("debug keys none → MakeEachAllocationResident=2 (1 pair)"),
        "{found:?}"
    );
    let not = text(&found, "Does not matter");
    assert!(not.contains("debug keys none → DisableScratchPages=2") && not.contains("page cache"), "{not}");
}

#[test]
fn cause_counts_lost_surfaces_and_failed_binds_are_harmless_alone() {
    let found = told(&[arm("a", |_| {}), arm("b", under)]);
    let cause = text(&found, "Cause");
    assert!(
        cause.contains("93,323,264 B") && cause.contains("in 1 of 1 corrupt arms and in 0 of 1 clean"),
        "{cause}"
    );
    assert!(cause.contains("1 clean arms lost it and bound it again"), "{cause}");
    assert!(text(&found, "Failed binds").contains("harmless alone"), "{found:?}");
}

#[test]
fn what_is_not_known_is_said() {
    let control = arm("control", |a| {
        under(a);
        a.positive_control = true
    });
    let lost = arm("lost", rw);
    let records = vec![
        record(&control, 0, false),
        with(&lost, 0, Verdict::Untestable { reason: "zeInit failed".into() }, Default::default()),
    ];
    let arms = [control, lost];
    let found = findings(&arms, &summarise(&arms, &records), &records);
    assert!(text(&found, "Control").contains("proves little"), "{found:?}");
    assert!(text(&found, "No verdict").contains("lost (untestable: zeInit failed)"), "{found:?}");
    assert!(text(&found, "Not shown").starts_with("silicon."), "{found:?}");
    assert!(text(&found, "Not shown").contains("rest on what was bound"), "{found:?}");
    // An arm without a verdict takes part in no comparison.
    assert_eq!(text(&found, "Clean either way"), "");
}

#[test]
fn the_same_experiment_with_two_verdicts_is_reported() {
    let arms = [arm("a", |_| {}), arm("b", |_| {})];
    let records = vec![record(&arms[0], 0, true), record(&arms[1], 0, false)];
    let found = findings(&arms, &summarise(&arms, &records), &records);
    assert!(text(&found, "Same point").contains("a and b"), "{found:?}");
}

#[test]
fn an_empty_matrix_states_nothing() {
    assert_eq!(findings(&[], &[], &[]), vec![]);
    assert_eq!(grouped(16_238_247_936), "16,238,247,936");
    assert_eq!((grouped(0), grouped(999), grouped(1000)), ("0".into(), "999".into(), "1,000".into()));
}
