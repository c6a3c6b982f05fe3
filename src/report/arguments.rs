//! The bytes that kernels were given: were they the same in the runs that are compared? A kernel that computes wrong from
//! right arguments is another fault than one that was given wrong ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::arm::Arm;
use crate::model::facts::ArgumentValue;
use crate::model::outcome::RunRecord;

use super::words::{grouped, plural};

/// Arguments told one by one.
const MOST: usize = 8;

/// (comparison, kernel, its how-manieth in the run, argument, size). Arms of different comparisons are not compared.
type Key<'a> = (&'a str, &'a str, usize, u64, u64);
/// The different values of one argument in one run, in order.
type Values<'a> = Vec<&'a ArgumentValue>;

/// One sentence over all arguments, if any run has bytes.
pub fn told(arms: &[Arm], records: &[RunRecord]) -> Option<String> {
    let mut seen: BTreeMap<Key<'_>, Vec<(&RunRecord, Values<'_>)>> = BTreeMap::new();
    for record in records {
        let Some(facts) = &record.facts.ze_api else { continue };
        let arm = arms.iter().find(|arm| arm.id == record.arm);
        let comparison = arm.and_then(|arm| arm.comparison.as_deref()).unwrap_or("");
        let mut nth: BTreeMap<&str, usize> = BTreeMap::new();
        // A kernel that was never launched was given nothing.
        for kernel in facts.kernels.iter().filter(|kernel| kernel.launches > 0) {
            let n = nth.entry(&kernel.name).or_default();
            for (index, values) in &kernel.values {
                let Some(size) = values.first().map(|value| value.size) else { continue };
                let key = (comparison, kernel.name.as_str(), *n, *index, size);
                seen.entry(key).or_default().push((record, values.iter().collect()));
            }
            *n += 1;
        }
    }
    // What only one run has is compared with nothing.
    seen.retain(|_, runs| runs.len() > 1);
    if seen.is_empty() {
        return None;
    }
    let mut same: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut differ = Vec::new();
    let mut both = BTreeSet::new();
    for ((_, kernel, nth, index, size), runs) in &seen {
        let name = if *nth == 0 { (*kernel).to_owned() } else { format!("{kernel} (module {})", nth + 1) };
        match difference(runs) {
            None => {
                same.entry(kernel).or_default().push(format!("{name} {index}"));
                both.extend(runs.iter().map(|(record, _)| record.verdict.word()));
            }
            Some(how) => differ.push(format!("{name} argument {index} ({} bytes) {how}", grouped(*size))),
        }
    }
    let mut text = String::new();
    let same: Vec<String> = same.into_values().flatten().collect();
    if !same.is_empty() {
        let runs = if both.contains("corrupt") && both.contains("clean") {
            "the same bytes in all runs, corrupt and clean ones"
        } else {
            "the same bytes in all runs"
        };
        text += &format!("{runs}: {}", list(&same));
    }
    if !differ.is_empty() {
        if !text.is_empty() {
            text += "; ";
        }
        text += &format!("they differ: {}", list(&differ));
    }
    Some(text + ".")
}

fn list(all: &[String]) -> String {
    let mut told = all.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    if all.len() > MOST {
        told += &format!(" and {} more", all.len() - MOST);
    }
    told
}

/// `None`: every run gave the argument the same values.
fn difference(runs: &[(&RunRecord, Values<'_>)]) -> Option<String> {
    let hashes = |values: &Values<'_>| values.iter().map(|v| v.sha256.clone()).collect::<Vec<_>>();
    let mut groups: Vec<(Vec<String>, &Values<'_>, BTreeSet<&str>)> = Vec::new();
    for (record, values) in runs {
        let key = hashes(values);
        match groups.iter_mut().find(|(known, _, _)| *known == key) {
            Some((_, _, arms)) => {
                arms.insert(&record.arm);
            }
            None => groups.push((key, values, BTreeSet::from([record.arm.as_str()]))),
        }
    }
    let ([(_, a, in_a), (_, b, in_b)], more) = groups.split_first_chunk::<2>()?;
    let place = match (a.first(), b.first()) {
        (Some(x), Some(y)) => place(x, y),
        _ => String::new(),
    };
    let more = match more.len() {
        0 => String::new(),
        n => format!(", {} more", plural(n, "value")),
    };
    let arms = |of: &BTreeSet<&str>| list(&of.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
    Some(if in_a == in_b {
        format!("between runs of {}{place}{more}", arms(in_a))
    } else {
        format!("in {} and in {}{place}{more}", arms(in_a), arms(in_b))
    })
}

/// Where the first values of two runs begin to differ.
fn place(a: &ArgumentValue, b: &ArgumentValue) -> String {
    if a.sha256 == b.sha256 {
        return " (in a later call)".into();
    }
    let bytes = a.first.as_bytes().chunks(2).zip(b.first.as_bytes().chunks(2));
    match bytes.enumerate().find(|(_, (x, y))| x != y) {
        Some((at, _)) => format!(" from byte {at} on"),
        None => format!(" after byte {}", a.first.len() / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::{KernelSeen, ZeApiFacts};
    use crate::report::fixture::{arm, record};

    fn value(sha256: &str, first: &str) -> ArgumentValue {
        ArgumentValue { size: 100, sha256: sha256.into(), first: first.into(), times: 1 }
    }

    fn run(arm: &Arm, corrupt: bool, values: &[ArgumentValue]) -> RunRecord {
        let mut record = record(arm, 0, corrupt);
        let kernel = KernelSeen {
            name: "k".into(),
            launches: 1,
            values: BTreeMap::from([(1, values.to_vec())]),
            ..KernelSeen::default()
        };
        record.facts.ze_api = Some(ZeApiFacts { kernels: vec![kernel], ..ZeApiFacts::default() });
        record
    }

    #[test]
    fn equal_bytes_in_a_corrupt_and_a_clean_arm_are_told() {
        let arms = [arm("a", |_| {}), arm("b", |_| {})];
        let v = value("aa", "0001");
        let records =
            [run(&arms[0], true, std::slice::from_ref(&v)), run(&arms[1], false, std::slice::from_ref(&v))];
        assert_eq!(
            told(&arms, &records).unwrap(),
            "the same bytes in all runs, corrupt and clean ones: k 1."
        );
        assert_eq!(told(&arms, &records[..1]), None, "one run is compared with nothing");
    }

    #[test]
    fn a_difference_has_its_place_and_its_arms() {
        let arms = [arm("a", |_| {}), arm("b", |_| {})];
        let told = |x: &[ArgumentValue], y: &[ArgumentValue]| {
            told(&arms, &[run(&arms[0], true, x), run(&arms[1], false, y)]).unwrap()
        };
        assert_eq!(
            told(&[value("aa", "0001")], &[value("bb", "0002")]),
            "they differ: k argument 1 (100 bytes) in a and in b from byte 1 on."
        );
        assert!(told(&[value("aa", "0001")], &[value("bb", "0001")]).ends_with("after byte 2."));
        let x = value("aa", "0001");
        assert!(
            told(std::slice::from_ref(&x), &[x.clone(), value("bb", "0002")]).ends_with("(in a later call).")
        );
    }

    #[test]
    fn arms_of_two_comparisons_are_not_compared() {
        let of = |id, name: &str| arm(id, |a| a.comparison = Some(name.into()));
        let arms = [of("a", "x"), of("b", "y")];
        let records =
            [run(&arms[0], true, &[value("aa", "0001")]), run(&arms[1], false, &[value("bb", "0001")])];
        assert_eq!(told(&arms, &records), None);
    }

    #[test]
    fn runs_of_one_arm_are_compared_too() {
        let arms = [arm("a", |_| {})];
        let records =
            [run(&arms[0], true, &[value("aa", "0001")]), run(&arms[0], true, &[value("bb", "0101")])];
        assert!(told(&arms, &records).unwrap().contains("between runs of a from byte 0 on"));
    }
}
