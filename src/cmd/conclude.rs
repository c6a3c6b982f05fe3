//! From a raw run to its record: judge, compare with the expectation, keep the logs.

use std::path::Path;

use crate::judge::{self, Account, Context, expect};
use crate::model::arm::Arm;
use crate::model::facts::Facts;
use crate::model::outcome::{RESULTS_VERSION, RunRecord};
use crate::model::verdict::{Evidence, RunEnd, Verdict};
use crate::results::logs;
use crate::run::lab::{BuildFailure, CannotKeep};
use crate::run::{RawRun, RunSpec};

/// What a record says besides its judgement.
#[derive(Clone, Debug)]
pub struct Identity<'a> {
    pub device: &'a str,
    pub driver_hash: &'a str,
}

/// The record of a run that took place (or could not be started). `Err`: its logs could not be stored, so that it
/// must not count.
pub fn conclude(
    spec: &RunSpec,
    raw: &RawRun,
    repeat: u32,
    facts: Facts,
    context: &Context<'_>,
    identity: &Identity<'_>,
    results: &Path,
) -> Result<RunRecord, CannotKeep> {
    let arm = context.arm;
    let mut broken = context.broken.to_vec();
    broken.extend(lost_instruments(raw));
    let account = Account::read(&raw.result);
    // Logs first: a run without its evidence is no result.
    if let Some(why) = [&raw.stdout, &raw.stderr].into_iter().find_map(|c| c.lost.as_ref()) {
        return Err(CannotKeep(why.clone()));
    }
    let kept = if matches!(raw.end, RunEnd::Interrupted) {
        Vec::new()
    } else {
        logs::keep(results, &arm.id, repeat, raw)
            .map_err(|e| CannotKeep(format!("the logs of {} could not be stored: {e}", arm.id)))?
    };
    let context = Context { broken: &broken, ..context.clone() };
    let mut judged = judge::judge(&raw.end, &account, &facts, &context);
    judged.evidence.extend(leftovers(raw));
    let comparison = expect::compare(arm.expect.as_ref(), &judged.verdict, &facts);
    let as_expected = comparison.as_ref().and_then(expect::Comparison::met);
    let expect::Comparison { unmet, not_measured } = comparison.unwrap_or_default();
    Ok(RunRecord {
        version: RESULTS_VERSION,
        arm: arm.id.clone(),
        repeat,
        started: humantime::format_rfc3339_millis(raw.started).to_string(),
        wall_seconds: raw.wall.as_secs_f64(),
        device: identity.device.to_owned(),
        driver: identity.driver_hash.to_owned(),
        command: spec.argv.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
        environment: spec.env.clone(),
        end: raw.end.clone(),
        verdict: judged.verdict,
        evidence: judged.evidence,
        compared: Some(judged.compared),
        disagreements: judged.disagreements,
        signature: judged.signature,
        as_expected,
        unmet,
        not_measured,
        repro: match account {
            Account::Given(result) => Some(*result),
            Account::Missing | Account::Garbled(_) => None,
        },
        facts,
        source: None,
        logs: kept,
    })
}

/// Our own instruments that failed during the run.
fn lost_instruments(raw: &RawRun) -> Vec<String> {
    raw.survivors.iter().map(|p| format!("process {} ({}) did not die of KILL", p.pid, p.name)).collect()
}

fn leftovers(raw: &RawRun) -> Vec<Evidence> {
    raw.leaked
        .iter()
        .map(|process| Evidence {
            instrument: "harness".into(),
            says: format!("process {} ({}) outlived the run and was killed", process.pid, process.name),
        })
        .collect()
}

/// The record of a cell that never ran: its variant did not build, or its run could not be prepared.
pub fn without_run(arm: &Arm, repeat: u32, verdict: Verdict, identity: &Identity<'_>) -> RunRecord {
    let facts = Facts::default();
    let comparison = expect::compare(arm.expect.as_ref(), &verdict, &facts);
    let as_expected = comparison.as_ref().and_then(expect::Comparison::met);
    let expect::Comparison { unmet, not_measured } = comparison.unwrap_or_default();
    RunRecord {
        version: RESULTS_VERSION,
        arm: arm.id.clone(),
        repeat,
        started: humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string(),
        wall_seconds: 0.0,
        device: identity.device.to_owned(),
        driver: identity.driver_hash.to_owned(),
        command: Vec::new(),
        environment: Vec::new(),
        end: RunEnd::SpawnFailed { errno: 0, what: "not run".into() },
        signature: verdict.word().to_owned(),
        verdict,
        evidence: Vec::new(),
        compared: Some(Vec::new()),
        disagreements: Vec::new(),
        as_expected,
        unmet,
        not_measured,
        repro: None,
        facts,
        source: None,
        logs: Vec::new(),
    }
}

/// [`without_run`] for a failed build.
pub fn not_built(arm: &Arm, repeat: u32, failure: &BuildFailure, identity: &Identity<'_>) -> RunRecord {
    without_run(arm, repeat, Verdict::BuildFailed { what: failure.what.clone() }, identity)
}
