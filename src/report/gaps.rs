//! What was asked for and is not in the results: arms that could not run here, expectations that nothing measured, faults
//! that were not injected. Unsaid, the rest would read as the whole.

use std::collections::BTreeMap;

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::results::manifest::LeftOut;

use super::aggregate::{ArmSummary, OUT_OF_TIME};
use super::words::plural;

/// Arms that this machine cannot run, by reason.
pub(super) fn not_here(left_out: &[LeftOut]) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for out in left_out.iter().filter(|out| out.not_here) {
        match reasons.iter_mut().find(|(known, _)| *known == out.reason) {
            Some((_, arms)) => arms.push(&out.arm),
            None => reasons.push((&out.reason, vec![&out.arm])),
        }
    }
    let told: Vec<String> = reasons
        .iter()
        .map(|(why, arms)| match arms[..] {
            [_, _, _, _, _, ..] => format!("{} and {} more ({why})", arms[..3].join(", "), arms.len() - 3),
            _ => format!("{} ({why})", arms.join(", ")),
        })
        .collect();
    let arms: usize = reasons.iter().map(|(_, arms)| arms.len()).sum();
    (arms > 0).then(|| format!("{} could not run here: {}.", plural(arms, "arm"), told.join("; ")))
}

/// Observers that the matrix asks for and the device of some arm cannot have.
pub(super) fn not_observed(arms: &[Arm]) -> Option<String> {
    let mut observers: BTreeMap<String, usize> = BTreeMap::new();
    for lacking in arms.iter().flat_map(|arm| &arm.not_observed) {
        *observers.entry(lacking.to_string()).or_default() += 1;
    }
    let told: Vec<String> = observers
        .iter()
        .map(|(what, arms_of_it)| format!("{what} ({})", plural(*arms_of_it, "arm")))
        .collect();
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

/// Runs that `--max-time` left undone. `arms` are those of `summaries`, in the same order.
pub(super) fn cut_short(arms: &[Arm], summaries: &[ArmSummary]) -> Option<String> {
    let cut: Vec<_> = arms
        .iter()
        .zip(summaries)
        .filter(|(_, summary)| summary.out_of_time())
        .map(|(arm, summary)| {
            format!("{} has {} of {}", arm.id, summary.runs, plural(arm.repeats as usize, "run"))
        })
        .collect();
    let more = cut.len().saturating_sub(5);
    let more = if more > 0 { format!("; {more} more arms") } else { String::new() };
    let told = cut.get(..5).unwrap_or(&cut).join("; ");
    (!cut.is_empty())
        .then(|| format!("the time of {OUT_OF_TIME} was over before all planned runs: {told}{more}."))
}

/// Expectations that nothing measured: the arm is not as expected, and not otherwise either.
pub(super) fn not_measured(summaries: &[ArmSummary]) -> Option<String> {
    let arms: Vec<&ArmSummary> = summaries.iter().filter(|arm| !arm.not_measured.is_empty()).collect();
    let mut told: Vec<String> =
        arms.iter().take(5).map(|arm| format!("{} ({})", arm.id, arm.not_measured.join("; "))).collect();
    if arms.len() > 5 {
        told.push(format!("{} more", arms.len() - 5));
    }
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

/// Rules of faults that some run was to inject and did not.
pub(super) fn never_fired(records: &[RunRecord]) -> Option<String> {
    // Rule → (runs in which it never fired, runs that had it).
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for fault in records.iter().filter_map(|record| record.facts.sim.as_ref()).flat_map(|sim| sim.injected())
    {
        let (never, all) = rules.entry(fault.rule).or_default();
        *never += usize::from(fault.times == 0);
        *all += 1;
    }
    let told: Vec<String> = rules
        .iter()
        .filter(|(_, (never, _))| *never > 0)
        .map(|(rule, (never, all))| format!("{rule} never fired in {never} of {}", plural(*all, "run")))
        .collect();
    (!told.is_empty()).then(|| format!("{}: what it does was not tried there.", told.join("; ")))
}
