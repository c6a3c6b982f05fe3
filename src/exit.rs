//! Exit codes of `repro-matrix`: one documented enum, one place that maps errors to it.

/// What the process's exit status says. Stable: scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything ran and every verdict was as expected (or nothing was expected).
    AsExpected = 0,
    /// A fault in repro-matrix itself.
    Internal = 1,
    /// The command line could not be understood.
    Usage = 2,
    /// The matrix file is not valid.
    InvalidMatrix = 3,
    /// The filters, or what this machine lacks, left no arm to run.
    NothingSelected = 4,
    /// At least one verdict differs from what the matrix expects.
    Unexpected = 10,
    /// The only differences are improvements: a known corruption is clean now.
    OnlyImprovements = 11,
    /// Some arm has no verdict (untestable, harness error, missing): not a pass.
    Inconclusive = 12,
    /// A search had nothing to look for: the failure did not appear where it was said to be.
    NotReproduced = 13,
    /// This machine cannot run the tool (kernel too old, no seccomp user notification…).
    HostUnusable = 20,
    /// A reproducer variant did not build.
    BuildFailed = 21,
    /// The driver build is missing, incomplete or does not load.
    DriverUnusable = 22,
    /// The simulated device refused something that the program needs.
    DeviceModel = 23,
    /// A results directory or recording has a format this build cannot read.
    IncompatibleRecording = 40,
    /// Results could not be written (disk full, permissions).
    CannotRecord = 41,
    /// `verdict` has no answer: what `git bisect run` takes for "skip this revision".
    Skip = 125,
    /// `verdict` could not run: `git bisect run` stops at a code above 127.
    NoVerdict = 129,
    /// Stopped by SIGINT or SIGTERM; `run --resume` goes on.
    Interrupted = 130,
}

impl Exit {
    pub const ALL: [Exit; 18] = [
        Exit::AsExpected,
        Exit::Internal,
        Exit::Usage,
        Exit::InvalidMatrix,
        Exit::NothingSelected,
        Exit::Unexpected,
        Exit::OnlyImprovements,
        Exit::Inconclusive,
        Exit::NotReproduced,
        Exit::HostUnusable,
        Exit::BuildFailed,
        Exit::DriverUnusable,
        Exit::DeviceModel,
        Exit::IncompatibleRecording,
        Exit::CannotRecord,
        Exit::Skip,
        Exit::NoVerdict,
        Exit::Interrupted,
    ];

    /// One line for the manual.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::AsExpected => "every verdict is as expected",
            Exit::Internal => "a fault in repro-matrix itself; verdict: corrupt",
            Exit::Usage => "the command line could not be understood",
            Exit::InvalidMatrix => "the matrix file is not valid",
            Exit::NothingSelected => "no arm is left to run, or nothing matched",
            Exit::Unexpected => "at least one verdict differs from the expected one",
            Exit::OnlyImprovements => "the only differences are improvements",
            Exit::Inconclusive => {
                "some arm has no verdict (untestable, harness error, missing) where one was expected"
            }
            Exit::NotReproduced => "the failure did not appear where it was said to be",
            Exit::HostUnusable => "this machine cannot run the tool",
            Exit::BuildFailed => "a reproducer variant did not build",
            Exit::DriverUnusable => "the driver build is missing, incomplete or does not load",
            Exit::DeviceModel => "the simulated device refused something the program needs",
            Exit::IncompatibleRecording => "a recording has a format this build cannot read",
            Exit::CannotRecord => "results could not be written",
            Exit::Skip => "verdict: untestable (git bisect run skips the revision)",
            Exit::NoVerdict => "verdict: could not run (git bisect run stops)",
            Exit::Interrupted => "interrupted; run --resume goes on",
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
