//! Pairs of arms that differ in one axis only: what the change does to the verdict. Each pair of values is told once.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::axes;
use super::findings::Seen;
use super::words::plural;

/// Pairs of arms with the first value in one and the second in the other.
#[derive(Default)]
struct Pairs {
    /// Corrupt at the first value only, at the second only.
    first: usize,
    second: usize,
    both_corrupt: usize,
    both_clean: usize,
}

/// (axis, value, value): numbers by size; of texts, what more arms have comes first: the others were changed from it.
type Key = (&'static str, String, String);

/// (heading, text) for every kind of change that occurs.
pub(super) fn single_axis(seen: &[Seen<'_>]) -> Vec<(&'static str, String)> {
    let seen = distinct(seen);
    let mut arms: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for arm in &seen {
        for (axis, value) in &arm.point {
            *arms.entry((*axis, value.as_str())).or_default() += 1;
        }
    }
    let mut table: BTreeMap<Key, Pairs> = BTreeMap::new();
    for (i, a) in seen.iter().enumerate() {
        for b in seen.iter().skip(i + 1) {
            let (Some(a_corrupt), Some(b_corrupt)) = (a.corrupt, b.corrupt) else { continue };
            let [axis] = axes::differing(&a.point, &b.point)[..] else { continue };
            let (Some(av), Some(bv)) = (a.point.get(axis), b.point.get(axis)) else { continue };
            if !comparable(axis, av, bv, a, &seen) {
                continue;
            }
            let count = |value: &str| arms.get(&(axis, value)).copied().unwrap_or(0);
            let swap = match (av.parse::<u64>(), bv.parse::<u64>()) {
                (Ok(a), Ok(b)) => a > b,
                (_, _) => {
                    let by_count = count(bv).cmp(&count(av));
                    let none_first = (bv == "none").cmp(&(av == "none"));
                    by_count.then(none_first).then_with(|| av.cmp(bv)) == Ordering::Greater
                }
            };
            let key = if swap { (axis, bv.clone(), av.clone()) } else { (axis, av.clone(), bv.clone()) };
            let pairs = table.entry(key).or_default();
            match (a_corrupt, b_corrupt) {
                (true, true) => pairs.both_corrupt += 1,
                (false, false) => pairs.both_clean += 1,
                (true, false) if !swap => pairs.first += 1,
                (false, true) if swap => pairs.first += 1,
                (true, false) | (false, true) => pairs.second += 1,
            }
        }
    }
    word(&table)
}

/// Arms that are the same experiment with the same outcome (the same arm under another instrument) count once.
fn distinct<'s, 'a>(seen: &'s [Seen<'a>]) -> Vec<&'s Seen<'a>> {
    let mut out: Vec<&Seen<'a>> = Vec::new();
    for arm in seen {
        if !out.iter().any(|other| other.corrupt == arm.corrupt && other.point == arm.point) {
            out.push(arm);
        }
    }
    out
}

/// Two key sets are compared through the arm with none; numbers only with their next neighbour in the same row.
fn comparable(axis: &str, av: &str, bv: &str, a: &Seen<'_>, seen: &[&Seen<'_>]) -> bool {
    if axis == "debug keys" {
        return av == "none" || bv == "none";
    }
    let (Ok(x), Ok(y)) = (av.parse::<u64>(), bv.parse::<u64>()) else { return true };
    let (low, high) = (x.min(y), x.max(y));
    !seen.iter().filter(|s| s.corrupt.is_some()).any(|s| {
        axes::differing(&a.point, &s.point).iter().all(|other| *other == axis)
            && s.point.get(axis).and_then(|v| v.parse::<u64>().ok()).is_some_and(|v| low < v && v < high)
    })
}

fn word(table: &BTreeMap<Key, Pairs>) -> Vec<(&'static str, String)> {
    let mut decides = Vec::new();
    let mut sometimes = Vec::new();
    let mut does_not = Vec::new();
    let mut clean = Vec::new();
    for ((axis, x, y), pairs) in table {
        let Pairs { first, second, both_corrupt, both_clean } = *pairs;
        let (x, y) = (axes::shown(axis, x), axes::shown(axis, y));
        match (first, second, both_corrupt) {
            (0, 0, 0) => clean.push((*axis, format!("{x}/{y}"))),
            (0, 0, _) => does_not.push((*axis, format!("{x}/{y} ({})", plural(both_corrupt, "pair")))),
            (flips, 0, 0) | (0, flips, 0) => {
                let (from, to) = if second == 0 { (x, y) } else { (y, x) };
                let rest = match both_clean {
                    0 => String::new(),
                    n => format!("; clean either way in {n}"),
                };
                decides.push((*axis, format!("{from} → {to} ({}{rest})", plural(flips, "pair"))));
            }
            (_, _, _) => {
                let mut told = Vec::new();
                let mut tell = |n: usize, what: String| {
                    if n > 0 {
                        told.push(format!("{what} in {n}"));
                    }
                };
                tell(first, format!("corrupt at {x} only"));
                tell(second, format!("corrupt at {y} only"));
                tell(both_corrupt, "corrupt at both".to_owned());
                tell(both_clean, "clean at both".to_owned());
                sometimes.push((*axis, format!("{x}/{y} ({})", told.join(", "))));
            }
        }
    }
    let mut out = Vec::new();
    let mut put = |heading, lead: &str, list: Vec<(&str, String)>| {
        if !list.is_empty() {
            out.push((heading, format!("{lead}{}.", by_axis(&list))));
        }
    };
    put("Decides", "changed alone, turns corrupt into clean: ", decides);
    put("Depends", "flips the verdict in some places only: ", sometimes);
    put("Does not matter", "corrupt at either value: ", does_not);
    put("Clean either way", "", clean);
    out
}

/// "kernels 174 → 173 (1 pair), 330 → 329 (1 pair); split off → per_kernel (1 pair)". The list is in order of axes.
fn by_axis(list: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut last = "";
    for (axis, change) in list {
        if *axis == last {
            text.push_str(", ");
        } else {
            if !last.is_empty() {
                text.push_str("; ");
            }
            text.push_str(axis);
            text.push(' ');
        }
        text.push_str(change);
        last = axis;
    }
    text
}
