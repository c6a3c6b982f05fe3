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
    findings(arms, &summarise(arms, &records), &records, &[])
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
    assert!(text(&found, "Does not matter").contains("source kind file/anon (1 pair)"), "{found:?}");
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
        confounded.contains("not shown: source kind and source protection (anon with rw, file with r)"),
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
    assert!(
        t.contains(
            "16,238,247,936 B (15.12 GiB) of private memory in one module put it on the per-dispatch path (a)"
        ),
        "{t}"
    );
    assert!(t.contains("16,144,924,672 B (15.04 GiB) do not (b)"), "{t}");
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
    assert!(not.contains("debug keys none/DisableScratchPages=2") && not.contains("page cache"), "{not}");
}

#[test]
fn cause_counts_lost_surfaces_and_failed_binds_are_harmless_alone() {
    let found = told(&[arm("a", |_| {}), arm("b", under)]);
    let cause = text(&found, "Cause");
    assert!(
        cause.contains("93,323,264 B") && cause.contains("in 1 of 1 corrupt arms and in 0 of 1 clean"),
        "{cause}"
    );
    assert!(cause.contains("1 clean arm lost it and bound it again"), "{cause}");
    assert!(text(&found, "Failed binds").contains("harmless alone"), "{found:?}");
}

#[test]
fn failed_binds_on_one_side_only_allow_no_conclusion() {
    let clean = text(&told(&[arm("b", under)]), "Failed binds").to_owned();
    assert!(clean.contains("in 0 of 0 corrupt arms and in 1 of 1 clean ones"), "{clean}");
    assert!(
        clean.ends_with("no arm is corrupt, so whether the corruption needs them is not shown."),
        "{clean}"
    );
    let corrupt = text(&told(&[arm("a", |_| {})]), "Failed binds").to_owned();
    assert!(corrupt.contains("in 1 of 1 corrupt arms and in 0 of 0 clean ones"), "{corrupt}");
    assert!(
        corrupt.ends_with("no arm is clean, so whether they go with the corruption is not shown."),
        "{corrupt}"
    );
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
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
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
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
    assert!(text(&found, "Same point").contains("a and b"), "{found:?}");
}

#[test]
fn an_empty_matrix_states_nothing() {
    assert_eq!(findings(&[], &[], &[], &[]), vec![]);
}

#[test]
fn a_pair_of_values_is_told_once_and_sizes_as_sizes() {
    let ballast = |gib: u64| move |a: &mut Arm| a.workload.ballast = gib << 30;
    let under_with = |gib: u64| {
        move |a: &mut Arm| {
            under(a);
            ballast(gib)(a);
        }
    };
    // The arm with ballast comes first here and last there: the order of the file must not matter.
    let arms = [
        arm("over/4", ballast(4)),
        arm("over", |_| {}),
        arm("under", under),
        arm("under/4", under_with(4)),
        arm("under/4/again", under_with(4)),
    ];
    let found = told(&arms);
    assert!(text(&found, "Does not matter").contains("ballast 0 B/4 GiB (1 pair)"), "{found:?}");
    let all: String = found.iter().map(|f| f.text.as_str()).collect();
    assert_eq!(all.matches("ballast").count(), 1, "{found:?}");
}

#[test]
fn a_change_that_flips_both_ways_is_told_with_its_sides() {
    // Corrupt over with r and under with rw: protection flips the verdict either way.
    let arms = [
        arm("a", |_| {}),
        arm("b", rw),
        arm("c", under),
        arm("d", |a| {
            under(a);
            rw(a);
        }),
    ];
    let corrupt = [true, false, false, true];
    let records: Vec<_> = arms.iter().zip(corrupt).map(|(a, bad)| record(a, 0, bad)).collect();
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
    let depends = text(&found, "Depends");
    assert!(
        depends.contains("source protection r/rw (corrupt at r only in 1, corrupt at rw only in 1)"),
        "{found:?}"
    );
    assert_eq!(text(&found, "Decides"), "");
}

#[test]
fn the_same_arm_under_another_instrument_is_no_second_pair() {
    let arms = [arm("over", |_| {}), arm("strace/over", |_| {}), arm("under", under)];
    assert!(text(&told(&arms), "Decides").contains("kernels 174 → 173 (1 pair)"), "{:?}", told(&arms));
}

#[test]
fn a_long_key_set_is_named_by_its_first_key() {
    let keys = |a: &mut Arm| {
        for key in ["A", "B", "C"] {
            a.keys.keys.insert(key.to_owned(), "1".to_owned());
        }
    };
    let found = told(&[arm("a", |_| {}), arm("b", keys)]);
    assert!(text(&found, "Does not matter").contains("debug keys none/A=1 and 2 more (1 pair)"), "{found:?}");
}

#[test]
fn runs_that_came_to_nothing_are_no_agreement() {
    let control = |a: &mut Arm| a.positive_control = true;
    let arms = [arm("over/file-r", control), arm("under/file-r", under)];
    let failed = |a: &Arm| {
        let verdict = Verdict::HarnessError { reason: "exit code 2".into() };
        with(a, 0, verdict, crate::model::facts::Facts::default())
    };
    let records = vec![failed(&arms[0]), failed(&arms[1])];
    assert_eq!(text(&findings(&arms, &summarise(&arms, &records), &records, &[]), "Instruments"), "");
    let records = vec![record(&arms[0], 0, true), failed(&arms[1])];
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
    assert!(text(&found, "Instruments").starts_with("in 1 run no fact has two instruments"), "{found:?}");
    let found = findings(&arms, &summarise(&arms, &[]), &[], &[]);
    assert!(text(&found, "Control").contains("has not run"), "{found:?}");
}

#[test]
fn what_ended_arms_early_is_told_once() {
    let arms = [arm("over/file-r", |_| {}), arm("under/file-r", under), arm("over/file-rw", rw)];
    let failed = |a: &Arm| {
        let verdict = Verdict::BuildFailed { what: "zeModuleCreate failed\nand more".into() };
        with(a, 0, verdict, crate::model::facts::Facts::default())
    };
    let records = vec![failed(&arms[0]), failed(&arms[1]), record(&arms[2], 0, false)];
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
    assert_eq!(
        text(&found, "Ended early"),
        "over/file-r, under/file-r (build-failed: zeModuleCreate failed)."
    );
}

#[test]
fn two_names_of_one_driver_build_and_device_are_no_change() {
    let arms = [
        arm("a", |a| (a.driver, a.device) = ("default".into(), "auto".into())),
        arm("b", |a| (a.driver, a.device) = ("debian-26".into(), "auto".into())),
        arm("c", |a| (a.driver, a.device) = ("debian-26".into(), "sim:a770".into())),
        arm("d", |a| (a.driver, a.device) = ("patched".into(), "sim:a770".into())),
    ];
    let mut records: Vec<_> = arms.iter().map(|a| record(a, 0, a.id != "b")).collect();
    records[3].driver = "another build".into();
    let found = findings(&arms, &summarise(&arms, &records), &records, &[]);
    assert_eq!(text(&found, "Same point"), "the same experiment gave different verdicts: a and b; b and c.");
    // Of the other build it is one.
    assert_eq!(
        text(&found, "Depends"),
        "flips the verdict in some places only: driver debian-26/patched (corrupt at patched only in 1, corrupt at both in 1)."
    );
    let others =
        ["Decides", "Does not matter", "Clean either way", "Confounded"].map(|other| text(&found, other));
    assert_eq!(others, [""; 4]);
}
