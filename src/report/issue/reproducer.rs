//! The form's fields about the program that shows the fault: they depend on the arm's front end.

use crate::model::arm::{Arm, FrontEnd};
use crate::model::outcome::RunRecord;
use crate::report::{by_hand, text};

use super::{Case, field};

pub(super) fn fields(out: &mut String, case: &Case<'_>) {
    let shows = |record: &&RunRecord| record.verdict.word() == case.summary.verdict.word;
    let record = case.section.runs_of(&case.arm.id).map(|(record, _)| record).find(shows);
    field(out, "Source Code / Reproducer", &source(case));
    field(out, "Command Line / Application Details", &command_line(case.arm, record));
    field(out, "oneAPI Version (if applicable)", &one_api(case.arm, record));
}

/// What the program does, in words.
pub(super) fn steps(front_end: FrontEnd) -> &'static str {
    match front_end {
        FrontEnd::LevelZero | FrontEnd::Sycl => {
            "\nThe reproducer's steps: load the module; run one kernel and a control kernel without private memory and compare \
             every element with the host; copy host memory to one device allocation; run both kernels again into buffers filled \
             with a sentinel and compare.\n"
        }
        FrontEnd::Command => {
            "\nThe program is the matrix's own command; the matrix's rules read the verdict out of its output. ✎ Say what it does.\n"
        }
    }
}

/// What fetches the runtime of a SYCL arm.
pub(super) fn runtime(arm: &Arm) -> String {
    match (arm.variant.front_end, arm.runtime.as_deref()) {
        (FrontEnd::Sycl, Some("icpx")) => "# icpx must be in PATH, or named by `run --compiler`\n".to_owned(),
        (FrontEnd::Sycl, None | Some("default")) => "repro-matrix toolchains fetch sycl\n".to_owned(),
        (FrontEnd::Sycl, Some(version)) => format!("repro-matrix toolchains fetch sycl={version}\n"),
        (FrontEnd::LevelZero | FrontEnd::Command, _) => String::new(),
    }
}

fn source(case: &Case<'_>) -> String {
    let name = &case.section.key.matrix;
    let mut out = match case.arm.variant.front_end {
        FrontEnd::LevelZero => {
            "The reproducer is the verb `level-zero` of repro-matrix; its kernels are generated from one OpenCL C template \
             (`repro-kernels/level-zero/private.cl`).\n\n"
        }
        FrontEnd::Sycl => "The reproducer is one SYCL file of repro-matrix, `repro-kernels/sycl/private.cpp`.\n\n",
        FrontEnd::Command => "✎ Attach the program: it is not part of repro-matrix.\n\n",
    }
    .to_owned();
    match &case.section.matrix_text {
        Some(matrix) => {
            out += &text::folded(&format!("{name}.toml: the experiment"), &text::fence("toml", matrix))
        }
        None => {
            out += &format!(
                "✎ Attach {name}.toml: the results do not hold its text (SHA-256 {}).\n",
                case.section.key.matrix_sha256
            );
        }
    }
    out
}

fn command_line(arm: &Arm, record: Option<&RunRecord>) -> String {
    match record.and_then(|record| by_hand::script(arm, record)) {
        Some(script) => format!(
            "One run of `{}` by hand, with no harness around it (the driver build and what was compiled are where the steps \
             above put them). Exit status 1 = wrong elements.\n\n{}",
            arm.id,
            text::fence("sh", &script)
        ),
        None => "The run was never started: there is no command line.\n".into(),
    }
}

fn one_api(arm: &Arm, record: Option<&RunRecord>) -> String {
    match arm.variant.front_end {
        FrontEnd::LevelZero => {
            "Not used: the reproducer calls Level Zero itself, its kernels are OpenCL C compiled by ocloc of \
                                the driver build above.\n"
                .to_owned()
        }
        // As the program names it: "icpx …", or DPC++'s run-time compiler with the runtime's version.
        FrontEnd::Sycl => match record.and_then(|record| record.repro.as_ref()) {
            Some(result) if !result.front_end.is_empty() => format!("{}\n", result.front_end),
            Some(_) | None => "✎ The run gave no result that names the compiler.\n".to_owned(),
        },
        FrontEnd::Command => "✎ That of the program, if it uses oneAPI.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_draft_speaks_of_the_front_end_that_was_used() {
        let arm = |front_end, runtime: Option<&str>| {
            fixture::arm("a", |arm| {
                arm.variant.front_end = front_end;
                arm.runtime = runtime.map(str::to_owned);
            })
        };
        let sycl = arm(FrontEnd::Sycl, Some("2026.2.0"));
        let mut record = fixture::record(&sycl, 0, true);
        let built_by = "DPC++ run-time compiler (intel-sycl-rt 2026.2.0) + g++ 12.2.0";
        record.repro.as_mut().unwrap().front_end = built_by.to_owned();
        assert_eq!(one_api(&sycl, Some(&record)), format!("{built_by}\n"));
        assert!(one_api(&sycl, None).contains('✎'));
        assert_eq!(runtime(&sycl), "repro-matrix toolchains fetch sycl=2026.2.0\n");
        assert_eq!(runtime(&arm(FrontEnd::Sycl, Some("default"))), "repro-matrix toolchains fetch sycl\n");
        assert!(runtime(&arm(FrontEnd::Sycl, Some("icpx"))).starts_with("# icpx"));
        let level_zero = arm(FrontEnd::LevelZero, None);
        assert!(one_api(&level_zero, Some(&record)).contains("Not used"));
        assert_eq!(runtime(&level_zero), "");
        // What a command is, nobody but its author can say.
        let command = arm(FrontEnd::Command, None);
        assert!(one_api(&command, Some(&record)).contains('✎') && steps(FrontEnd::Command).contains('✎'));
        assert_eq!(command_line(&command, None), "The run was never started: there is no command line.\n");
    }
}
