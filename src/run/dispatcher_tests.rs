//! The dispatcher with a lab that runs nothing: order, lanes, builds, stops.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::model::facts::Facts;
use crate::model::verdict::{Basis, Verdict};

struct Toy {
    /// Build key → milliseconds; negative = fails.
    build_ms: fn(&str) -> i64,
    run_ms: u64,
    capacity: usize,
    now: AtomicUsize,
    peak: AtomicUsize,
    panic_at: Option<&'static str>,
    build_says: &'static str,
    cannot_keep: Option<&'static str>,
}

impl Default for Toy {
    fn default() -> Self {
        Toy {
            build_ms: |_| 0,
            run_ms: 1,
            capacity: 8,
            now: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            panic_at: None,
            build_says: "toy",
            cannot_keep: None,
        }
    }
}

fn record(arm: &Arm, repeat: u32, end: RunEnd, verdict: Verdict) -> RunRecord {
    RunRecord {
        version: 1,
        arm: arm.id.clone(),
        repeat,
        started: String::new(),
        wall_seconds: 0.0,
        device: "sim:a770".into(),
        driver: String::new(),
        command: vec![],
        environment: vec![],
        end,
        verdict,
        evidence: vec![],
        compared: None,
        disagreements: vec![],
        signature: String::new(),
        as_expected: None,
        unmet: vec![],
        not_measured: vec![],
        repro: None,
        facts: Facts::default(),
        source: None,
        logs: vec![],
    }
}

impl Lab for Toy {
    type Built = ();

    fn build_key(&self, arm: &Arm) -> String {
        arm.variant.name.clone()
    }

    fn build(&self, arm: &Arm) -> Result<Built<()>, BuildFailure> {
        let ms = (self.build_ms)(&arm.variant.name);
        std::thread::sleep(Duration::from_millis(ms.unsigned_abs()));
        if ms < 0 {
            Err(BuildFailure { what: self.build_says.into() })
        } else {
            Ok(Built { value: (), cached: false, records: Vec::new() })
        }
    }

    fn lane(&self, _arm: &Arm) -> Lane {
        Lane { name: "toy".into(), capacity: self.capacity }
    }

    fn run(&self, arm: &Arm, repeat: u32, (): &(), cancel: &Cancel) -> Result<RunRecord, CannotKeep> {
        assert_ne!(Some(arm.id.as_str()), self.panic_at, "asked to panic");
        if Some(arm.id.as_str()) == self.cannot_keep {
            return Err(CannotKeep("full".into()));
        }
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(self.run_ms));
        self.now.fetch_sub(1, Ordering::SeqCst);
        let end = if cancel.asked() { RunEnd::Interrupted } else { RunEnd::Exited { code: 0 } };
        Ok(record(arm, repeat, end, Verdict::Clean { basis: Basis::Data }))
    }

    fn not_built(&self, arm: &Arm, repeat: u32, failure: &BuildFailure) -> RunRecord {
        let end = RunEnd::SpawnFailed { errno: 0, what: String::new() };
        record(arm, repeat, end, Verdict::BuildFailed { what: failure.what.clone() })
    }
}

fn arm(id: &str, variant: &str, comparison: Option<&str>) -> Arm {
    let mut arm = crate::judge::fixture::arm();
    arm.id = id.into();
    arm.variant.name = variant.into();
    arm.comparison = comparison.map(Into::into);
    arm
}

/// Runs every arm once, in order, and returns the events as short texts.
fn events(arms: &[Arm], jobs: usize, lab: &Toy) -> (Vec<String>, End<String>) {
    let cells: Vec<Cell> = (0..arms.len()).map(|arm| Cell { arm, repeat: 0 }).collect();
    let cancel = Cancel::new().unwrap();
    let mut seen = Vec::new();
    let end =
        dispatch(Schedule { arms, cells: &cells, jobs, build_jobs: 2, until: None }, lab, &cancel, |event| {
            seen.push(match event {
                Event::RunStarted { arm, .. } => format!("start {arm}"),
                Event::RunFinished { record } => format!("end {} {}", record.arm, record.verdict.word()),
                Event::BuildFinished { name, error, .. } => format!("built {name} {}", error.is_none()),
                Event::Planned { .. }
                | Event::BuildStarted { .. }
                | Event::RunStopped { .. }
                | Event::Stopping => {
                    return Ok(());
                }
            });
            Ok(())
        });
    (seen, end)
}

fn starts(seen: &[String]) -> Vec<&str> {
    seen.iter().filter_map(|e| e.strip_prefix("start ")).collect()
}

#[test]
fn one_job_keeps_the_planned_order() {
    let arms = [arm("a", "v", None), arm("b", "v", None), arm("c", "v", None)];
    let (seen, end) = events(&arms, 1, &Toy::default());
    assert!(matches!(end, End::Complete));
    assert_eq!(starts(&seen), ["a", "b", "c"]);
}

#[test]
fn ready_arms_do_not_wait_for_a_slow_build_but_a_comparison_keeps_its_order() {
    let lab = Toy { build_ms: |v| if v == "slow" { 150 } else { 0 }, ..Toy::default() };
    let arms = [
        arm("a", "slow", Some("x")),
        arm("b", "fast", Some("x")),
        arm("c", "fast", None),
        arm("d", "fast", Some("y")),
    ];
    let (seen, end) = events(&arms, 1, &lab);
    assert!(matches!(end, End::Complete));
    assert_eq!(starts(&seen), ["c", "d", "a", "b"]);
}

#[test]
fn jobs_and_lanes_bound_what_runs_side_by_side() {
    let arms: Vec<Arm> = (0..12).map(|n| arm(&n.to_string(), "v", None)).collect();
    for (jobs, capacity, most) in [(4, 8, 4), (4, 2, 2), (1, 8, 1)] {
        let lab = Toy { run_ms: 20, capacity, ..Toy::default() };
        let (_, end) = events(&arms, jobs, &lab);
        assert!(matches!(end, End::Complete));
        assert_eq!(lab.peak.load(Ordering::SeqCst), most, "jobs {jobs}, lane {capacity}");
    }
}

#[test]
fn a_failed_build_gives_each_of_its_arms_a_record() {
    let lab = Toy { build_ms: |v| if v == "bad" { -1 } else { 0 }, ..Toy::default() };
    let arms = [arm("a", "bad", None), arm("b", "good", None), arm("c", "bad", None)];
    let (seen, end) = events(&arms, 2, &lab);
    assert!(matches!(end, End::Complete));
    assert!(seen.contains(&"built bad false".to_owned()));
    for wanted in ["end a build-failed", "end b clean", "end c build-failed"] {
        assert!(seen.contains(&wanted.to_owned()), "{seen:?}");
    }
}

#[test]
fn a_reader_that_fails_stops_everything() {
    let arms: Vec<Arm> = (0..50).map(|n| arm(&n.to_string(), "v", None)).collect();
    let cells: Vec<Cell> = (0..50).map(|arm| Cell { arm, repeat: 0 }).collect();
    let cancel = Cancel::new().unwrap();
    let mut stored = 0;
    let lab = Toy::default();
    let end = dispatch(
        Schedule { arms: &arms, cells: &cells, jobs: 2, build_jobs: 1, until: None },
        &lab,
        &cancel,
        |event| {
            if let Event::RunFinished { .. } = event {
                if stored == 3 {
                    return Err("disk full");
                }
                stored += 1;
            }
            Ok(())
        },
    );
    let End::SinkFailed { error: "disk full", missing } = end else { panic!("{end:?}") };
    assert_eq!(missing, 47);
}

#[test]
fn evidence_that_cannot_be_kept_stops_everything_without_a_record() {
    let lab = Toy { cannot_keep: Some("b"), ..Toy::default() };
    let (seen, end) = events(&[arm("a", "v", None), arm("b", "v", None), arm("c", "v", None)], 1, &lab);
    assert!(matches!(end, End::CannotKeep { missing: 2, .. }), "{end:?}");
    assert!(!seen.iter().any(|e| e.starts_with("end b") || e.starts_with("start c")), "{seen:?}");
}

#[test]
fn a_panic_in_a_worker_is_reported_and_does_not_hang() {
    let lab = Toy { panic_at: Some("b"), ..Toy::default() };
    let (_, end) = events(&[arm("a", "v", None), arm("b", "v", None), arm("c", "v", None)], 1, &lab);
    let End::Panicked { what } = end else { panic!("{end:?}") };
    assert!(what.contains("asked to panic"), "{what}");
}

#[test]
fn a_build_that_had_no_room_is_not_recorded() {
    let full = "v: ld: final link failed: No space left on device";
    let lab = Toy { build_ms: |_| -1, build_says: full, ..Toy::default() };
    let (seen, end) = events(&[arm("a", "v", None), arm("b", "v", None)], 1, &lab);
    let End::CannotKeep { what, missing } = end else { panic!("{end:?}") };
    assert_eq!((what.0.as_str(), missing), (full, 2));
    assert!(starts(&seen).is_empty() && !seen.iter().any(|line| line.starts_with("end ")), "{seen:?}");
}

#[test]
fn interrupted_runs_are_missing() {
    let arms: Vec<Arm> = (0..10).map(|n| arm(&n.to_string(), "v", None)).collect();
    let cells: Vec<Cell> = (0..10).map(|arm| Cell { arm, repeat: 0 }).collect();
    let cancel = Cancel::new().unwrap();
    let lab = Toy { run_ms: 30, ..Toy::default() };
    let mut finished = 0;
    let end = dispatch(
        Schedule { arms: &arms, cells: &cells, jobs: 1, build_jobs: 1, until: None },
        &lab,
        &cancel,
        |event| {
            if let Event::RunFinished { .. } = event {
                finished += 1;
                if finished == 2 {
                    cancel.ask();
                }
            }
            Ok::<(), ()>(())
        },
    );
    assert!(matches!(end, End::Interrupted { missing: 8 }), "{end:?}");
}
