//! `arms.csv`: one line an arm, for spreadsheets. Rewritten whole whenever it is written.

use std::path::Path;

use crate::report::aggregate::ArmSummary;

use super::{ARMS, ResultsError};

const HEADER: [&str; 18] = [
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

fn row(arm: &ArmSummary) -> [String; 18] {
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
    ]
}
