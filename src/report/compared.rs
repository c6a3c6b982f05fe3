//! Arms of one comparison that ran more than once: are their rates of corruption different, and by how much.

use std::collections::BTreeMap;

use crate::model::arm::Arm;
use crate::stats::{Tally, pair::Pair};

use super::aggregate::ArmSummary;
use super::findings::Finding;

/// Above so many arms a comparison is a table, not a list of pairs.
const MOST_PAIRS: usize = 12;

/// Each arm of a comparison against its positive control, or its first arm.
pub(super) fn findings(arms: &[Arm], summaries: &[ArmSummary]) -> Vec<Finding> {
    let mut groups: BTreeMap<&str, Vec<(&Arm, &ArmSummary)>> = BTreeMap::new();
    for (arm, summary) in arms.iter().zip(summaries).filter(|(_, summary)| summary.runs > 1) {
        if let Some(name) = &arm.comparison {
            groups.entry(name).or_default().push((arm, summary));
        }
    }
    let mut out = Vec::new();
    for (name, members) in groups {
        let control = members.iter().find(|(arm, _)| arm.positive_control).or(members.first());
        let Some((reference, against)) = control else { continue };
        for (arm, summary) in members.iter().filter(|(arm, _)| arm.id != reference.id).take(MOST_PAIRS) {
            let pair = Pair::of(corrupt(against), corrupt(summary));
            // Runs that were stopped by looking at them: the exact test's p-value is too small then.
            let looked_at = summary.looked_at || against.looked_at;
            let verdict =
                match pair.differ().map(|differ| if looked_at { pair.differ_anytime() } else { differ }) {
                    Some(true) => "they differ",
                    Some(false) => "no difference found",
                    None => "not comparable",
                };
            out.push(Finding {
                heading: "Compared",
                text: format!(
                    "{name}: {} with {}: {verdict}{}, {}",
                    reference.id,
                    arm.id,
                    if looked_at { " (by intervals that hold whenever runs stop)" } else { "" },
                    pair.text()
                ),
            });
        }
    }
    out
}

/// Runs by corruption, whatever else the arm does.
fn corrupt(summary: &ArmSummary) -> Tally {
    Tally { hits: summary.count("corrupt") as u64, ..summary.tally }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::aggregate::summarise;
    use crate::report::fixture::{arm, record};

    #[test]
    fn arms_of_a_comparison_are_compared_with_its_control() {
        let of = |id: &str, control| {
            arm(id, |a| {
                a.comparison = Some("c".into());
                a.positive_control = control;
                a.repeats = 6;
            })
        };
        let arms = [of("clean", false), of("control", true), of("alone", false)];
        let mut records: Vec<_> = (0..6).map(|n| record(&arms[0], n, false)).collect();
        records.extend((0..6).map(|n| record(&arms[1], n, true)));
        // A single run is no rate.
        records.push(record(&arms[2], 0, true));
        let found = findings(&arms, &summarise(&arms, &records));
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("control with clean: they differ"), "{}", found[0].text);
    }
}
