//! `--format json`: the report as data. The schema is versioned and printed by `repro-matrix schema --of report`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::verdict::Compared;

use super::aggregate::ArmSummary;
use super::axes;
use super::boundary;
use super::faulty::Faulty;
use super::headline::Headline;
use super::section::{Report, Section};

/// Version of this format. A field that is added does not change it; one that changes its meaning or goes does.
pub const VERSION: u32 = 1;

/// The whole report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportJson {
    pub version: u32,
    /// One line over everything.
    pub headline: String,
    pub sections: Vec<SectionJson>,
    /// What could not be read of the results.
    pub problems: Vec<String>,
}

/// One matrix on one machine, device and set of driver builds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SectionJson {
    pub matrix: String,
    pub matrix_sha256: String,
    pub machine: String,
    pub device: String,
    pub simulated: bool,
    /// Name in the matrix → versions, for people.
    pub drivers: BTreeMap<String, String>,
    /// SYCL runtimes: name in the matrix → versions, for people.
    pub runtimes: BTreeMap<String, String>,
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started: String,
    pub tool: String,
    /// The exit code that the run ends with.
    pub exit: u8,
    pub arms: Vec<ArmJson>,
    pub boundary: Vec<PointJson>,
    pub findings: Vec<FindingJson>,
    pub left_out: Vec<LeftOutJson>,
    pub environment: serde_json::Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ArmJson {
    pub id: String,
    /// The worst verdict of the runs; "not run" where there are none.
    pub verdict: String,
    /// Verdict → runs.
    pub counts: BTreeMap<String, usize>,
    pub runs: usize,
    pub planned: usize,
    /// Runs with a fault, of those with a verdict on the driver.
    pub faulty: usize,
    pub judged: usize,
    /// 95 % interval of the rate of faulty runs; absent where none was judged.
    pub rate_low: Option<f64>,
    pub rate_high: Option<f64>,
    /// The rule that ended the arm's runs. Under a rule the interval is the one that holds whenever the runs stop.
    pub stopped: Option<String>,
    pub basis: Option<String>,
    pub wrong: Option<u64>,
    pub untouched: Option<u64>,
    pub per_dispatch: Option<bool>,
    /// Bytes.
    pub surface_bytes: Option<u64>,
    pub bind_history: Option<String>,
    pub eperm: Option<u64>,
    /// `yes`, `yes so far` (`--max-time` left runs undone), `improved`, `no verdict`, `not measured`, `NO`; absent where nothing was expected.
    pub as_expected: Option<String>,
    pub unmet: Vec<String>,
    /// Parts of the expectation that nothing measured.
    pub not_measured: Vec<String>,
    /// Median wall time of a run.
    pub seconds: f64,
    pub disagreements: usize,
    pub reason: Option<String>,
    /// Axis → value.
    pub axes: BTreeMap<String, String>,
    pub repeats: Vec<RunJson>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RunJson {
    pub repeat: u32,
    pub started: String,
    pub seconds: f64,
    pub verdict: String,
    pub signature: String,
    pub as_expected: Option<bool>,
    /// (instrument, sentence).
    pub evidence: Vec<(String, String)>,
    /// What instruments were compared on; null where an older build wrote the run.
    pub compared: Option<Vec<Compared>>,
    pub disagreements: Vec<String>,
    pub logs: Vec<String>,
}

/// One arm at the driver's per-dispatch switch. Sizes in bytes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PointJson {
    pub arm: String,
    pub kernels: u64,
    pub per_thread: u64,
    pub threads: u64,
    pub predicted: u64,
    pub measured: u64,
    pub global_memory: u64,
    pub predicted_flag: bool,
    pub flag: bool,
    pub verdict: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingJson {
    pub heading: String,
    pub text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOutJson {
    pub arm: String,
    pub reason: String,
}

pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    let json = ReportJson {
        version: VERSION,
        headline: Headline::of(report).text,
        sections: report.sections.iter().map(section).collect(),
        problems: report.problems.iter().map(ToString::to_string).collect(),
    };
    let mut text = serde_json::to_string_pretty(&json)?;
    text.push('\n');
    Ok(text)
}

/// The JSON schema of [`ReportJson`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ReportJson).to_value()
}

fn section(section: &Section) -> SectionJson {
    SectionJson {
        matrix: section.key.matrix.clone(),
        matrix_sha256: section.key.matrix_sha256.clone(),
        machine: section.key.machine.clone(),
        device: section.key.device.clone(),
        simulated: section.simulated(),
        drivers: section.drivers.iter().map(|(name, d)| (name.clone(), d.versions.clone())).collect(),
        runtimes: section.runtimes.iter().map(|(name, r)| (name.clone(), r.versions.clone())).collect(),
        seed: section.seed,
        started: section.started.clone(),
        tool: section.tool.clone(),
        exit: section.exit as u8,
        arms: section
            .arms
            .iter()
            .zip(&section.summaries)
            .map(|(a, summary)| arm(section, a, summary))
            .collect(),
        boundary: boundary::points(section).into_iter().map(point).collect(),
        findings: section
            .findings
            .iter()
            .map(|f| FindingJson { heading: f.heading.to_owned(), text: f.text.clone() })
            .collect(),
        left_out: section
            .excluded
            .iter()
            .map(|(arm, reason)| LeftOutJson { arm: arm.clone(), reason: reason.clone() })
            .collect(),
        environment: section.environment.clone(),
    }
}

fn arm(section: &Section, arm: &crate::model::arm::Arm, summary: &ArmSummary) -> ArmJson {
    let rate = Faulty::of(summary);
    ArmJson {
        id: summary.id.clone(),
        verdict: if summary.runs == 0 { "not run".into() } else { summary.verdict.word.into() },
        counts: summary.counts().map(|(word, n)| (word.to_owned(), n)).collect(),
        runs: summary.runs,
        planned: summary.planned,
        faulty: rate.hits,
        judged: rate.of,
        rate_low: rate.interval().map(|interval| interval.low),
        rate_high: rate.interval().map(|interval| interval.high),
        stopped: summary.stopped.clone(),
        basis: summary.basis.map(|basis| basis.word().to_owned()),
        wrong: summary.wrong,
        untouched: summary.untouched,
        per_dispatch: summary.per_dispatch.map(|line| line.flag),
        surface_bytes: summary.surface_bytes,
        bind_history: summary.history.clone(),
        eperm: summary.eperm,
        as_expected: summary.as_expected.map(|expected| expected.to_string()),
        unmet: summary.unmet.clone(),
        not_measured: summary.not_measured.clone(),
        seconds: summary.seconds,
        disagreements: summary.disagreements,
        reason: summary.reason.clone(),
        axes: axes::point(arm).into_iter().map(|(axis, value)| (axis.to_owned(), value)).collect(),
        repeats: section
            .runs_of(&arm.id)
            .map(|(record, _)| RunJson {
                repeat: record.repeat,
                started: record.started.clone(),
                seconds: record.wall_seconds,
                verdict: record.verdict.word().to_owned(),
                signature: record.signature.clone(),
                as_expected: record.as_expected,
                evidence: record.evidence.iter().map(|e| (e.instrument.clone(), e.says.clone())).collect(),
                compared: record.compared.clone(),
                disagreements: record.disagreements.clone(),
                logs: record.logs.clone(),
            })
            .collect(),
    }
}

fn point(point: boundary::Point) -> PointJson {
    PointJson {
        predicted_flag: point.predicted_flag(),
        arm: point.arm,
        kernels: point.kernels,
        per_thread: point.per_thread,
        threads: point.threads,
        predicted: point.predicted,
        measured: point.measured,
        global_memory: point.global_memory,
        flag: point.flag,
        verdict: point.verdict,
    }
}
