//! `--format junit`: one test case per arm. One faulty run where clean was expected is a failure, however many clean
//! ones there are; they are listed beside it.

use std::collections::BTreeSet;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Junit, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::model::outcome::RunRecord;

use super::aggregate::{ArmSummary, Expected};
use super::section::{Report, Section};
use super::words::plural;

pub fn render(report: &Report) -> Result<String, quick_junit::SerializeError> {
    let mut junit = Junit::new("repro-matrix");
    for section in &report.sections {
        let several = report.sections.iter().filter(|s| s.key.matrix == section.key.matrix).count() > 1;
        junit.add_test_suite(suite(section, several));
    }
    if !report.problems.is_empty() {
        // Results that cannot be read are no pass.
        let mut suite = TestSuite::new("results");
        for problem in &report.problems {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(problem.what.clone());
            status.set_type("unreadable");
            suite.add_test_case(TestCase::new(problem.to_string(), status));
        }
        junit.add_test_suite(suite);
    }
    junit.to_string()
}

fn suite(section: &Section, several: bool) -> TestSuite {
    let name = match several {
        true => format!("{} on {} ({})", section.key.matrix, section.device_line(), section.key.machine),
        false => format!("{} on {}", section.key.matrix, section.device_line()),
    };
    let mut suite = TestSuite::new(name);
    suite.add_property(("device", section.device_line().as_str()));
    suite.add_property(("machine", section.key.machine.as_str()));
    suite.add_property(("driver", section.driver_line().as_str()));
    for lacking in not_observed(section) {
        suite.add_property(("not observed", lacking.as_str()));
    }
    suite.add_property(("seed", section.seed.to_string().as_str()));
    for summary in &section.summaries {
        let runs: Vec<&RunRecord> = section.runs_of(&summary.id).map(|(record, _)| record).collect();
        let mut case = TestCase::new(summary.id.clone(), status(summary));
        case.set_classname(section.key.matrix.clone());
        let seconds: f64 = runs.iter().map(|record| record.wall_seconds).sum();
        case.set_time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let cut = match summary.runs < summary.planned {
            true => format!("{} of {}\n", summary.runs, plural(summary.planned, "planned run")),
            false => String::new(),
        };
        let told = runs.iter().map(|record| told(record)).collect::<String>();
        case.set_system_out(XmlString::new(cut + &told));
        suite.add_test_case(case);
    }
    // Without these, a pass of the rest would read as a pass of the whole.
    for out in section.not_here() {
        // An expectation without an answer is no pass, and the run's exit code says so too.
        let mut status = match out.unanswered {
            true => TestCaseStatus::non_success(NonSuccessKind::Error),
            false => TestCaseStatus::skipped(),
        };
        status.set_type("not-here").set_message(out.reason.clone());
        let mut case = TestCase::new(out.arm.clone(), status);
        case.set_classname(section.key.matrix.clone());
        suite.add_test_case(case);
    }
    suite
}

/// Each once: in the results of a run they are those of every arm.
fn not_observed(section: &Section) -> BTreeSet<String> {
    section.arms.iter().flat_map(|arm| &arm.not_observed).map(ToString::to_string).collect()
}

/// What an arm is to a test report. Without an expectation, any fault is a failure: nobody said that it is known.
fn status(arm: &ArmSummary) -> TestCaseStatus {
    let not = |kind, what: &str, message: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(what).set_message(message);
        status
    };
    let of = format!("{} ({} of {} planned runs)", arm.verdict, arm.runs, arm.planned);
    match (arm.as_expected, arm.runs) {
        // Interrupted, or out of time: no pass, and not left out by anyone's choice either.
        (_, 0) => not(NonSuccessKind::Error, "incomplete", "not run".to_owned()),
        (Some(Expected::Met) | None, _) if arm.lacks_runs() && !faulty(arm) => {
            not(NonSuccessKind::Error, "incomplete", of)
        }
        (Some(Expected::Met | Expected::MetSoFar), _) => TestCaseStatus::success(),
        (Some(Expected::Improved), _) if arm.out_of_time() => {
            not(NonSuccessKind::Failure, "improvement", format!("{of}: a known fault is gone so far"))
        }
        (Some(Expected::Improved), _) => not(
            NonSuccessKind::Failure,
            "improvement",
            format!("{of}: a known fault is gone; update the expectation"),
        ),
        (Some(Expected::Unmet), _) => {
            let mut unmet = arm.unmet.clone();
            unmet.dedup();
            not(NonSuccessKind::Failure, arm.verdict.word, format!("{of}: {}", unmet.join("; ")))
        }
        (Some(Expected::NotMeasured), _) => {
            not(NonSuccessKind::Error, "not-measured", format!("{of}: {}", arm.not_measured.join("; ")))
        }
        (Some(Expected::NoVerdict), _) => not(NonSuccessKind::Error, arm.verdict.word, reason(arm, &of)),
        (None, _) if arm.verdict.word == "clean" => TestCaseStatus::success(),
        (None, _) if arm.conclusive() => {
            not(NonSuccessKind::Failure, arm.verdict.word, format!("{of}; nothing was expected"))
        }
        (None, _) => not(NonSuccessKind::Error, arm.verdict.word, reason(arm, &of)),
    }
}

/// A fault stands, however many runs are missing.
fn faulty(arm: &ArmSummary) -> bool {
    arm.conclusive() && arm.verdict.word != "clean"
}

fn reason(arm: &ArmSummary, of: &str) -> String {
    match &arm.reason {
        Some(reason) => format!("{of}: {reason}"),
        None => of.to_owned(),
    }
}

fn told(record: &RunRecord) -> String {
    let mut out = format!("#{} {} {:.1} s", record.repeat, record.verdict.word(), record.wall_seconds);
    if record.as_expected == Some(false) {
        out += &format!(" NOT AS EXPECTED: {}", record.unmet.join("; "));
    }
    for evidence in &record.evidence {
        out += &format!("\n   {}: {}", evidence.instrument, evidence.says);
    }
    out + "\n"
}
