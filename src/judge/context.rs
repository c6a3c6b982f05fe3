//! What the judge must know besides the facts: what was asked for and on what it ran.

use crate::model::arm::Arm;
use crate::model::repro::{REPRO_RESULT_VERSION, ReproResult};
use crate::run::spec::ResultBytes;

/// The reproducer's own account, as it came through the result descriptor.
#[derive(Clone, Debug, PartialEq)]
pub enum Account {
    Given(Box<ReproResult>),
    /// Not one byte came.
    Missing,
    /// Bytes came that are no result of a version this build knows.
    Garbled(String),
}

impl Account {
    /// Reads the bytes of the result descriptor.
    pub fn read(result: &ResultBytes) -> Account {
        if result.overflow {
            return Account::Garbled("the result is larger than the cap".into());
        }
        if result.bytes.is_empty() {
            return Account::Missing;
        }
        match serde_json::from_slice::<ReproResult>(&result.bytes) {
            Ok(result) if result.version == REPRO_RESULT_VERSION => Account::Given(Box::new(result)),
            Ok(result) => Account::Garbled(format!(
                "result format {} where this build knows {REPRO_RESULT_VERSION}",
                result.version
            )),
            Err(e) => Account::Garbled(e.to_string()),
        }
    }

    pub fn given(&self) -> Option<&ReproResult> {
        match self {
            Account::Given(result) => Some(result),
            Account::Missing | Account::Garbled(_) => None,
        }
    }
}

/// The driver library that the run was to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedDriver {
    /// For people: "debian-26.27.39122.14".
    pub name: String,
    /// Part of the library's file name: "libze_intel_gpu".
    pub library: String,
    /// Resolved absolute path.
    pub path: String,
    pub build_id: Option<String>,
    pub sha256: Option<String>,
}

/// Circumstances of one run.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    pub arm: &'a Arm,
    /// On the simulated device; then its trace must exist.
    pub simulated: bool,
    /// Hardware threads that private memory is sized for (4096 on an A770).
    pub hw_threads: Option<u64>,
    /// From the built modules' private sizes and the device's memory.
    pub predicted_per_dispatch: Option<bool>,
    /// `None` only where there is no driver to prove (the mock).
    pub driver: Option<&'a ExpectedDriver>,
    /// Instruments of ours that did not do their work (capture file lost, strace died…): one text each.
    pub broken: &'a [String],
}

impl Context<'_> {
    /// Expected bytes of the checked kernel's private surface.
    pub fn surface_bytes(&self, result: &ReproResult) -> Option<u64> {
        let per_thread = u64::from(result.kernel.private_mem_size);
        let bytes = per_thread.checked_mul(self.hw_threads?)?;
        (bytes > 0).then_some(bytes)
    }

    /// A command with one check, whose rules name no line that ends what comes before the trigger.
    pub fn whole_run_is_after(&self, result: &ReproResult) -> bool {
        result.one_check
            && self.arm.variant.command.as_ref().is_some_and(|command| command.extract.after.is_none())
    }

    /// Copies that the arm asks for, in one round or both; 0 = the trigger is left out on purpose.
    pub fn copies_wanted(&self) -> u64 {
        use crate::model::arm::{FrontEnd, SourceKind};
        let w = &self.arm.workload;
        // A command does what it does; the copies of the reproducers are not its.
        if self.arm.variant.front_end == FrontEnd::Command
            || w.no_copy
            || w.skip_upload
            || self.arm.source.kind == SourceKind::None
        {
            return 0;
        }
        u64::from(w.copies) * u64::from(w.repeat.max(1))
    }
}
