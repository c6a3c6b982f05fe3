//! Facts → the few values of the truth table, with one sentence of evidence for each instrument that spoke.

use std::collections::BTreeMap;

use crate::model::facts::{Facts, SimFacts};
use crate::model::verdict::{Evidence, RunEnd};

use super::context::{Account, Context};
use super::table::{DeviceSays, FaultsSay, Reduced};
use super::{ended, residency, story, subject};

/// Looks at everything once, in the order in which the evidence is read.
pub fn reduce(
    end: &RunEnd,
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
    evidence: &mut Vec<Evidence>,
) -> Reduced {
    let mut say = |instrument: &str, says: String| {
        evidence.push(Evidence { instrument: instrument.to_owned(), says });
    };
    let ending = ended::ending(end, facts, context);
    say("harness", ended::describe_end(end));
    for broken in context.broken {
        say("harness", broken.clone());
    }
    for lacking in &context.arm.not_observed {
        say("harness", lacking.to_string());
    }
    let (identity, why) = subject::identity(account, facts, context);
    if let Some(why) = why {
        say("maps", why);
    }
    let (keys, why) = subject::keys(facts, context);
    if let Some(why) = why {
        say("neo-log", why);
    }
    let (came, why) = story::story(account);
    if let Some(why) = why {
        say("data", why);
    }
    let executes = !context.simulated || facts.sim.as_ref().is_some_and(|sim| sim.executes_kernels);
    let (data, why) = story::data(account, executes);
    say("data", why);
    let (device, why) = match (&facts.sim, context.simulated) {
        (Some(sim), true) => residency::says(sim, facts.neo.as_ref(), account.given(), context),
        (None, true) => (DeviceSays::Incomplete, "the simulated device left no trace".into()),
        (_, false) => (DeviceSays::Absent, String::new()),
    };
    if context.simulated {
        say("sim", why);
    }
    if let Some(text) = facts.sim.as_ref().and_then(executed) {
        say("sim", text);
    }
    let mut faults_say = FaultsSay::AsAsked;
    for fault in facts.sim.iter().flat_map(SimFacts::injected) {
        if fault.times == 0 {
            faults_say = FaultsSay::NotInjected;
        }
        say("sim", fault.to_string());
    }
    let unsupported = unsupported(facts);
    if !unsupported.is_empty() {
        say("sim", format!("refused for lack of support: {}", unsupported.join(", ")));
    }
    let (trigger, why) = story::trigger(account, context);
    if let Some(why) = why {
        say("data", why);
    }
    kernel_log(facts, &mut say);
    Reduced {
        ending,
        story: came,
        data,
        device,
        identity,
        keys,
        trigger,
        faults: faults_say,
        unsupported: !unsupported.is_empty(),
        broken: !context.broken.is_empty(),
    }
}

/// What the device executed, and what its kernels met that is not bound.
fn executed(sim: &SimFacts) -> Option<String> {
    let s = &sim.summary;
    if s.executed == 0 {
        return None;
    }
    let mut text = format!("executed {} dispatches, {} SIMD instructions", s.executed, s.instructions);
    if s.native_dispatches > 0 {
        text += &format!(
            "; {} of them are copies or fills of {} bytes at the host's speed, {} groups of them executed and compared",
            s.native_dispatches, s.native_bytes, s.sampled_groups
        );
    }
    let mut roles: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for missed in &sim.unmapped {
        let role = match (&missed.role, missed.range_len) {
            (Some(role), _) => format!("{role}, which is not bound"),
            (None, 0) => "memory that was never bound".to_owned(),
            (None, _) => "another range that was bound and no longer is".to_owned(),
        };
        let sum = roles.entry(role).or_default();
        *sum = (sum.0 + missed.read, sum.1 + missed.written);
    }
    for (role, (read, written)) in roles {
        text += &format!("; kernels read {read} bytes of and wrote {written} bytes to {role}");
    }
    Some(text)
}

/// Names of what the model refused, with counts.
pub fn unsupported(facts: &Facts) -> Vec<String> {
    let Some(sim) = &facts.sim else { return Vec::new() };
    let s = &sim.summary;
    s.unsupported_ioctls
        .iter()
        .chain(&s.unsupported_commands)
        .map(|(name, n)| format!("{name} ×{n}"))
        .collect()
}

fn kernel_log(facts: &Facts, say: &mut impl FnMut(&str, String)) {
    let Some(log) = &facts.kernel_log else { return };
    if !log.readable {
        say("kernel-log", format!("not readable: {}", log.why_not.as_deref().unwrap_or("unknown reason")));
        return;
    }
    let n = [log.engine_resets, log.faults, log.timed_out_jobs, log.cat_errors, log.vm_worker_errors];
    say(
        "kernel-log",
        if n.iter().all(|n| *n == 0) {
            "silent".into()
        } else {
            format!(
                "{} engine resets, {} faults, {} timed-out jobs, {} CAT errors, {} VM worker errors",
                log.engine_resets, log.faults, log.timed_out_jobs, log.cat_errors, log.vm_worker_errors
            )
        },
    );
}
