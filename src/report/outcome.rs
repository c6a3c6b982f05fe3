//! What the whole matrix run amounts to: its exit code.

use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::results::manifest::LeftOut;

use super::aggregate::{ArmSummary, Expected};

/// The exit code of a matrix run that was not interrupted.
pub fn exit(arms: &[Arm], summaries: &[ArmSummary], left_out: &[LeftOut]) -> Exit {
    let any = |test: &dyn Fn(&ArmSummary) -> bool| summaries.iter().any(test);
    let build_failed = |s: &ArmSummary| {
        s.verdict.word == "build-failed" && !matches!(s.as_expected, Some(Expected::Met | Expected::MetSoFar))
    };
    if any(&|s| s.as_expected == Some(Expected::Unmet) && !build_failed(s)) {
        return Exit::Unexpected;
    }
    if any(&build_failed) {
        return Exit::BuildFailed;
    }
    let control_failed =
        arms.iter().zip(summaries).any(|(arm, s)| arm.positive_control && s.count("corrupt") == 0);
    // An arm that is expected to be untestable, and is, is as expected.
    let no_verdict = |s: &ArmSummary| {
        s.lacks_runs()
            || matches!(s.as_expected, Some(Expected::NoVerdict | Expected::NotMeasured))
            || (s.as_expected.is_none() && s.inconclusive() > 0)
    };
    // A fix makes the control clean: that is an improvement, not a failed control.
    let improved = any(&|s| s.as_expected == Some(Expected::Improved));
    let unanswered = left_out.iter().any(|out| out.unanswered);
    if any(&no_verdict) || unanswered || (control_failed && !improved) {
        return Exit::Inconclusive;
    }
    if improved { Exit::OnlyImprovements } else { Exit::AsExpected }
}
