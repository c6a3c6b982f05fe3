//! "What this run establishes": computed from the arms and their runs, never from what the matrix was meant to
//! show. Works on any matrix: it compares arms axis by axis.

use std::collections::BTreeSet;

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::model::verdict::Basis;
use crate::results::manifest::LeftOut;

use super::aggregate::ArmSummary;
use super::axes::{self, Point};
use super::compared;
use super::gaps;
use super::instruments;
use super::mechanism;
use super::pairs::single_axis;

/// One statement under its heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub heading: &'static str,
    pub text: String,
}

/// An arm with what is known of it. `corrupt` is `None` where it has neither a clean nor a corrupt verdict.
pub(super) struct Seen<'a> {
    arm: &'a Arm,
    pub(super) summary: &'a ArmSummary,
    pub(super) point: Point,
    pub(super) corrupt: Option<bool>,
}

/// All statements, in reading order. `summaries` are those of `arms`, in the same order.
pub fn findings(
    arms: &[Arm],
    summaries: &[ArmSummary],
    records: &[RunRecord],
    left_out: &[LeftOut],
) -> Vec<Finding> {
    let seen: Vec<Seen<'_>> = arms
        .iter()
        .zip(summaries)
        .zip(axes::points(arms, records))
        .map(|((arm, summary), point)| Seen {
            arm,
            summary,
            point,
            corrupt: match (summary.runs, summary.verdict.word) {
                (0, _) => None,
                (_, "corrupt") => Some(true),
                (_, "clean") => Some(false),
                (_, _) => None,
            },
        })
        .collect();
    let mut out = Vec::new();
    let mut add = |heading: &'static str, text: Option<String>| {
        out.extend(text.map(|text| Finding { heading, text }));
    };
    add("Threshold", mechanism::threshold(&seen));
    for text in single_axis(&seen) {
        add(text.0, Some(text.1));
    }
    add("Confounded", confounded(&seen));
    add("Cause", mechanism::cause(&seen));
    add("Failed binds", mechanism::failed_binds(&seen));
    add("Same point", same_point(&seen));
    add("Instruments", instruments::told(records));
    add("Arguments", super::arguments::told(arms, records));
    add("Control", positive_control(&seen, left_out));
    add("Not run here", gaps::not_here(left_out));
    add("Not observed", gaps::not_observed(arms));
    add("Cut short", gaps::cut_short(arms, summaries));
    add("Ended early", ended_early(&seen));
    add("No verdict", no_verdict(&seen));
    add("Not measured", gaps::not_measured(summaries));
    add("Faults", gaps::never_fired(records));
    add("Not shown", not_shown(&seen, records));
    out.extend(compared::findings(arms, summaries));
    out
}

/// Axes that always moved together: which of them matters cannot be told.
fn confounded(seen: &[Seen<'_>]) -> Option<String> {
    let tried: Vec<&Seen<'_>> = seen.iter().filter(|s| s.corrupt.is_some()).collect();
    let names: BTreeSet<&'static str> = tried.iter().flat_map(|s| s.point.keys().copied()).collect();
    let names: Vec<&'static str> = names.into_iter().collect();
    let mut told = Vec::new();
    for (i, a) in names.iter().enumerate() {
        for b in names.iter().skip(i + 1) {
            if let Some(pairs) = bijection(&tried, a, b) {
                let pairs: Vec<String> = pairs
                    .into_iter()
                    .map(|(x, y)| format!("{} with {}", axes::shown(a, &x), axes::shown(b, &y)))
                    .collect();
                told.push(format!("{a} and {b} ({})", pairs.join(", ")));
            }
        }
    }
    (!told.is_empty())
        .then(|| format!("never varied apart, so which of them matters is not shown: {}.", told.join("; ")))
}

/// The value pairs of two axes, if each takes several values and each value of one goes with one of the other.
fn bijection(tried: &[&Seen<'_>], a: &str, b: &str) -> Option<BTreeSet<(String, String)>> {
    let pairs: BTreeSet<(String, String)> =
        tried.iter().filter_map(|s| Some((s.point.get(a)?.clone(), s.point.get(b)?.clone()))).collect();
    let left: BTreeSet<&String> = pairs.iter().map(|(x, _)| x).collect();
    let right: BTreeSet<&String> = pairs.iter().map(|(_, y)| y).collect();
    (pairs.len() > 1 && left.len() == pairs.len() && right.len() == pairs.len()).then_some(pairs)
}

/// Arms that are the same experiment and do not agree.
fn same_point(seen: &[Seen<'_>]) -> Option<String> {
    let mut told = Vec::new();
    for (i, a) in seen.iter().enumerate() {
        for b in seen.iter().skip(i + 1) {
            if a.point == b.point && a.corrupt.is_some() && b.corrupt.is_some() && a.corrupt != b.corrupt {
                told.push(format!("{} and {}", a.summary.id, b.summary.id));
            }
        }
    }
    (!told.is_empty()).then(|| format!("the same experiment gave different verdicts: {}.", told.join("; ")))
}

fn positive_control(seen: &[Seen<'_>], left_out: &[LeftOut]) -> Option<String> {
    let controls: Vec<&Seen<'_>> = seen.iter().filter(|s| s.arm.positive_control).collect();
    let failed: Vec<&str> =
        controls.iter().filter(|s| s.corrupt != Some(true)).map(|s| s.summary.id.as_str()).collect();
    if controls.is_empty() {
        let out: Vec<&str> =
            left_out.iter().filter(|out| out.positive_control).map(|out| out.arm.as_str()).collect();
        return (!seen.is_empty() && !out.is_empty()).then(|| {
            format!(
                "the positive control {} was left out and not run: a \"clean\" result proves little.",
                out.join(", ")
            )
        });
    }
    if controls.iter().all(|s| s.summary.runs == 0) {
        return Some("the positive control has not run: \"clean\" elsewhere proves little.".into());
    }
    Some(if failed.is_empty() {
        "the positive control is corrupt, as it must be: the set-up can show the fault.".into()
    } else {
        format!(
            "the positive control {} is not corrupt: \"clean\" elsewhere proves little.",
            failed.join(", ")
        )
    })
}

/// Arms that came to no comparison because of the driver or the compiler, with what they said.
fn ended_early(seen: &[Seen<'_>]) -> Option<String> {
    let mut ends: Vec<(String, Vec<&str>)> = Vec::new();
    for s in
        seen.iter().filter(|s| matches!(s.summary.verdict.word, "build-failed" | "crash" | "device-lost"))
    {
        let why =
            s.summary.reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or("no reason given");
        let why: String = why.chars().take(200).collect();
        let end = format!("{}: {why}", s.summary.verdict.word);
        match ends.iter_mut().find(|(known, _)| *known == end) {
            Some((_, ids)) => ids.push(&s.summary.id),
            None => ends.push((end, vec![&s.summary.id])),
        }
    }
    let told: Vec<String> = ends.iter().map(|(end, ids)| format!("{} ({end})", ids.join(", "))).collect();
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

fn no_verdict(seen: &[Seen<'_>]) -> Option<String> {
    let none: Vec<&Seen<'_>> = seen.iter().filter(|s| !s.summary.conclusive()).collect();
    if none.is_empty() {
        return None;
    }
    let mut told: Vec<String> = none
        .iter()
        .take(5)
        .map(|s| match &s.summary.reason {
            Some(reason) => format!("{} ({}: {reason})", s.summary.id, s.summary.verdict),
            None => format!("{} ({})", s.summary.id, s.summary.verdict),
        })
        .collect();
    if none.len() > 5 {
        told.push(format!("{} more", none.len() - 5));
    }
    Some(format!("{}.", told.join("; ")))
}

fn not_shown(seen: &[Seen<'_>], records: &[RunRecord]) -> Option<String> {
    let simulated = records.iter().filter(|r| r.device.starts_with("sim:")).count();
    if simulated == 0 {
        return None;
    }
    let mut text = if simulated == records.len() {
        "silicon. The device is a model (docs/device-model.md).".to_owned()
    } else {
        format!(
            "silicon, for {simulated} of {} runs: their device is a model (docs/device-model.md).",
            records.len()
        )
    };
    if seen.iter().any(|s| s.summary.basis == Some(Basis::Residency)) {
        text += " Elements were not compared where it executes no kernels: those verdicts rest on what was bound.";
    }
    Some(text)
}

#[cfg(test)]
#[path = "findings_tests.rs"]
mod tests;
