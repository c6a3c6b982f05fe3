//! Facts → the few values of the truth table, with one sentence of evidence for each instrument that spoke.

use std::collections::BTreeMap;

use crate::model::arm::{Observer, PageCache, SourceKind};
use crate::model::facts::{Facts, LoadedLibrary, SimFacts, is_opencl};
use crate::model::repro::{Check, Phase, ReproError, ReproResult};
use crate::model::verdict::{Evidence, RunEnd};

use super::context::{Account, Context, ExpectedDriver};
use super::residency;
use super::table::{DataSays, DeviceSays, Ending, FaultsSay, Identity, KeysSay, Reduced, Story, Trigger};

/// ze_result_t values (ze_api.h).
pub mod ze {
    pub const DEVICE_LOST: u32 = 0x7000_0001;
    pub const MODULE_BUILD_FAILURE: u32 = 0x7000_0004;
    pub const MODULE_LINK_FAILURE: u32 = 0x7000_0005;
    pub const UNINITIALIZED: u32 = 0x7800_0001;
    pub const DEPENDENCY_UNAVAILABLE: u32 = 0x7002_0000;
}

/// What is said of keys that the driver did not echo.
pub const NOT_ECHOED: &str = "not echoed (unknown to this driver, or set to its default)";
/// The driver knows the key and not the value: a number that is none is 0 to it.
pub const READ_OTHERWISE: &str = "read by the driver as another value";

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
    let ending = ending(end, facts, context);
    say("harness", describe_end(end));
    for broken in context.broken {
        say("harness", broken.clone());
    }
    for lacking in &context.arm.not_observed {
        say("harness", lacking.to_string());
    }
    let (identity, why) = identity(account, facts, context);
    if let Some(why) = why {
        say("maps", why);
    }
    let (keys, why) = keys(facts, context);
    if let Some(why) = why {
        say("neo-log", why);
    }
    let (story, why) = story(account);
    if let Some(why) = why {
        say("data", why);
    }
    let executes = !context.simulated || facts.sim.as_ref().is_some_and(|sim| sim.executes_kernels);
    let (data, why) = data(account, executes);
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
    let (trigger, why) = trigger(account, context);
    if let Some(why) = why {
        say("data", why);
    }
    kernel_log(facts, &mut say);
    Reduced {
        ending,
        story,
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

fn ending(end: &RunEnd, facts: &Facts, context: &Context<'_>) -> Ending {
    match end {
        RunEnd::Exited { code } => match (code, wrapper_signal(*code, facts, context)) {
            (_, Some(signal)) => by_signal(signal),
            (0, None) => Ending::Success,
            (1, None) => Ending::Found,
            (_, None) => Ending::OtherCode,
        },
        RunEnd::Signaled { signal, .. } => by_signal(*signal),
        RunEnd::TimedOut { .. } | RunEnd::Inactive { .. } => Ending::Hung,
        RunEnd::OutputFlood { .. } => Ending::Flood,
        RunEnd::SpawnFailed { .. } => Ending::NotStarted,
        RunEnd::Interrupted => Ending::Interrupted,
    }
}

/// The simulated device's wrapper ends with 128 + signal when its client died of one.
pub fn wrapper_signal(code: i32, facts: &Facts, context: &Context<'_>) -> Option<i32> {
    if !context.simulated {
        return None;
    }
    let told = facts.sim.as_ref().and_then(|sim| sim.summary.signal);
    told.or_else(|| (129..=192).contains(&code).then_some(code - 128))
}

fn by_signal(signal: i32) -> Ending {
    match signal {
        libc::SIGKILL | libc::SIGTERM | libc::SIGINT | libc::SIGHUP => Ending::OutsideKill,
        // SIGXFSZ is the harness's own limit on file sizes.
        libc::SIGXFSZ | libc::SIGXCPU => Ending::OutsideKill,
        _ => Ending::Signal,
    }
}

fn describe_end(end: &RunEnd) -> String {
    match end {
        RunEnd::Exited { code } => format!("exit code {code}"),
        RunEnd::Signaled { signal, core_dumped } => {
            format!("ended by signal {signal}{}", if *core_dumped { ", core dumped" } else { "" })
        }
        RunEnd::TimedOut { after, killed } => {
            format!("stopped after {:.1} s (timeout{})", after.as_secs_f64(), kill_word(*killed))
        }
        RunEnd::Inactive { after, killed } => {
            format!(
                "stopped after {:.1} s (no output, no device activity{})",
                after.as_secs_f64(),
                kill_word(*killed)
            )
        }
        RunEnd::OutputFlood { bytes } => format!("stopped after {bytes} bytes of output"),
        RunEnd::SpawnFailed { errno, what } => format!("not started: {what} (errno {errno})"),
        RunEnd::Interrupted => "interrupted".into(),
    }
}

fn kill_word(killed: bool) -> &'static str {
    if killed { "; TERM was ignored, KILL was needed" } else { "" }
}

/// Is the library that ran the one that was asked for? Judged by build-id or SHA-256, and the path.
fn identity(account: &Account, facts: &Facts, context: &Context<'_>) -> (Identity, Option<String>) {
    let Some(expected) = context.driver else { return (Identity::Proved, None) };
    // Only commands tell of it: the other reproducers ask their own queue which backend it is of.
    if let Some(path) = account.given().and_then(|result| result.opencl.as_ref()) {
        let why = format!(
            "{path} is mapped: the work may have been OpenCL's. Keep it out (ONEAPI_DEVICE_SELECTOR=level_zero:gpu, \
             OCL_ICD_VENDORS=/nonexistent)"
        );
        return (Identity::Unproved, Some(why));
    }
    let Some(loaded) = &facts.loaded else {
        return (Identity::Unproved, Some("the client's maps were not read".into()));
    };
    let file_name = |library: &LoadedLibrary| library.path.rsplit('/').next().unwrap_or("").to_owned();
    let candidates: Vec<_> =
        loaded.libraries.iter().filter(|l| file_name(l).contains(&expected.library)).collect();
    if candidates.is_empty() {
        let other = loaded.libraries.iter().find(|library| is_opencl(&library.path));
        return match other {
            Some(other) => {
                (Identity::Other, Some(format!("OpenCL backend instead: {} is mapped", other.path)))
            }
            None => (Identity::Unproved, Some(format!("{} is not mapped", expected.library))),
        };
    }
    for library in candidates {
        match same(library, expected) {
            Some(true) => {}
            Some(false) => {
                return (Identity::Other, Some(format!("{} is loaded, not {}", library.path, expected.path)));
            }
            None => return (Identity::Unproved, Some(format!("{} could not be identified", library.path))),
        }
    }
    let by = expected.build_id.as_deref().map(|id| format!(", build-id {id}")).unwrap_or_default();
    (Identity::Proved, Some(format!("{} is loaded{by}", expected.path)))
}

/// `None`: nothing to compare by.
fn same(library: &LoadedLibrary, expected: &ExpectedDriver) -> Option<bool> {
    let content = [(&library.build_id, &expected.build_id), (&library.sha256, &expected.sha256)]
        .into_iter()
        .filter_map(|(a, b)| Some(a.as_ref()?.eq_ignore_ascii_case(b.as_ref()?)))
        .collect::<Vec<_>>();
    let path = library.path == expected.path;
    match content.as_slice() {
        [] => None,
        answers => Some(path && answers.iter().all(|same| *same)),
    }
}

fn keys(facts: &Facts, context: &Context<'_>) -> (KeysSay, Option<String>) {
    let asked = &context.arm.keys;
    if asked.keys.is_empty() {
        return (KeysSay::AsAsked, None);
    }
    let Some(neo) = &facts.neo else {
        return (
            KeysSay::NotObservable,
            Some("debug keys were set and the driver's output was not read".into()),
        );
    };
    let (known, unknown): (Vec<_>, Vec<_>) =
        asked.keys.iter().partition(|(key, _)| neo.accepted_keys.contains_key(*key));
    let names =
        |list: &[(&String, &String)]| list.iter().map(|(k, _)| k.as_str()).collect::<Vec<_>>().join(", ");
    let otherwise: Vec<String> = (known.iter())
        .filter_map(|(key, value)| Some((key, value, neo.accepted_keys.get(*key)?)))
        .filter(|(_, value, echoed)| !same_value(echoed, value))
        .map(|(key, value, echoed)| format!("{key}={value} as {echoed}"))
        .collect();
    let mut wrong = Vec::new();
    if !unknown.is_empty() {
        wrong.push(format!("{NOT_ECHOED}: {}", names(&unknown)));
    }
    if !otherwise.is_empty() {
        wrong.push(format!("{READ_OTHERWISE}: {}", otherwise.join(", ")));
    }
    match (asked.expect_unknown, wrong.is_empty(), known.is_empty()) {
        (false, true, _) => (KeysSay::AsAsked, Some(format!("the driver accepted {}", names(&known)))),
        (false, false, _) => (KeysSay::Unknown, Some(wrong.join("; "))),
        (true, _, true) => {
            (KeysSay::AsAsked, Some(format!("unknown to this driver, as expected: {}", names(&unknown))))
        }
        // The row exists to show that the key has no effect because it does not exist: it does exist here.
        (true, _, false) => (
            KeysSay::Unknown,
            Some(format!("expected to be unknown, but this driver knows {}", names(&known))),
        ),
    }
}

/// The driver echoes numbers in decimal; a matrix may say 0x2000.
fn same_value(echoed: &str, asked: &str) -> bool {
    fn number(text: &str) -> Option<i128> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let value = match digits.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some(sign * value)
    }
    echoed == asked || number(echoed).is_some_and(|n| Some(n) == number(asked))
}

fn story(account: &Account) -> (Story, Option<String>) {
    match account {
        Account::Missing => (Story::Missing, Some("the reproducer gave no result".into())),
        Account::Garbled(why) => {
            (Story::Garbled, Some(format!("the reproducer's result cannot be read: {why}")))
        }
        Account::Given(result) => match &result.error {
            None => (Story::Complete, None),
            Some(error) => (of_error(error), Some(describe_error(error))),
        },
    }
}

fn of_error(error: &ReproError) -> Story {
    match error.code {
        0 => Story::OwnFault,
        ze::DEVICE_LOST => Story::Lost,
        ze::MODULE_BUILD_FAILURE | ze::MODULE_LINK_FAILURE => Story::ModuleRefused,
        ze::UNINITIALIZED | ze::DEPENDENCY_UNAVAILABLE => Story::NoDriver,
        _ if error.phase == Phase::SetUp && INIT_CALLS.iter().any(|call| error.call.starts_with(call)) => {
            Story::NoDriver
        }
        _ => Story::Refused,
    }
}

/// Calls whose failure means that there is no driver or device, rather than that the driver failed at work.
const INIT_CALLS: [&str; 5] = ["zeInit", "zeDriverGet", "zeDeviceGet", "zeContextCreate", "sycl::queue"];

pub fn describe_error(error: &ReproError) -> String {
    if error.code == 0 {
        format!("{}: {}", error.call, error.name)
    } else {
        format!("{} returned {} ({:#x})", error.call, error.name, error.code)
    }
}

/// What the checks amount to. `executes` = kernels really ran.
fn data(account: &Account, executes: bool) -> (DataSays, String) {
    let Some(result) = account.given() else { return (DataSays::Incomplete, "no check was reported".into()) };
    let of =
        |want: fn(Phase) -> bool| result.checks.iter().filter(move |c| want(c.phase)).collect::<Vec<_>>();
    let before = of(|p| p <= Phase::Before);
    let after = of(|p| p > Phase::Before);
    if before.is_empty() && !result.one_check
        || after.is_empty()
        || result.checks.iter().any(|c| c.total == 0)
    {
        return (DataSays::Incomplete, format!("{} checks before and {} after", before.len(), after.len()));
    }
    if !executes {
        return (DataSays::NotModelled, "not modelled: the device does not execute kernels".into());
    }
    if before.iter().any(|c| bad(c)) {
        return (DataSays::WrongBefore, format!("before the copies: {}", counts(&before)));
    }
    if after.iter().any(|c| bad(c)) {
        return (DataSays::WrongAfter, format!("after the copies: {}", counts(&after)));
    }
    if let Some(words) = result.guard_disturbed.filter(|words| *words > 0) {
        return (DataSays::WrongAfter, format!("{words} guard words lost their sentinel"));
    }
    (
        DataSays::Right,
        format!(
            "all {} checked elements are right before and after",
            after.iter().map(|c| c.total).sum::<u64>()
        ),
    )
}

fn bad(check: &Check) -> bool {
    check.wrong > 0 || check.untouched > 0 || check.control_wrong > 0 || check.control_untouched > 0
}

fn counts(checks: &[&Check]) -> String {
    let sum = |of: fn(&Check) -> u64| checks.iter().map(|c| of(c)).sum::<u64>();
    format!(
        "{} of {} wrong, {} untouched; control kernel {} wrong",
        sum(|c| c.wrong),
        sum(|c| c.total),
        sum(|c| c.untouched),
        sum(|c| c.control_wrong)
    )
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

fn trigger(account: &Account, context: &Context<'_>) -> (Trigger, Option<String>) {
    let Some(result) = account.given() else { return (Trigger::NotAsAsked, None) };
    let ReproResult { copies, .. } = result;
    let wanted = context.copies_wanted();
    let as_asked =
        copies.done == copies.requested && if wanted == 0 { copies.done == 0 } else { copies.done >= wanted };
    if !as_asked {
        let why = format!("{} of {} copies done, the arm asks for {wanted}", copies.done, copies.requested);
        return (Trigger::NotAsAsked, Some(why));
    }
    let told = format!("{} copies, {} bytes", copies.done, copies.bytes);
    match cold(result, context) {
        None => (Trigger::AsAsked, Some(told)),
        Some(Ok(pages)) => (
            Trigger::AsAsked,
            Some(format!("{told}, from a cold page cache (none of {pages} pages was there)")),
        ),
        Some(Err(why)) => (Trigger::NotAsAsked, Some(format!("{told}, but {why}"))),
    }
}

/// Of an arm that copies from a file that is not in the page cache: its pages, or why it was not so. `None`: no such arm.
fn cold(result: &ReproResult, context: &Context<'_>) -> Option<Result<u64, String>> {
    let source = &context.arm.source;
    let asked = source.kind == SourceKind::File && source.page_cache == PageCache::Cold;
    if !asked || context.copies_wanted() == 0 {
        return None;
    }
    Some(match result.page_cache {
        Some(state) if state.resident == 0 => Ok(state.pages),
        Some(state) => Err(format!(
            "{} of {} pages of the file were in the page cache, and the arm asks for a cold one",
            state.resident, state.pages
        )),
        None => Err("nobody looked whether the page cache was cold, as the arm asks".to_owned()),
    })
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

/// True if the arm asked for this observer.
pub fn observed(context: &Context<'_>, observer: Observer) -> bool {
    context.arm.observers.contains(&observer)
}
