//! `arms.csv`: one line an arm, for spreadsheets. Rewritten whole whenever it is written.

use std::path::Path;

use crate::report::aggregate::ArmSummary;
use crate::stats::Rate;
use crate::stats::stopping::CONFIDENCE;

use super::{ARMS, ResultsError};

const HEADER: [&str; 31] = [
    "arm",
    "runs",
    "verdict",
    "clean",
    "corrupt",
    "inconclusive",
    "basis",
    "wrong",
    "untouched",
    "per_dispatch",
    "module_private",
    "global_memory",
    "surface_bytes",
    "bind_history",
    "eperm",
    "as_expected",
    "seconds",
    "disagreements",
    "rate_of",
    "hits",
    "testable",
    "untestable_share",
    "harness_error_share",
    "exact_low",
    "exact_high",
    "jeffreys_low",
    "jeffreys_high",
    "anytime_low",
    "anytime_high",
    "stopped",
    "signatures",
];

/// Writes `arms.csv` into the results directory, atomically.
pub fn write(dir: &Path, arms: &[ArmSummary]) -> Result<(), ResultsError> {
    let path = dir.join(ARMS);
    let partial = dir.join("arms.csv.partial");
    let write = || -> std::io::Result<()> {
        let mut out = csv::Writer::from_path(&partial)?;
        out.write_record(HEADER)?;
        for arm in arms {
            out.write_record(row(arm))?;
        }
        out.flush()?;
        drop(out);
        std::fs::rename(&partial, &path)
    };
    write().map_err(ResultsError::io(&path))
}

fn row(arm: &ArmSummary) -> [String; 31] {
    let rate = Rate::of(arm.tally, CONFIDENCE);
    let share = |value: Option<f64>| value.map(|v| format!("{v:.6}")).unwrap_or_default();
    let opt = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
    [
        arm.id.clone(),
        arm.runs.to_string(),
        arm.verdict.to_string(),
        arm.count("clean").to_string(),
        arm.count("corrupt").to_string(),
        arm.inconclusive().to_string(),
        arm.basis.map(|b| b.word().to_owned()).unwrap_or_default(),
        opt(arm.wrong),
        opt(arm.untouched),
        arm.per_dispatch.map(|p| u8::from(p.flag).to_string()).unwrap_or_default(),
        opt(arm.per_dispatch.map(|p| p.module_private)),
        opt(arm.per_dispatch.map(|p| p.global_memory)),
        opt(arm.surface_bytes),
        arm.history.clone().unwrap_or_default(),
        opt(arm.eperm),
        arm.as_expected.map(|e| e.to_string()).unwrap_or_default(),
        format!("{:.3}", arm.seconds),
        arm.disagreements.to_string(),
        arm.rate_of.to_owned(),
        arm.tally.hits.to_string(),
        arm.tally.testable.to_string(),
        share(arm.tally.untestable_share()),
        share(arm.tally.harness_error_share()),
        share(rate.map(|r| r.exact.low)),
        share(rate.map(|r| r.exact.high)),
        share(rate.map(|r| r.jeffreys.low)),
        share(rate.map(|r| r.jeffreys.high)),
        share(rate.map(|r| r.anytime.low)),
        share(rate.map(|r| r.anytime.high)),
        arm.stopped.clone().unwrap_or_default(),
        arm.signatures.iter().map(|(class, n)| format!("{n}x {class}")).collect::<Vec<_>>().join("; "),
    ]
}
