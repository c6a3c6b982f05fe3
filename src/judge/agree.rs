//! What instruments were compared on, and where they contradict each other. Each contradiction names both and what
//! each says.

use crate::model::facts::{CallCount, Facts};
use crate::model::verdict::{Compared, ComparedFact};

use super::context::{Account, Context};
use super::surface;
use super::table::{DataSays, DeviceSays, Reduced};

const EPERM: i32 = libc::EPERM;

/// One fact and what came of comparing its instruments: a text for each contradiction.
struct Comparison {
    fact: ComparedFact,
    instruments: Vec<&'static str>,
    contradictions: Vec<String>,
}

/// Compares what can be compared. A fact that one instrument alone told of is no agreement, and not in the first list.
pub fn compare(
    reduced: &Reduced,
    account: &Account,
    facts: &Facts,
    context: &Context<'_>,
) -> (Vec<Compared>, Vec<String>) {
    let all = [
        data_and_device(reduced),
        prediction(facts, context),
        failed_binds(facts),
        surface_life(account, facts, context),
    ];
    let (mut compared, mut disagreements) = (Vec::new(), Vec::new());
    for Comparison { fact, instruments, contradictions } in all.into_iter().flatten() {
        let instruments = instruments.into_iter().map(str::to_owned).collect();
        compared.push(Compared { fact, instruments, agree: contradictions.is_empty() });
        disagreements.extend(contradictions);
    }
    (compared, disagreements)
}

fn data_and_device(reduced: &Reduced) -> Option<Comparison> {
    let contradiction = match (reduced.data, reduced.device) {
        (DataSays::Right, DeviceSays::HazardAfter | DeviceSays::HazardBefore) => {
            Some("data: all elements right; sim: a dispatch reached an unbound range")
        }
        (DataSays::WrongAfter | DataSays::WrongBefore, DeviceSays::Bound) => {
            Some("data: wrong elements; sim: everything the dispatches point at was bound")
        }
        (DataSays::WrongBefore, DeviceSays::HazardAfter)
        | (DataSays::WrongAfter, DeviceSays::HazardBefore) => {
            Some("data and sim place the fault on different sides of the copies")
        }
        (DataSays::Right, DeviceSays::Bound)
        | (DataSays::WrongAfter, DeviceSays::HazardAfter)
        | (DataSays::WrongBefore, DeviceSays::HazardBefore) => None,
        // One of them has nothing to say.
        (
            DataSays::Right | DataSays::WrongAfter | DataSays::WrongBefore,
            DeviceSays::Absent | DeviceSays::Incomplete | DeviceSays::Undecided,
        )
        | (
            DataSays::NotModelled | DataSays::Incomplete,
            DeviceSays::Absent
            | DeviceSays::Incomplete
            | DeviceSays::Undecided
            | DeviceSays::Bound
            | DeviceSays::HazardBefore
            | DeviceSays::HazardAfter,
        ) => return None,
    };
    Some(Comparison {
        fact: ComparedFact::Verdict,
        instruments: vec!["data", "sim"],
        contradictions: contradiction.map(str::to_owned).into_iter().collect(),
    })
}

fn prediction(facts: &Facts, context: &Context<'_>) -> Option<Comparison> {
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
    let contradiction = (said != predicted).then(|| {
        format!("the build predicts per-dispatch {}, the driver says {}", u8::from(predicted), u8::from(said))
    });
    Some(Comparison {
        fact: ComparedFact::PerDispatch,
        instruments: vec!["build", "neo-log"],
        contradictions: contradiction.into_iter().collect(),
    })
}

fn failed_binds(facts: &Facts) -> Option<Comparison> {
    let kernel: Vec<(&'static str, u64)> = [("sim", eperm_by_sim(facts)), ("strace", eperm_by_strace(facts))]
        .into_iter()
        .filter_map(|(name, n)| Some((name, n?)))
        .collect();
    let neo = eperm_by_neo(facts);
    let mut contradictions = Vec::new();
    if let [(a, n), (b, m)] = kernel[..]
        && n != m
    {
        contradictions.push(format!("{a} counts {n} binds that failed with EPERM, {b} {m}"));
    }
    // The driver tries twice (`Drm::bindBufferObject`) and prints the last result only: its log has at most as many
    // failures as the kernel, and none only where every second try went well.
    if let (Some((witness, n)), Some(m)) = (kernel.first(), neo)
        && m > *n
    {
        contradictions.push(format!("neo-log counts {m} binds that failed with EPERM, {witness} only {n}"));
    }
    let instruments: Vec<_> = kernel.iter().map(|(name, _)| *name).chain(neo.map(|_| "neo-log")).collect();
    (instruments.len() > 1).then_some(Comparison {
        fact: ComparedFact::FailedBinds,
        instruments,
        contradictions,
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
fn surface_life(account: &Account, facts: &Facts, context: &Context<'_>) -> Option<Comparison> {
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
    if by_neo.is_empty() {
        return None;
    }
    let tell = |lives: &[(u64, Vec<bool>)]| {
        lives.iter().map(|(_, life)| surface::compress(life, true)).collect::<Vec<_>>().join(" | ")
    };
    let contradiction = (by_neo != by_sim).then(|| {
        format!("private surface: neo-log says \"{}\", sim says \"{}\"", tell(&by_neo), tell(&by_sim))
    });
    Some(Comparison {
        fact: ComparedFact::PrivateSurface,
        instruments: vec!["sim", "neo-log"],
        contradictions: contradiction.into_iter().collect(),
    })
}
