//! Where the driver's per-dispatch switch flips: what the sizes predict against what the driver said and did.

use crate::model::arm::{Arm, Split};
use crate::model::outcome::RunRecord;

use super::section::Section;

/// One arm on the boundary plot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    pub arm: String,
    /// Private-memory kernels of one module.
    pub kernels: u64,
    /// Bytes per hardware thread, as the kernel reports.
    pub per_thread: u64,
    /// Hardware threads that the driver sizes private memory for.
    pub threads: u64,
    /// `kernels × per_thread × threads`, bytes.
    pub predicted: u64,
    /// modulePrivateMemorySize, as the driver printed it.
    pub measured: u64,
    pub global_memory: u64,
    /// The flag that the driver printed.
    pub flag: bool,
    pub verdict: String,
    pub corrupt: bool,
}

impl Point {
    /// The driver must switch where the sum exceeds global memory.
    pub fn predicted_flag(&self) -> bool {
        self.predicted > self.global_memory
    }

    pub fn as_predicted(&self) -> bool {
        self.predicted_flag() == self.flag && self.predicted == self.measured
    }
}

/// Points of all arms whose driver printed its decision, smallest prediction first. Arms with equal sizes stay apart:
/// their verdicts may differ.
pub fn points(section: &Section) -> Vec<Point> {
    let mut points: Vec<Point> = section
        .arms
        .iter()
        .zip(&section.summaries)
        .filter_map(|(arm, summary)| {
            let line = summary.per_dispatch?;
            let record = section
                .runs_of(&arm.id)
                .map(|(r, _)| r)
                .find(|r| r.verdict.word() == summary.verdict.word)?;
            let (kernels, per_thread, threads) = sizes(arm, record)?;
            Some(Point {
                arm: arm.id.clone(),
                kernels,
                per_thread,
                threads,
                predicted: kernels.checked_mul(per_thread)?.checked_mul(threads)?,
                measured: line.module_private,
                global_memory: line.global_memory,
                flag: line.flag,
                verdict: summary.verdict.to_string(),
                corrupt: summary.verdict.word == "corrupt",
            })
        })
        .collect();
    points.sort_by(|a, b| (a.predicted, &a.arm).cmp(&(b.predicted, &b.arm)));
    points
}

fn sizes(arm: &Arm, record: &RunRecord) -> Option<(u64, u64, u64)> {
    let per_thread = u64::from(record.repro.as_ref()?.kernel.private_mem_size);
    let threads = record.facts.neo.as_ref()?.compute_units?;
    let kernels = match arm.variant.split {
        Split::Off => u64::from(arm.variant.kernels),
        Split::PerKernel => 1,
        // How kernels fall on sources is the build's business: nothing to predict from here.
        Split::PerSource => return None,
    };
    Some((kernels, per_thread, threads))
}
