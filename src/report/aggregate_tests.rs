use std::time::Duration;

use super::*;
use crate::exit::Exit;
use crate::model::arm::{Expectation, ExpectedVerdict};
use crate::report::fixture::{arm, record, with};
use crate::report::outcome;

fn expecting(id: &str, verdict: ExpectedVerdict) -> Arm {
    arm(id, |a| {
        a.repeats = 3;
        a.expect = Some(Expectation {
            verdict,
            wrong: None,
            untouched: None,
            per_dispatch: None,
            hazard: None,
            reason: None,
            tracker: None,
        });
    })
}

fn exit_of(arm: &Arm, records: &[RunRecord]) -> (Option<Expected>, Exit) {
    let arms = std::slice::from_ref(arm);
    let summaries = summarise(arms, records);
    (summaries[0].as_expected, outcome::exit(arms, &summaries, &[]))
}

#[test]
fn one_corrupt_run_makes_the_arm_corrupt() {
    let arm = expecting("a", ExpectedVerdict::Corrupt);
    let records: Vec<_> = (0..3).map(|n| record(&arm, n, n == 1)).collect();
    let summary = &summarise(std::slice::from_ref(&arm), &records)[0];
    assert_eq!(summary.verdict.to_string(), "corrupt 1/3");
    assert_eq!(summary.history.as_deref(), Some("bind unbind ─"));
    assert_eq!((summary.eperm, summary.surface_bytes), (Some(24), Some(93_323_264)));
    assert_eq!((summary.wrong, summary.basis), (None, Some(Basis::Residency)));
    // Sometimes clean is not an improvement.
    assert_eq!(exit_of(&arm, &records), (Some(Expected::Unmet), Exit::Unexpected));
}

#[test]
fn expectations_become_exit_codes() {
    let runs = |arm: &Arm, corrupt| (0..3).map(|n| record(arm, n, corrupt)).collect::<Vec<_>>();
    let corrupt = expecting("a", ExpectedVerdict::Corrupt);
    let clean = expecting("a", ExpectedVerdict::Clean);
    assert_eq!(exit_of(&corrupt, &runs(&corrupt, true)), (Some(Expected::Met), Exit::AsExpected));
    assert_eq!(exit_of(&corrupt, &runs(&corrupt, false)), (Some(Expected::Improved), Exit::OnlyImprovements));
    assert_eq!(exit_of(&clean, &runs(&clean, true)), (Some(Expected::Unmet), Exit::Unexpected));
    assert_eq!(exit_of(&clean, &[]), (Some(Expected::NoVerdict), Exit::Inconclusive));
    // A missing repeat is not a pass.
    assert_eq!(exit_of(&clean, &runs(&clean, false)[..2]).1, Exit::Inconclusive);
    let lost: Vec<_> = (0..3)
        .map(|n| with(&clean, n, Verdict::HarnessError { reason: "x".into() }, Default::default()))
        .collect();
    assert_eq!(exit_of(&clean, &lost), (Some(Expected::NoVerdict), Exit::Inconclusive));
    let unbuilt: Vec<_> = (0..3)
        .map(|n| with(&clean, n, Verdict::BuildFailed { what: "x".into() }, Default::default()))
        .collect();
    assert_eq!(exit_of(&clean, &unbuilt).1, Exit::BuildFailed);
}

#[test]
fn a_positive_control_that_is_clean_is_inconclusive() {
    let control = arm("c", |a| a.positive_control = true);
    assert_eq!(exit_of(&control, &[record(&control, 0, true)]).1, Exit::AsExpected);
    assert_eq!(exit_of(&control, &[record(&control, 0, false)]).1, Exit::Inconclusive);
}

#[test]
fn median_of_even_and_odd() {
    assert_eq!(median(vec![]), 0.0);
    assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(vec![4.0, 1.0]), 2.5);
}

/// The surface of a module that was made after the copies is another range, of another size.
#[test]
fn the_late_modules_surface_is_told_too() {
    use crate::model::facts::{BindEvent, RangeHistory};
    use crate::model::repro::{KernelProperties, Phase};

    let arm = arm("late", |a| a.workload.late_module = true);
    let mut record = record(&arm, 0, true);
    let late = KernelProperties { private_mem_size: 25_472, ..KernelProperties::default() };
    record.repro.as_mut().unwrap().late_kernel = Some(late);
    let event = |bind, phase| BindEvent { bind, errno: 0, phase: Some(phase) };
    let range = RangeHistory {
        vm: 1,
        start: 0x1000_0000,
        size: 25_472 * 4096,
        events: vec![event(true, Phase::LateModule), event(false, Phase::CopiesAgain)],
    };
    record.facts.sim.as_mut().unwrap().ranges.push(range);
    let summary = &summarise(std::slice::from_ref(&arm), std::slice::from_ref(&record))[0];
    assert_eq!(summary.history.as_deref(), Some("bind unbind ─; late bind unbind ─"));
    // Without it nothing is said of it.
    record.repro.as_mut().unwrap().late_kernel = None;
    let summary = &summarise(std::slice::from_ref(&arm), &[record])[0];
    assert_eq!(summary.history.as_deref(), Some("bind unbind ─"));
}

#[test]
fn under_a_rule_the_interval_is_the_one_that_allows_looking_before_and_after_it_has_stopped_the_runs() {
    use crate::report::faulty::Faulty;
    use crate::stats::interval::clopper_pearson;
    let arms = [arm("a", |a| a.repeats = 500), arm("b", |a| a.repeats = 500)];
    let rule = StopRule { until_hits: Some(3), max_runs: Some(500), ..StopRule::default() };
    let mut records: Vec<_> = (0..6).map(|n| record(&arms[0], n, n % 2 == 0)).collect();
    records.extend((0..6).map(|n| record(&arms[1], n, n == 0)));
    let summaries = summarise_under(Some(&rule), false, &arms, &records);
    assert_eq!((summaries[0].stopped.as_deref(), summaries[0].planned), (Some("3 failures"), 6));
    assert_eq!((summaries[1].stopped.as_deref(), summaries[1].planned), (None, 500));
    for (summary, hits) in summaries.iter().zip([3, 1]) {
        let rate = Faulty::of(summary).interval().expect("runs");
        assert!(rate.width() > clopper_pearson(hits, 6, 0.95).width(), "{rate:?}");
    }
    // Without a rule the number of runs was fixed before.
    let fixed = &summarise_under(None, false, &arms, &records)[0];
    assert_eq!(Faulty::of(fixed).interval(), Some(clopper_pearson(3, 6, 0.95)));
}

#[test]
fn arms_lack_no_runs_once_the_time_is_over() {
    // Records start at 15:12:00 and take 0.2 s.
    let arms = [arm("a", |a| a.repeats = 500)];
    let records: Vec<_> = (0..6).map(|n| record(&arms[0], n, false)).collect();
    let rule = |seconds| StopRule {
        until_hits: Some(3),
        max_runs: Some(500),
        max_time: Some(Duration::from_secs(seconds)),
        ..StopRule::default()
    };
    let over = |out_of_time| time_over(&rule(60), out_of_time, &arms, &records);
    assert!(over(true) && !over(false), "an interrupted run lacks runs, however late they were");
    assert!(!time_over(&StopRule { max_time: None, ..rule(1) }, true, &arms, &records));
    let done = StopRule { until_hits: None, max_runs: Some(6), ..rule(60) };
    assert!(time_over(&done, false, &arms, &records), "nothing was left to be done");
    let summary = &summarise_under(Some(&rule(60)), true, &arms, &records)[0];
    assert_eq!(
        (summary.stopped.as_deref(), summary.planned),
        (Some("--max-time"), 500),
        "what was cut is told"
    );
    assert_eq!(outcome::exit(&arms, std::slice::from_ref(summary), &[]), Exit::AsExpected);
}
