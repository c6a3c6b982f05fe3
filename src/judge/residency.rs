//! The simulated device's word: was everything that the dispatches point at bound, before and after the copies?

use crate::model::facts::{DispatchFact, NeoFacts, SimFacts};
use crate::model::repro::{Phase, ReproResult};

use super::context::Context;
use super::surface::fits;
use super::table::DeviceSays;

/// The oracle's answer and the sentence that says why.
pub fn says(
    sim: &SimFacts,
    neo: Option<&NeoFacts>,
    result: Option<&ReproResult>,
    context: &Context<'_>,
) -> (DeviceSays, String) {
    if let Some(why) = hole(sim) {
        return (DeviceSays::Incomplete, why);
    }
    let surface = result.and_then(|r| context.surface_bytes(r));
    if sim.hazards.iter().any(|h| h.phase.is_none()) {
        return (DeviceSays::Undecided, "a hazard could not be placed before or after the copies".into());
    }
    if let Some(h) = sim.hazards.iter().find(|h| h.phase.is_some_and(|p| p <= Phase::Before)) {
        return (
            DeviceSays::HazardBefore,
            format!(
                "dispatch {} reaches {} bytes at {:#x} that are no longer bound, before the copies",
                h.n, h.range_len, h.range_addr
            ),
        );
    }
    if let Some(why) = too_small(sim, neo, result, context) {
        return (DeviceSays::HazardBefore, why);
    }
    if let Some(h) = sim.hazards.first() {
        let role = h.role.as_deref().unwrap_or("a range");
        return (
            DeviceSays::HazardAfter,
            format!(
                "dispatch {} reaches {role} of {} bytes at {:#x}, bound before the copies and no longer",
                h.n, h.range_len, h.range_addr
            ),
        );
    }
    still_bound(sim, surface, result.is_some_and(|result| context.whole_run_is_after(result)))
}

/// Why the trace cannot be trusted to be whole.
fn hole(sim: &SimFacts) -> Option<String> {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    if !sim.complete {
        Some("the device's trace has no last line: it was cut".into())
    } else if sim.summary.lost_events > 0 {
        Some(format!("the device could not write {} events of its trace", sim.summary.lost_events))
    } else if sim.not_understood > 0 {
        Some(format!("{} lines of the device's trace were not understood", sim.not_understood))
    } else if count(sim.dispatches.len()) != sim.summary.dispatches {
        Some(format!("the trace shows {} of {} dispatches", sim.dispatches.len(), sim.summary.dispatches))
    } else if sim.executes_kernels && sim.summary.executed != sim.summary.dispatches {
        Some(format!("the device executed {} of {} dispatches", sim.summary.executed, sim.summary.dispatches))
    } else if count(sim.hazards.len()) != sim.summary.hazards {
        Some(format!("the trace shows {} of {} hazards", sim.hazards.len(), sim.summary.hazards))
    } else {
        None
    }
}

/// The surface that the first run used is smaller than all hardware threads need: its kernel is wrong before any
/// copy (seed 003, OverrideNumComputeUnitsForScratch=2048).
fn too_small(
    sim: &SimFacts,
    neo: Option<&NeoFacts>,
    result: Option<&ReproResult>,
    context: &Context<'_>,
) -> Option<String> {
    let needed = context.surface_bytes(result?)?;
    let units = neo?.compute_units?;
    let used = u64::from(result?.kernel.private_mem_size).checked_mul(units)?;
    let mut before = in_phase(sim, |p| p == Phase::Before).flat_map(|d| &d.ranges);
    // The driver's word alone is not enough: the device must have seen a surface of that size.
    (used < needed && before.any(|(_, len, _)| fits(*len, used)))
        .then(|| format!("the private surface holds {used} bytes where all hardware threads need {needed}"))
}

fn in_phase(sim: &SimFacts, want: impl Fn(Phase) -> bool) -> impl Iterator<Item = &DispatchFact> {
    sim.dispatches.iter().filter(move |d| d.phase.is_some_and(&want))
}

/// `one_phase`: the whole run counts as after the trigger, so that nothing need be before it.
fn still_bound(sim: &SimFacts, surface: Option<u64>, one_phase: bool) -> (DeviceSays, String) {
    let undecided = |why: &str| (DeviceSays::Undecided, why.to_owned());
    let has_surface =
        |d: &&DispatchFact| surface.is_some_and(|bytes| d.ranges.iter().any(|(_, len, _)| fits(*len, bytes)));
    let after = |p: Phase| matches!(p, Phase::After | Phase::AfterAgain);
    if !one_phase && in_phase(sim, |p| p == Phase::Before).next().is_none() {
        return undecided("the device saw no dispatch before the copies");
    }
    let Some(last) = in_phase(sim, after).last() else {
        return undecided("the device saw no dispatch after the copies");
    };
    if in_phase(sim, after).all(|d| d.ranges.is_empty()) {
        return undecided("the dispatches after the copies point at nothing the device knows");
    }
    if in_phase(sim, after).flat_map(|d| &d.ranges).any(|(_, _, bound)| !bound) {
        return undecided("a dispatch after the copies points at an unbound range that is in no hazard");
    }
    let before_had = in_phase(sim, |p| p == Phase::Before).any(|d| has_surface(&d));
    let last_with = in_phase(sim, after).filter(has_surface).last();
    match (before_had, last_with) {
        (_, Some(d)) => (
            DeviceSays::Bound,
            format!("dispatch {}: the private surface ({} bytes) is bound", d.n, surface.unwrap_or(0)),
        ),
        (true, None) => {
            undecided("the private surface was used before the copies and by no dispatch after them")
        }
        (false, None) => (
            DeviceSays::Bound,
            format!("dispatch {}: all {} ranges it points at are bound", last.n, last.ranges.len()),
        ),
    }
}
