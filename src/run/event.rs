//! What happens during a matrix run, in the one order that the dispatcher gives it. The recorder and the screen
//! read the same stream; neither decides anything.

use std::collections::BTreeMap;

use crate::model::build::BuildRecord;
use crate::model::outcome::RunRecord;

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Before anything else, and before every round of a stopping rule.
    Planned {
        /// Arm → runs that are to be done now.
        arms: BTreeMap<&'a str, usize>,
        runs: usize,
        builds: usize,
    },
    BuildStarted {
        name: &'a str,
    },
    BuildFinished {
        name: &'a str,
        seconds: f64,
        cached: bool,
        error: Option<&'a str>,
        /// How the modules were made; none where the build failed.
        records: &'a [BuildRecord],
    },
    RunStarted {
        arm: &'a str,
        repeat: u32,
    },
    /// The record is not stored yet: storing it is a reader's business.
    RunFinished {
        record: &'a RunRecord,
    },
    /// Stopped by the user: not a result, to be run again on resume.
    RunStopped {
        arm: &'a str,
        repeat: u32,
    },
    /// The stop request was seen; running arms are being ended.
    Stopping,
}
