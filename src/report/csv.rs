//! `--format csv`: one line a run, with every axis as a column, for pivot tables.

use std::collections::BTreeSet;

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::model::verdict::Verdict;

use super::aggregate::{self, ArmSummary};
use super::axes;
use super::section::{Report, Section};

const FIXED: [&str; 23] = [
    "matrix",
    "machine",
    "device",
    "model",
    "driver_hash",
    "arm",
    "repeat",
    "started",
    "wall_seconds",
    "verdict",
    "basis",
    "wrong",
    "untouched",
    "per_dispatch",
    "module_private",
    "global_memory",
    "bind_history",
    "eperm",
    "hazards",
    "as_expected",
    "disagreements",
    "not_observed",
    "signature",
];

pub fn render(report: &Report) -> Result<String, csv::Error> {
    // "axis:" keeps a column of the plan apart from one of the run.
    let axes: BTreeSet<&'static str> =
        report.sections.iter().flat_map(|s| &s.arms).flat_map(|arm| axes::point(arm).into_keys()).collect();
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = FIXED.iter().map(|name| (*name).to_owned());
    out.write_record(header.chain(axes.iter().map(|axis| format!("axis:{}", axis.replace(' ', "_")))))?;
    for section in &report.sections {
        for arm in &section.arms {
            let point = axes::point(arm);
            for (record, _) in section.runs_of(&arm.id) {
                let values = axes.iter().map(|axis| point.get(axis).cloned().unwrap_or_default());
                out.write_record(row(section, arm, record).into_iter().chain(values))?;
            }
        }
    }
    let bytes = out.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn row(section: &Section, arm: &Arm, record: &RunRecord) -> [String; 23] {
    let one = ArmSummary::of(arm, &[record]);
    let opt = |value: Option<u64>| value.map(|v| v.to_string()).unwrap_or_default();
    let basis = match &record.verdict {
        Verdict::Clean { basis } | Verdict::Corrupt { basis, .. } | Verdict::WrongBefore { basis, .. } => {
            basis.word().to_owned()
        }
        Verdict::Hang { .. }
        | Verdict::Crash { .. }
        | Verdict::DeviceLost { .. }
        | Verdict::BuildFailed { .. }
        | Verdict::Untestable { .. }
        | Verdict::HarnessError { .. } => String::new(),
    };
    [
        section.key.matrix.clone(),
        section.key.machine.clone(),
        record.device.clone(),
        // Whoever pivots these columns sees no sentence about the device.
        if record.device.starts_with("sim:") { "yes" } else { "no" }.to_owned(),
        record.driver.clone(),
        record.arm.clone(),
        record.repeat.to_string(),
        record.started.clone(),
        format!("{:.3}", record.wall_seconds),
        record.verdict.word().to_owned(),
        basis,
        opt(one.wrong),
        opt(one.untouched),
        one.per_dispatch.map(|p| u8::from(p.flag).to_string()).unwrap_or_default(),
        opt(one.per_dispatch.map(|p| p.module_private)),
        opt(one.per_dispatch.map(|p| p.global_memory)),
        one.history.clone().unwrap_or_default(),
        opt(aggregate::eperm(record)),
        opt(record.facts.sim.as_ref().map(|sim| sim.summary.hazards)),
        as_expected(record).to_owned(),
        record.disagreements.join("; "),
        arm.not_observed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        record.signature.clone(),
    ]
}

fn as_expected(record: &RunRecord) -> &'static str {
    match record.as_expected {
        Some(true) => "yes",
        Some(false) => "no",
        None if !record.not_measured.is_empty() => "not measured",
        None => "",
    }
}
