//! The seam between the dispatcher and everything that really builds, runs, observes and judges.

use crate::model::arm::Arm;
use crate::model::build::BuildRecord;
use crate::model::outcome::RunRecord;

use super::cancel::Cancel;

/// A reproducer that did not build: shared by all arms that need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildFailure {
    /// What failed and what to try next, for people.
    pub what: String,
}

/// The run took place and its evidence could not be stored (disk full): no result, to be run again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotKeep(pub String);

/// Whether `text` tells of a full disk. What failed of that is no result: it is to be run again where there is room.
pub fn tells_full_disk(text: &str) -> bool {
    // The words of ENOSPC and EDQUOT, and those of the build stage.
    ["No space left on device", "Disk quota exceeded", "no space left on the device"]
        .iter()
        .any(|words| text.contains(words))
}

/// A variant that is ready.
#[derive(Debug)]
pub struct Built<B> {
    pub value: B,
    pub cached: bool,
    /// How the modules were made.
    pub records: Vec<BuildRecord>,
}

/// What runs on one thing that can do only so much at a time: a card, or the simulator on this machine's cores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    pub name: String,
    pub capacity: usize,
}

/// Does the work that the dispatcher orders. Called from several threads at once.
pub trait Lab: Sync {
    type Built: Send + Sync;

    /// Arms with equal keys share one build.
    fn build_key(&self, arm: &Arm) -> String;
    /// Builds what `arm` needs. Blocks.
    fn build(&self, arm: &Arm) -> Result<Built<Self::Built>, BuildFailure>;
    fn lane(&self, arm: &Arm) -> Lane;
    /// Runs, observes and judges one cell. Blocks. An interrupted run has the end `Interrupted`.
    fn run(
        &self,
        arm: &Arm,
        repeat: u32,
        built: &Self::Built,
        cancel: &Cancel,
    ) -> Result<RunRecord, CannotKeep>;
    /// The record of a cell whose build failed.
    fn not_built(&self, arm: &Arm, repeat: u32, failure: &BuildFailure) -> RunRecord;
}
