//! Faults that do the same, together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Fault;

/// What a run with one fault did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub fault: Fault,
    /// The fault was really injected.
    pub reached: bool,
    /// Verdict's word.
    pub verdict: String,
    /// Class of the signature, or the first words of the reason.
    pub class: String,
    /// Dispatches of the device that reached lost memory.
    pub hazard: bool,
}

/// One way of ending, with the faults that lead there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    pub verdict: String,
    pub class: String,
    pub hazard: bool,
    pub faults: usize,
    /// "vm_bind ENOMEM" → the requests that lead there, in order.
    pub by_point: BTreeMap<String, Vec<u64>>,
    /// The earliest request of the commonest point that leads there.
    pub smallest: Fault,
}

/// Faults the driver does not get over silently come first.
const ORDER: [&str; 9] = [
    "corrupt",
    "wrong-before",
    "hang",
    "crash",
    "device-lost",
    "harness-error",
    "build-failed",
    "untestable",
    "clean",
];

/// Groups in order of weight; runs whose fault was not reached are none of them (counted beside).
pub fn groups(seen: &[Seen]) -> (Vec<Group>, usize) {
    let mut by: BTreeMap<(usize, String, bool), Vec<&Seen>> = BTreeMap::new();
    let mut missed = 0;
    for one in seen {
        if !one.reached {
            missed += 1;
            continue;
        }
        let weight = ORDER.iter().position(|word| *word == one.verdict).unwrap_or(ORDER.len());
        by.entry((weight, one.class.clone(), !one.hazard)).or_default().push(one);
    }
    let groups = by.into_values().filter_map(|members| {
        let mut by_point: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for one in &members {
            let key = format!("{} {}", one.fault.point, one.fault.errno);
            by_point.entry(key).or_default().push(one.fault.nth);
        }
        by_point.values_mut().for_each(|list| list.sort_unstable());
        let first = members.first()?;
        let smallest = members.iter().map(|one| &one.fault).min_by_key(|fault| {
            let common = by_point.get(&format!("{} {}", fault.point, fault.errno)).map_or(0, Vec::len);
            (std::cmp::Reverse(common), fault.nth)
        })?;
        Some(Group {
            verdict: first.verdict.clone(),
            class: first.class.clone(),
            hazard: first.hazard,
            faults: members.len(),
            smallest: smallest.clone(),
            by_point,
        })
    });
    (groups.collect(), missed)
}

/// "3, 5…9, 12".
pub fn ranges(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match parts.last_mut() {
            Some((_, to)) if *to + 1 == *n => *to = *n,
            _ => parts.push((*n, *n)),
        }
    }
    let text = |(from, to): &(u64, u64)| if from == to { from.to_string() } else { format!("{from}…{to}") };
    let shown: Vec<String> = parts.iter().take(8).map(text).collect();
    let more = if parts.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(nth: u64, verdict: &str, reached: bool) -> Seen {
        Seen {
            fault: Fault { point: "vm_bind".into(), errno: "ENOMEM".into(), nth },
            reached,
            verdict: verdict.into(),
            class: verdict.into(),
            hazard: verdict == "corrupt",
        }
    }

    #[test]
    fn worst_first_with_the_earliest_trigger_and_nothing_lost() {
        let all = [
            seen(9, "clean", true),
            seen(5, "corrupt", true),
            seen(4, "corrupt", true),
            seen(99, "clean", false),
        ];
        let (groups, missed) = groups(&all);
        assert_eq!(missed, 1);
        assert_eq!(groups.iter().map(|g| g.faults).sum::<usize>() + missed, all.len());
        assert_eq!((groups[0].verdict.as_str(), groups[0].smallest.nth), ("corrupt", 4));
        assert_eq!(groups[1].verdict, "clean");
    }

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges(&[3, 5, 6, 7, 9]), "3, 5…7, 9");
        assert_eq!(ranges(&[]), "");
    }
}
