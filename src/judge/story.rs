//! What the reproducer tells: how far it came, what its checks found, whether the trigger was as asked.

use crate::model::arm::{PageCache, SourceKind};
use crate::model::repro::{Check, Phase, ReproError, ReproResult};

use super::context::{Account, Context};
use super::table::{DataSays, Story, Trigger};

/// ze_result_t values (ze_api.h).
pub mod ze {
    pub const DEVICE_LOST: u32 = 0x7000_0001;
    pub const MODULE_BUILD_FAILURE: u32 = 0x7000_0004;
    pub const MODULE_LINK_FAILURE: u32 = 0x7000_0005;
    pub const UNINITIALIZED: u32 = 0x7800_0001;
    pub const DEPENDENCY_UNAVAILABLE: u32 = 0x7002_0000;
}

pub(super) fn story(account: &Account) -> (Story, Option<String>) {
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
pub(super) fn data(account: &Account, executes: bool) -> (DataSays, String) {
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

pub(super) fn trigger(account: &Account, context: &Context<'_>) -> (Trigger, Option<String>) {
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
