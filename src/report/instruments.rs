//! Which instruments of the runs were compared on which fact, and where they differ.

use std::collections::BTreeMap;

use crate::model::outcome::RunRecord;
use crate::model::verdict::{ComparedFact, Verdict};

use super::words::{listed, plural};

/// `None`: no run came to anything.
pub(super) fn told(records: &[RunRecord]) -> Option<String> {
    // In a run that came to nothing there was nothing to compare.
    let ran = |r: &&RunRecord| r.verdict.answers() && !matches!(r.verdict, Verdict::BuildFailed { .. });
    let records: Vec<&RunRecord> = records.iter().filter(|r| ran(r) || !r.disagreements.is_empty()).collect();
    if records.is_empty() {
        return None;
    }
    // Fact and its instruments → (runs in which they agree, runs in which they were compared).
    let mut facts: BTreeMap<(ComparedFact, &[String]), (usize, usize)> = BTreeMap::new();
    for compared in records.iter().flat_map(|r| r.compared.iter().flatten()) {
        let (agree, all) = facts.entry((compared.fact, &compared.instruments)).or_default();
        *agree += usize::from(compared.agree);
        *all += 1;
    }
    let mut told: Vec<String> = facts
        .iter()
        .map(|((fact, instruments), (agree, all))| {
            let what = format!("{} on {}", listed(instruments), words(*fact, instruments));
            match agree == all {
                true => format!("{what} agree in {}", plural(*all, "run")),
                false => format!("{what} agree in {agree} of {}", plural(*all, "run")),
            }
        })
        .collect();
    let alone = records.iter().filter(|r| r.compared.as_ref().is_some_and(Vec::is_empty)).count();
    if alone > 0 {
        told.push(format!("in {} no fact has two instruments: nothing was compared", plural(alone, "run")));
    }
    let unknown = records.iter().filter(|r| r.compared.is_none()).count();
    if unknown > 0 {
        told.push(format!("what was compared in {} is not recorded", plural(unknown, "run")));
    }
    let differ: Vec<_> = records.iter().filter(|r| !r.disagreements.is_empty()).collect();
    told.extend(differ.iter().take(3).map(|r| format!("{}: {}", r.arm, r.disagreements.join(", "))));
    if differ.len() > 3 {
        told.push(format!("and {} more differ", plural(differ.len() - 3, "run")));
    }
    Some(told.join("; ") + ".")
}

/// What was compared in one run; `None`: not recorded.
pub(super) fn of_run(record: &RunRecord) -> Option<String> {
    let told: Vec<String> = (record.compared.as_ref()?.iter())
        .map(|one| {
            let word = if one.agree { "agree" } else { "differ" };
            format!("{} on {}: {word}", listed(&one.instruments), words(one.fact, &one.instruments))
        })
        .collect();
    Some(if told.is_empty() { "nothing: no fact has two instruments".to_owned() } else { told.join("; ") })
}

fn words(fact: ComparedFact, instruments: &[String]) -> &'static str {
    match fact {
        ComparedFact::Verdict => "the verdict (elements, and what was bound)",
        ComparedFact::PerDispatch => "the per-dispatch path",
        // The driver prints the last of two tries only.
        ComparedFact::FailedBinds if instruments.iter().any(|name| name == "neo-log") => {
            "binds that failed with EPERM (at most as many in neo-log)"
        }
        ComparedFact::FailedBinds => "binds that failed with EPERM",
        ComparedFact::PrivateSurface => "the life of the private surface",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::verdict::Compared;
    use crate::report::fixture::{arm, record};

    fn compared(fact: ComparedFact, instruments: &[&str], agree: bool) -> Compared {
        Compared { fact, instruments: instruments.iter().map(|name| (*name).to_owned()).collect(), agree }
    }

    fn run(repeat: u32, compared: Vec<Compared>, disagreements: &[&str]) -> RunRecord {
        let mut record = record(&arm("a", |_| {}), repeat, true);
        record.compared = Some(compared);
        record.disagreements = disagreements.iter().map(|text| (*text).to_owned()).collect();
        record
    }

    #[test]
    fn facts_are_named_with_their_instruments_and_one_instrument_alone_is_no_agreement() {
        let binds = |agree| compared(ComparedFact::FailedBinds, &["sim", "strace", "neo-log"], agree);
        let verdict = compared(ComparedFact::Verdict, &["data", "sim"], true);
        let runs = [
            run(0, vec![verdict, binds(true)], &[]),
            run(1, vec![binds(false)], &["sim counts 3, strace 4"]),
            run(2, vec![], &[]),
        ];
        assert_eq!(
            told(&runs).unwrap_or_default(),
            "data and sim on the verdict (elements, and what was bound) agree in 1 run; sim, strace and neo-log on \
             binds that failed with EPERM (at most as many in neo-log) agree in 1 of 2 runs; in 1 run no fact has two instruments: nothing was compared; \
             a: sim counts 3, strace 4."
        );
        let alone = told(&[run(0, vec![], &[])]).unwrap_or_default();
        assert_eq!(alone, "in 1 run no fact has two instruments: nothing was compared.");
    }

    #[test]
    fn results_of_an_older_build_are_not_taken_for_an_agreement() {
        let mut old = run(0, vec![], &[]);
        old.compared = None;
        assert_eq!(told(&[old]).unwrap_or_default(), "what was compared in 1 run is not recorded.");
    }
}
