//! A kind of verdict with its numbers and words.

use crate::model::facts::{Facts, SimFacts};
use crate::model::repro::{Check, Phase};
use crate::model::verdict::{Basis, Evidence, RunEnd, Verdict};

use super::context::{Account, Context};
use super::ended::wrapper_signal;
use super::reduce::unsupported;
use super::story::describe_error;
use super::table::{Kind, Ours, Untestable};

pub fn dress(
    kind: Kind,
    end: &RunEnd,
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
    evidence: &[Evidence],
) -> Verdict {
    match kind {
        Kind::Clean(basis) => Verdict::Clean { basis },
        Kind::Corrupt(basis) => {
            let sums = Sums::of(account, basis, |p| p > Phase::Before);
            Verdict::Corrupt {
                basis,
                wrong: sums.map(|s| s.wrong),
                untouched: sums.map(|s| s.untouched),
                control_wrong: sums.map(|s| s.control_wrong),
            }
        }
        Kind::WrongBefore(basis) => {
            let sums = Sums::of(account, basis, |p| p <= Phase::Before);
            Verdict::WrongBefore { basis, wrong: sums.map(|s| s.wrong), untouched: sums.map(|s| s.untouched) }
        }
        Kind::Hang => match end {
            RunEnd::TimedOut { after, .. } | RunEnd::Inactive { after, .. } => {
                Verdict::Hang { after: *after }
            }
            RunEnd::Exited { .. }
            | RunEnd::Signaled { .. }
            | RunEnd::OutputFlood { .. }
            | RunEnd::SpawnFailed { .. }
            | RunEnd::Interrupted => {
                Verdict::HarnessError { reason: "a hang without a time: a fault of the judge".into() }
            }
        },
        Kind::Crash => Verdict::Crash {
            signal: signal_of(end, facts, context).unwrap_or(0),
            location: crash_location(facts),
        },
        Kind::DeviceLost => Verdict::DeviceLost { what: error_text(account) },
        Kind::BuildFailed => Verdict::BuildFailed { what: error_text(account) },
        Kind::Untestable(why) => {
            Verdict::Untestable { reason: untestable(why, account, facts, context, evidence) }
        }
        Kind::HarnessError(why) => Verdict::HarnessError { reason: ours(why, end, account, facts, evidence) },
    }
}

/// Sums over the checks of one side of the copies. Only where the data took part in the verdict.
#[derive(Clone, Copy)]
struct Sums {
    wrong: u64,
    untouched: u64,
    control_wrong: u64,
}

impl Sums {
    fn of(account: &Account, basis: Basis, want: fn(Phase) -> bool) -> Option<Sums> {
        match basis {
            Basis::Residency => return None,
            Basis::Data | Basis::Both => {}
        }
        let checks: Vec<&Check> = account.given()?.checks.iter().filter(|c| want(c.phase)).collect();
        let sum = |of: fn(&Check) -> u64| checks.iter().map(|c| of(c)).sum();
        Some(Sums {
            wrong: sum(|c| c.wrong),
            untouched: sum(|c| c.untouched),
            control_wrong: sum(|c| c.control_wrong),
        })
    }
}

fn signal_of(end: &RunEnd, facts: &Facts, context: &Context<'_>) -> Option<i32> {
    match end {
        RunEnd::Signaled { signal, .. } => Some(*signal),
        RunEnd::Exited { code } => wrapper_signal(*code, facts, context),
        RunEnd::TimedOut { .. }
        | RunEnd::Inactive { .. }
        | RunEnd::OutputFlood { .. }
        | RunEnd::SpawnFailed { .. }
        | RunEnd::Interrupted => None,
    }
}

/// `libze_intel_gpu.so.1.15.39122+80c610` from the kernel's "segfault at … in LIB[OFFSET,…]".
fn crash_location(facts: &Facts) -> Option<String> {
    let lines = &facts.kernel_log.as_ref()?.lines;
    let line = lines.iter().rev().find(|line| line.contains("segfault at"))?;
    let (_, rest) = line.rsplit_once(" in ")?;
    let (library, rest) = rest.split_once('[')?;
    let offset = rest.split([',', ']', '+']).next()?;
    Some(format!("{library}+{offset}"))
}

fn error_text(account: &Account) -> String {
    match account.given().and_then(|r| r.error.as_ref()) {
        Some(error) => describe_error(error),
        None => "the reproducer gave no reason".into(),
    }
}

fn said_by(evidence: &[Evidence], instrument: &str) -> String {
    let all: Vec<&str> =
        evidence.iter().filter(|e| e.instrument == instrument).map(|e| e.says.as_str()).collect();
    if all.is_empty() { format!("{instrument} says nothing") } else { all.join("; ") }
}

fn untestable(
    why: Untestable,
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
    evidence: &[Evidence],
) -> String {
    let driver = context.driver.map_or_else(|| context.arm.driver.clone(), |d| d.name.clone());
    match why {
        Untestable::OtherDriver => format!("another driver was used: {}", said_by(evidence, "maps")),
        Untestable::DriverNotProved => {
            format!("it is not proved which driver ran: {}", said_by(evidence, "maps"))
        }
        Untestable::NoDriver => {
            let mut text = format!("{} under driver {driver}", error_text(account));
            let refused = unsupported(facts);
            if !refused.is_empty() {
                text += &format!(
                    ". The driver asked for {}, which the xe uAPI of this device does not have: a build from before \
                     (or after) it? Try releases from 24.26 on, or an i915-bound card",
                    refused.join(", ")
                );
            } else {
                text += ". `repro-matrix doctor` says what this machine lacks; `drivers show` what the build holds";
            }
            text
        }
        Untestable::CallFailed => format!("{} under driver {driver}", error_text(account)),
        Untestable::KeyUnknown | Untestable::KeysNotObservable => {
            format!("debug keys: {}", said_by(evidence, "neo-log"))
        }
        Untestable::FaultNotInjected => {
            let rules: Vec<String> = facts
                .sim
                .iter()
                .flat_map(SimFacts::injected)
                .filter(|fault| fault.times == 0)
                .map(|fault| fault.to_string())
                .collect();
            format!("{}: what the fault does was not tried", rules.join("; "))
        }
    }
}

fn ours(why: Ours, end: &RunEnd, account: &Account, facts: &Facts, evidence: &[Evidence]) -> String {
    match why {
        Ours::Interrupted => "interrupted".into(),
        Ours::NotStarted | Ours::Flood => said_by(evidence, "harness"),
        Ours::Instrument => format!("an instrument did not work: {}", said_by(evidence, "harness")),
        Ours::KilledFromOutside => {
            format!(
                "{}: killed from outside (out of memory, a size limit, a person)",
                said_by(evidence, "harness")
            )
        }
        Ours::DeviceModel => {
            format!("the device model lacks what the run needs: {}", unsupported(facts).join(", "))
        }
        Ours::Reproducer => format!("the reproducer failed: {}", error_text(account)),
        Ours::NoResult => match account {
            Account::Garbled(why) => format!("the reproducer's result cannot be read: {why}"),
            Account::Missing | Account::Given(_) => {
                format!("the reproducer gave no result ({})", said_by(evidence, "harness"))
            }
        },
        Ours::TriggerNotRun => format!("the trigger did not run as asked: {}", said_by(evidence, "data")),
        Ours::ExitContradicts => format!(
            "the exit status contradicts the reproducer's own result: {}, but {}",
            match end {
                RunEnd::Exited { code } => format!("exit code {code}"),
                other => format!("{other:?}"),
            },
            said_by(evidence, "data")
        ),
        Ours::Trace | Ours::Undecided => said_by(evidence, "sim"),
        Ours::DataIncomplete => format!("the data check is incomplete: {}", said_by(evidence, "data")),
        Ours::Contradiction => format!(
            "the device model contradicts itself: {}, but {}",
            said_by(evidence, "data"),
            said_by(evidence, "sim")
        ),
    }
}
