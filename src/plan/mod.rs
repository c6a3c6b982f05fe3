//! Stage: plan. [`Matrix`] + [`HostFacts`] + seed → ordered cells, and what is left out and why. Runs nothing; no cell
//! of the matrix vanishes: each is planned or excluded with a reason.

use serde::Serialize;

use crate::matrix::{Matrix, expand};
use crate::model::arm::Arm;

pub mod bundle;
pub mod facts;
pub mod order;
pub mod select;
pub mod shard;
pub mod show;

pub use facts::HostFacts;
pub use select::Selection;

/// What will be run, in which order, and what will not.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The seed that `cells` were ordered with.
    pub seed: u64,
    /// In the order of the matrix: the order of tables.
    pub arms: Vec<Arm>,
    /// In the order of time.
    pub cells: Vec<Cell>,
    /// In the order of the matrix.
    pub excluded: Vec<Excluded>,
    /// What the plan changed in arms it kept, for the reader.
    pub notes: Vec<String>,
}

/// One run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cell {
    /// Index in [`Plan::arms`].
    pub arm: usize,
    /// From 0.
    pub repeat: u32,
}

/// An arm that is not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    pub id: String,
    pub by: ExcludedBy,
    pub reason: String,
    pub positive_control: bool,
    /// What it is to test, its driver build or its card, is not here.
    pub lacks_subject: bool,
    /// So something that is expected of it has no answer.
    pub unanswered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExcludedBy {
    /// An `exclude` of the matrix.
    Matrix,
    /// The command line's filters.
    Selection,
    /// This machine cannot run it.
    Host,
}

impl Plan {
    /// Variants to build for the planned arms, each once, by name.
    pub fn variants(&self) -> Vec<&crate::model::arm::Variant> {
        let mut variants: Vec<_> = self.arms.iter().map(|arm| &arm.variant).collect();
        variants.sort_by(|a, b| a.name.cmp(&b.name));
        variants.dedup();
        variants
    }
}

/// Plans a valid matrix.
pub fn plan(matrix: &Matrix, selection: &Selection, facts: &HostFacts) -> Plan {
    let seed = selection.seed.unwrap_or(matrix.seed);
    let (mut arms, mut excluded) = (Vec::<Arm>::new(), Vec::new());
    for candidate in expand::expand(matrix) {
        let mut arm = candidate.arm;
        let id = arm.id.clone();
        let positive_control = arm.positive_control;
        let expected = arm.expect.is_some();
        let mut leave_out = |by, reason, lacks_subject| {
            let unanswered = expected && lacks_subject;
            excluded.push(Excluded {
                id: id.clone(),
                by,
                reason,
                positive_control,
                lacks_subject,
                unanswered,
            });
        };
        if let Some(reason) = candidate.excluded {
            leave_out(ExcludedBy::Matrix, reason, false);
        } else if let Err(reason) = selection.apply(&mut arm) {
            leave_out(ExcludedBy::Selection, reason, false);
        } else if let Err(reason) = facts.admit(&mut arm) {
            leave_out(ExcludedBy::Host, reason, facts.lacks_subject(&arm));
        } else {
            arms.push(arm);
        }
    }
    let mut notes: Vec<String> =
        arms.iter().flat_map(|arm| &arm.not_observed).map(ToString::to_string).collect();
    notes.sort();
    notes.dedup();
    Plan { seed, cells: order::order(&arms, seed), arms, excluded, notes }
}
