//! How the fault comes about, as far as the runs tell: the driver's threshold, the private surface's life, failed binds.

use std::collections::BTreeSet;

use super::findings::Seen;
use super::words::{bytes, plural};

/// The driver's own per-dispatch lines: where the flag flips, and whether the verdict goes with it.
pub(super) fn threshold(seen: &[Seen<'_>]) -> Option<String> {
    let lines: Vec<_> = seen.iter().filter_map(|s| Some((s, s.summary.per_dispatch?))).collect();
    let over = lines.iter().filter(|(_, l)| l.flag).min_by_key(|(_, l)| l.module_private);
    let under = lines.iter().filter(|(_, l)| !l.flag).max_by_key(|(_, l)| l.module_private);
    let odd: Vec<&str> = lines
        .iter()
        .filter(|(_, l)| l.flag != (l.module_private.saturating_mul(l.sub_devices.max(1)) > l.global_memory))
        .map(|(s, _)| s.summary.id.as_str())
        .collect();
    let mut text = match (over, under) {
        (Some((a, o)), Some((b, u))) => format!(
            "{} of private memory in one module put it on the per-dispatch path ({}), {} do not ({}); global memory is {}.",
            bytes(o.module_private),
            a.summary.id,
            bytes(u.module_private),
            b.summary.id,
            bytes(o.global_memory)
        ),
        (Some((a, o)), None) => format!(
            "every module is on the per-dispatch path (smallest: {}, {}; global memory {}): the other side was not tried.",
            bytes(o.module_private),
            a.summary.id,
            bytes(o.global_memory)
        ),
        (None, Some((b, u))) => format!(
            "no module is on the per-dispatch path (largest: {}, {}; global memory {}): the other side was not tried.",
            bytes(u.module_private),
            b.summary.id,
            bytes(u.global_memory)
        ),
        (None, None) => return None,
    };
    if !odd.is_empty() {
        text += &format!(" The flag does not follow from the sum in {}.", odd.join(", "));
    }
    let count = |flag: bool, corrupt: bool| {
        lines.iter().filter(|(s, l)| l.flag == flag && s.corrupt == Some(corrupt)).count()
    };
    if lines.iter().all(|(s, _)| s.corrupt.is_none()) {
        return Some(text);
    }
    text += &format!(
        " On that path {} corrupt and {} clean; off it {} corrupt and {} clean.",
        count(true, true),
        count(true, false),
        count(false, true),
        count(false, false)
    );
    Some(text)
}

/// What became of the private surface, as the device (or else the driver's log) tells it.
pub(super) fn cause(seen: &[Seen<'_>]) -> Option<String> {
    let lost = |s: &Seen<'_>| s.summary.history.as_deref().is_some_and(|h| h.contains('─'));
    let known: Vec<&Seen<'_>> = seen.iter().filter(|s| s.summary.history.is_some()).collect();
    let corrupt: Vec<&&Seen<'_>> = known.iter().filter(|s| s.corrupt == Some(true)).collect();
    let clean: Vec<&&Seen<'_>> = known.iter().filter(|s| s.corrupt == Some(false)).collect();
    if corrupt.is_empty() {
        return None;
    }
    let lost_corrupt = corrupt.iter().filter(|s| lost(s)).count();
    let lost_clean = clean.iter().filter(|s| lost(s)).count();
    let rebound =
        clean.iter().filter(|s| s.summary.history.as_deref().is_some_and(|h| h.contains("unbind"))).count()
            - lost_clean.min(clean.len());
    let sizes: BTreeSet<u64> = corrupt.iter().filter_map(|s| s.summary.surface_bytes).collect();
    let sizes: Vec<String> = sizes.into_iter().map(bytes).collect();
    Some(format!(
        "the private surface ({}) is unbound and not bound again before the last dispatch in {lost_corrupt} of {} \
         corrupt arms and in {lost_clean} of {} clean ones; {} lost it and bound it again.",
        sizes.join(", "),
        corrupt.len(),
        clean.len(),
        plural(rebound, "clean arm")
    ))
}

/// Binds that failed with EPERM, in corrupt arms and in clean ones.
pub(super) fn failed_binds(seen: &[Seen<'_>]) -> Option<String> {
    let count = |corrupt: bool, some: bool| {
        seen.iter()
            .filter(|s| s.corrupt == Some(corrupt) && s.summary.eperm.is_some_and(|n| (n > 0) == some))
            .count()
    };
    let (corrupt_with, corrupt_without) = (count(true, true), count(true, false));
    let (clean_with, clean_without) = (count(false, true), count(false, false));
    if corrupt_with + clean_with == 0 {
        return None;
    }
    let mut text = format!(
        "binds failed with EPERM in {corrupt_with} of {} corrupt arms and in {clean_with} of {} clean ones",
        corrupt_with + corrupt_without,
        clean_with + clean_without
    );
    // A side without arms says nothing: with nothing to compare, "needed" and "not needed" are both unearned.
    text += match (corrupt_with + corrupt_without, clean_with + clean_without, corrupt_without, clean_with) {
        (0, _, _, _) => ": no arm is corrupt, so whether the corruption needs them is not shown.",
        (_, 0, _, _) => ": no arm is clean, so whether they go with the corruption is not shown.",
        (_, _, 0, 0) => ": they go with the corruption.",
        (_, _, 0, _) => ": needed here, but harmless alone.",
        (_, _, _, _) => ": not needed for the corruption.",
    };
    Some(text)
}
