//! Where instruments contradict each other. Each entry names both and what each says.

use crate::model::facts::{CallCount, Facts};

use super::context::{Account, Context};
use super::surface;
use super::table::{DataSays, DeviceSays, Reduced};

const EPERM: i32 = libc::EPERM;

pub fn disagreements(
    reduced: &Reduced,
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(data_against_device(reduced));
    out.extend(prediction(facts, context));
    let eperm: Vec<(&str, u64)> = [("sim", eperm_by_sim(facts)), ("strace", eperm_by_strace(facts))]
        .into_iter()
        .filter_map(|(name, n)| Some((name, n?)))
        .collect();
    for pair in eperm.windows(2) {
        if let [(a, n), (b, m)] = pair
            && n != m
        {
            out.push(format!("{a} counts {n} binds that failed with EPERM, {b} {m}"));
        }
    }
    // The driver tries twice (`Drm::bindBufferObject`) and prints the last result only: its log has at most as many
    // failures as the kernel, and none only where every second try went well.
    if let (Some((kernel, n)), Some(m)) = (eperm.first(), eperm_by_neo(facts))
        && m > *n
    {
        out.push(format!("neo-log counts {m} binds that failed with EPERM, {kernel} only {n}"));
    }
    out.extend(surface_life(account, facts, context));
    out
}

fn data_against_device(reduced: &Reduced) -> Option<String> {
    match (reduced.data, reduced.device) {
        (DataSays::Right, DeviceSays::HazardAfter | DeviceSays::HazardBefore) => {
            Some("data: all elements right; sim: a dispatch reached an unbound range".into())
        }
        (DataSays::WrongAfter | DataSays::WrongBefore, DeviceSays::Bound) => {
            Some("data: wrong elements; sim: everything the dispatches point at was bound".into())
        }
        (DataSays::WrongBefore, DeviceSays::HazardAfter)
        | (DataSays::WrongAfter, DeviceSays::HazardBefore) => {
            Some("data and sim place the fault on different sides of the copies".into())
        }
        (
            DataSays::Right,
            DeviceSays::Bound | DeviceSays::Absent | DeviceSays::Incomplete | DeviceSays::Undecided,
        )
        | (DataSays::WrongAfter, DeviceSays::HazardAfter | DeviceSays::Absent)
        | (DataSays::WrongBefore, DeviceSays::HazardBefore | DeviceSays::Absent)
        | (DataSays::WrongAfter | DataSays::WrongBefore, DeviceSays::Incomplete | DeviceSays::Undecided)
        | (
            DataSays::NotModelled | DataSays::Incomplete,
            DeviceSays::Absent
            | DeviceSays::Incomplete
            | DeviceSays::Undecided
            | DeviceSays::Bound
            | DeviceSays::HazardBefore
            | DeviceSays::HazardAfter,
        ) => None,
    }
}

fn prediction(facts: &Facts, context: &Context<'_>) -> Option<String> {
    let predicted = context.predicted_per_dispatch?;
    // A key that changes the driver's arithmetic makes the prediction void, not wrong.
    if context.arm.keys.keys.contains_key("OverrideNumComputeUnitsForScratch") {
        return None;
    }
    let lines = &facts.neo.as_ref()?.per_dispatch;
    if lines.is_empty() {
        return None;
    }
    let said = lines.iter().any(|l| l.flag);
    (said != predicted).then(|| {
        format!("the build predicts per-dispatch {}, the driver says {}", u8::from(predicted), u8::from(said))
    })
}

/// Binds that failed with EPERM, as the simulated kernel counted them.
pub fn eperm_by_sim(facts: &Facts) -> Option<u64> {
    // Without its end the trace has no totals.
    let failed = &facts.sim.as_ref().filter(|sim| sim.complete)?.summary.failed;
    Some(failed.iter().filter(|(k, _)| k.contains("VM_BIND") && k.ends_with("EPERM")).map(|(_, n)| n).sum())
}

pub fn eperm_by_strace(facts: &Facts) -> Option<u64> {
    let ioctls = &facts.strace.as_ref()?.ioctls;
    let of_bind: Vec<&CallCount> =
        ioctls.iter().filter(|(k, _)| k.contains("VM_BIND")).map(|(_, c)| c).collect();
    // A summary (`-c`) has no names: nothing to compare.
    if of_bind.is_empty() {
        return None;
    }
    Some(of_bind.iter().filter_map(|c| c.errors.get("EPERM")).sum())
}

pub fn eperm_by_neo(facts: &Facts) -> Option<u64> {
    let neo = facts.neo.as_ref()?;
    // No bind line at all: the driver was not asked to print them.
    if neo.ranges.is_empty() && neo.bind_failures.is_empty() {
        return None;
    }
    Some(neo.bind_failures.get(&EPERM).copied().unwrap_or(0))
}

/// The private surface's life by the driver's log and by the simulated kernel.
fn surface_life(account: &Account, facts: &Facts, context: &Context<'_>) -> Option<String> {
    let bytes = context.surface_bytes(account.given()?)?;
    let (neo, sim) = (facts.neo.as_ref()?, facts.sim.as_ref()?);
    let lives = |ranges, dispatches| {
        let mut all: Vec<(u64, Vec<bool>)> = surface::histories(ranges, dispatches, bytes)
            .into_iter()
            .map(|h| (h.start, surface::effective(&h.events)))
            .collect();
        all.sort();
        all
    };
    let by_sim = lives(&sim.ranges, &sim.dispatches);
    let by_neo: Vec<_> = lives(&neo.ranges, &[])
        .into_iter()
        .filter(|(start, _)| by_sim.iter().any(|(other, _)| other == start))
        .collect();
    // No common range: the log's era does not print ranges, or binds are not printed.
    if by_neo.is_empty() || by_neo == by_sim {
        return None;
    }
    let tell = |lives: &[(u64, Vec<bool>)]| {
        lives.iter().map(|(_, life)| surface::compress(life, true)).collect::<Vec<_>>().join(" | ")
    };
    Some(format!("private surface: neo-log says \"{}\", sim says \"{}\"", tell(&by_neo), tell(&by_sim)))
}
