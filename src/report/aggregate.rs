//! The runs of one arm in one line.

use std::collections::BTreeMap;
use std::fmt;

use crate::judge::{agree, surface};
use crate::model::arm::Arm;
use crate::model::facts::{PerDispatch, RangeHistory};
use crate::model::outcome::RunRecord;
use crate::model::verdict::{Basis, Verdict};
use crate::stats::Tally;
use crate::stats::stopping::StopRule;

use super::{expected, rates};

pub use super::expected::Expected;

impl Basis {
    pub fn word(self) -> &'static str {
        match self {
            Basis::Data => "data",
            Basis::Residency => "residency",
            Basis::Both => "both",
        }
    }
}

/// An arm's verdict over its runs: the worst, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArmVerdict {
    pub word: &'static str,
    pub of: usize,
    pub runs: usize,
}

impl fmt::Display for ArmVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.of, self.runs) {
            (_, 0) => f.write_str("not run"),
            (of, runs) if of == runs => f.write_str(self.word),
            (of, runs) => write!(f, "{} {of}/{runs}", self.word),
        }
    }
}

/// One arm.
#[derive(Clone, Debug)]
pub struct ArmSummary {
    pub id: String,
    pub runs: usize,
    /// Those that the arm was to have; where a rule looked at its runs and was met, those that it has.
    pub planned: usize,
    pub verdict: ArmVerdict,
    counts: BTreeMap<&'static str, usize>,
    /// The failure that `tally` counts: the arm's own, `corrupt` if it has none.
    pub rate_of: &'static str,
    pub tally: Tally,
    /// Classes of failures with their number of runs.
    pub signatures: Vec<(String, usize)>,
    /// A rule may stop its runs by looking at them: then only the anytime interval holds, before it has stopped them too.
    pub looked_at: bool,
    /// The stopping rule that ended its runs.
    pub stopped: Option<String>,
    pub basis: Option<Basis>,
    pub wrong: Option<u64>,
    pub untouched: Option<u64>,
    pub per_dispatch: Option<PerDispatch>,
    pub surface_bytes: Option<u64>,
    /// Life of the private surface: "bind unbind ─"; of the late module's, too, where there is one: "…; late …".
    pub history: Option<String>,
    pub eperm: Option<u64>,
    pub as_expected: Option<Expected>,
    pub unmet: Vec<String>,
    pub not_measured: Vec<String>,
    /// Median wall time of a run, seconds.
    pub seconds: f64,
    /// Runs whose instruments disagree.
    pub disagreements: usize,
    pub reason: Option<String>,
}

/// Worst first: one corrupt run makes the arm a finding, however many clean ones there are.
const SEVERITY: [&str; 9] = [
    "corrupt",
    "wrong-before",
    "crash",
    "device-lost",
    "hang",
    "build-failed",
    "harness-error",
    "untestable",
    "clean",
];

/// Rank of a verdict, worst first; what is no verdict comes last.
pub fn severity(word: &str) -> usize {
    SEVERITY.iter().position(|known| *known == word).unwrap_or(SEVERITY.len())
}

impl ArmSummary {
    /// Sums up `records`, all of `arm`.
    pub fn of(arm: &Arm, records: &[&RunRecord]) -> Self {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for record in records {
            *counts.entry(record.verdict.word()).or_default() += 1;
        }
        let word = SEVERITY.iter().copied().find(|word| counts.contains_key(word)).unwrap_or("clean");
        let verdict = ArmVerdict { word, of: counts.get(word).copied().unwrap_or(0), runs: records.len() };
        // The run that speaks for the arm is one with the arm's verdict.
        let speaker = records.iter().find(|r| r.verdict.word() == word).copied();
        let (basis, wrong, untouched, reason) =
            speaker.map_or((None, None, None, None), |r| parts(&r.verdict));
        let surface_bytes = speaker.and_then(surface_bytes);
        let rate_of = if crate::probe::FAILURES.contains(&word) { word } else { "corrupt" };
        ArmSummary {
            id: arm.id.clone(),
            runs: records.len(),
            planned: arm.repeats as usize,
            verdict,
            counts,
            rate_of,
            tally: rates::tally(records, rate_of),
            signatures: rates::signatures(records),
            looked_at: false,
            stopped: None,
            basis,
            wrong,
            untouched,
            per_dispatch: speaker.and_then(per_dispatch),
            surface_bytes,
            history: speaker.zip(surface_bytes).and_then(|(r, bytes)| histories(r, bytes)),
            eperm: speaker.and_then(eperm),
            as_expected: expected::of(arm, records),
            unmet: records.iter().flat_map(|r| r.unmet.iter().cloned()).collect(),
            not_measured: expected::not_measured(records),
            seconds: median(records.iter().map(|r| r.wall_seconds).collect()),
            disagreements: records.iter().filter(|r| !r.disagreements.is_empty()).count(),
            reason,
        }
    }

    /// Runs are missing, and nothing that was asked for ended the arm before them.
    pub fn lacks_runs(&self) -> bool {
        self.runs == 0 || self.runs < self.planned && self.stopped.is_none()
    }

    /// `--max-time` left runs of it undone.
    pub fn out_of_time(&self) -> bool {
        self.stopped.as_deref() == Some(OUT_OF_TIME)
    }

    pub fn count(&self, word: &str) -> usize {
        self.counts.get(word).copied().unwrap_or(0)
    }

    /// Verdicts with the number of their runs.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.counts.iter().map(|(word, n)| (*word, *n))
    }

    /// Runs with no verdict on the thing under test.
    pub fn inconclusive(&self) -> usize {
        self.count("untestable") + self.count("harness-error")
    }

    /// True if the arm says something of the driver.
    pub fn conclusive(&self) -> bool {
        self.runs > 0 && self.verdict.word != "untestable" && self.verdict.word != "harness-error"
    }
}

/// Summaries of all arms, in the order of `arms`.
pub fn summarise(arms: &[Arm], records: &[RunRecord]) -> Vec<ArmSummary> {
    let mut of_arm: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        of_arm.entry(&record.arm).or_default().push(record);
    }
    arms.iter()
        .map(|arm| ArmSummary::of(arm, of_arm.get(arm.id.as_str()).map_or(&[], Vec::as_slice)))
        .collect()
}

/// [`ArmSummary::stopped`] of arms that the end of the time kept from runs.
pub const OUT_OF_TIME: &str = "--max-time";

/// [`summarise`], for a matrix whose arms were run until a rule was met: an arm that met it lacks no runs. Where the rule's
/// time is over, none does, and the runs that there was no time for are still told.
pub fn summarise_under(
    rule: Option<&StopRule>,
    time_over: bool,
    arms: &[Arm],
    records: &[RunRecord],
) -> Vec<ArmSummary> {
    let mut summaries = summarise(arms, records);
    let Some(rule) = rule else { return summaries };
    for summary in &mut summaries {
        let cut = time_over && summary.runs < summary.planned;
        summary.looked_at = rule.looks() || cut;
        if let Some(why) = rule.done(summary.tally) {
            summary.planned = summary.runs;
            summary.stopped = Some(why);
        } else if cut {
            summary.stopped = Some(OUT_OF_TIME.to_owned());
            if summary.as_expected == Some(Expected::Met) {
                summary.as_expected = Some(Expected::MetSoFar);
            }
        }
    }
    summaries
}

/// Whether a rule with a limit of time leaves nothing to be done: it ended the run (`out_of_time`), or all arms were done
/// before. A run that was interrupted is neither.
pub fn time_over(rule: &StopRule, out_of_time: bool, arms: &[Arm], records: &[RunRecord]) -> bool {
    let all_done = || summarise(arms, records).iter().all(|summary| rule.done(summary.tally).is_some());
    rule.max_time.is_some() && (out_of_time || all_done())
}

/// Why a verdict is what it is, where the verdict itself says it.
pub fn reason(verdict: &Verdict) -> Option<String> {
    parts(verdict).3
}

fn parts(verdict: &Verdict) -> (Option<Basis>, Option<u64>, Option<u64>, Option<String>) {
    match verdict {
        Verdict::Clean { basis } => {
            let zero = (*basis != Basis::Residency).then_some(0);
            (Some(*basis), zero, zero, None)
        }
        Verdict::Corrupt { basis, wrong, untouched, .. }
        | Verdict::WrongBefore { basis, wrong, untouched } => (Some(*basis), *wrong, *untouched, None),
        Verdict::Hang { after } => {
            (None, None, None, Some(format!("hang after {:.1} s", after.as_secs_f64())))
        }
        Verdict::Crash { signal, location } => {
            let at = location.as_deref().map(|l| format!(" in {l}")).unwrap_or_default();
            (None, None, None, Some(format!("signal {signal}{at}")))
        }
        Verdict::DeviceLost { what } | Verdict::BuildFailed { what } => {
            (None, None, None, Some(what.clone()))
        }
        Verdict::Untestable { reason } | Verdict::HarnessError { reason } => {
            (None, None, None, Some(reason.clone()))
        }
    }
}

/// The line that decides: the one with the flag if any has it, else the largest sum.
fn per_dispatch(record: &RunRecord) -> Option<PerDispatch> {
    let lines = &record.facts.neo.as_ref()?.per_dispatch;
    lines.iter().copied().max_by_key(|line| (line.flag, line.module_private))
}

/// Bytes of the checked kernel's private surface, from what the driver used.
fn surface_bytes(record: &RunRecord) -> Option<u64> {
    let per_thread = u64::from(record.repro.as_ref()?.kernel.private_mem_size);
    let units = record.facts.neo.as_ref().and_then(|neo| neo.compute_units)?;
    per_thread.checked_mul(units).filter(|bytes| *bytes > 0)
}

/// Of the checked module, and of the late one.
fn histories(record: &RunRecord, bytes: u64) -> Option<String> {
    let units = record.facts.neo.as_ref().and_then(|neo| neo.compute_units);
    let late = record.repro.as_ref().and_then(|repro| repro.late_kernel.as_ref()).zip(units);
    let late = late.and_then(|(kernel, units)| {
        let late = u64::from(kernel.private_mem_size).checked_mul(units).filter(|late| *late != bytes)?;
        history(record, late)
    });
    match (history(record, bytes), late) {
        (Some(first), Some(late)) => Some(format!("{first}; late {late}")),
        (first, late) => first.or_else(|| late.map(|late| format!("late {late}"))),
    }
}

fn history(record: &RunRecord, bytes: u64) -> Option<String> {
    let tell = |ranges: &[RangeHistory], dispatches: &[_]| {
        let lives: Vec<String> = surface::histories(ranges, dispatches, bytes)
            .into_iter()
            .map(|h| {
                let known = h.events.iter().all(|e| e.phase.is_some());
                surface::compress(&surface::effective(&h.events), known)
            })
            .collect();
        (!lives.is_empty()).then(|| lives.join(" | "))
    };
    let by_sim = record.facts.sim.as_ref().and_then(|sim| tell(&sim.ranges, &sim.dispatches));
    by_sim.or_else(|| record.facts.neo.as_ref().and_then(|neo| tell(&neo.ranges, &[])))
}

/// Failed binds by the best witness there is: the kernel's side first.
pub fn eperm(record: &RunRecord) -> Option<u64> {
    let facts = &record.facts;
    agree::eperm_by_sim(facts)
        .or_else(|| agree::eperm_by_strace(facts))
        .or_else(|| agree::eperm_by_neo(facts))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let mid = values.len() / 2;
    let upper = values.get(mid).copied().unwrap_or(0.0);
    if values.len().is_multiple_of(2) && mid > 0 {
        (upper + values.get(mid - 1).copied().unwrap_or(upper)) / 2.0
    } else {
        upper
    }
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
