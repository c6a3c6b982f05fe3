//! How a run ended (raw) and what it means (judged): two types on purpose.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::arm::ExpectedVerdict;

/// What the operating system and the clock say. No judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum RunEnd {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
        core_dumped: bool,
    },
    /// The arm's timeout passed; the process group was stopped.
    TimedOut {
        after: Duration,
        killed: bool,
    },
    /// No output and no device activity for the arm's inactivity limit.
    Inactive {
        after: Duration,
        killed: bool,
    },
    /// More output than the cap; the group was stopped.
    OutputFlood {
        bytes: u64,
    },
    SpawnFailed {
        errno: i32,
        what: String,
    },
    Interrupted,
}

/// Which evidence a clean or corrupt verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Output elements compared with the host's.
    Data,
    /// The simulated device's residency oracle; the data check was not modelled.
    Residency,
    /// Both, and they agree.
    Both,
}

/// The judged result of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    Clean {
        basis: Basis,
    },
    Corrupt {
        basis: Basis,
        wrong: Option<u64>,
        untouched: Option<u64>,
        control_wrong: Option<u64>,
    },
    /// Wrong before the trigger: says nothing of the trigger.
    WrongBefore {
        basis: Basis,
        wrong: Option<u64>,
        untouched: Option<u64>,
    },
    Hang {
        after: Duration,
    },
    Crash {
        signal: i32,
        location: Option<String>,
    },
    DeviceLost {
        what: String,
    },
    BuildFailed {
        what: String,
    },
    /// The thing to be tested was not there (another driver, another backend, no device…).
    Untestable {
        reason: String,
    },
    /// Our own fault: disk full, an observer died, the device model lacks something.
    HarnessError {
        reason: String,
    },
}

impl Verdict {
    /// Without its numbers and words: what would have been expected of it. `None`: a harness error, which nobody may expect.
    pub fn class(&self) -> Option<ExpectedVerdict> {
        match self {
            Verdict::Clean { .. } => Some(ExpectedVerdict::Clean),
            Verdict::Corrupt { .. } => Some(ExpectedVerdict::Corrupt),
            Verdict::WrongBefore { .. } => Some(ExpectedVerdict::WrongBefore),
            Verdict::Hang { .. } => Some(ExpectedVerdict::Hang),
            Verdict::Crash { .. } => Some(ExpectedVerdict::Crash),
            Verdict::DeviceLost { .. } => Some(ExpectedVerdict::DeviceLost),
            Verdict::BuildFailed { .. } => Some(ExpectedVerdict::BuildFailed),
            Verdict::Untestable { .. } => Some(ExpectedVerdict::Untestable),
            Verdict::HarnessError { .. } => None,
        }
    }

    /// The word of tables, files and messages.
    pub fn word(&self) -> &'static str {
        self.class().map_or("harness-error", ExpectedVerdict::word)
    }

    /// Whether it says anything of the driver.
    pub fn answers(&self) -> bool {
        match self {
            Verdict::Clean { .. }
            | Verdict::Corrupt { .. }
            | Verdict::WrongBefore { .. }
            | Verdict::Hang { .. }
            | Verdict::Crash { .. }
            | Verdict::DeviceLost { .. }
            | Verdict::BuildFailed { .. } => true,
            Verdict::Untestable { .. } | Verdict::HarnessError { .. } => false,
        }
    }
}

/// A fact that two or more instruments of a run told of, so that they could be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Compared {
    pub fact: ComparedFact,
    /// Two or more of "data", "build", "sim", "strace", "neo-log".
    pub instruments: Vec<String>,
    pub agree: bool,
}

/// What instruments are compared on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedFact {
    /// Output elements against what the dispatches point at being bound.
    Verdict,
    /// Is the module on the per-dispatch path.
    PerDispatch,
    /// Number of binds that failed with EPERM.
    FailedBinds,
    /// Binds and unbinds of the checked kernel's private surface.
    PrivateSurface,
}

/// One reason in the trail that led to a verdict, in the order in which the rules applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Instrument: "data", "sim", "neo-log", "strace", "maps", "kernel-log", "harness".
    pub instrument: String,
    pub says: String,
}
