//! How often an arm fails, over its runs, and whether it always fails alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::outcome::RunRecord;
use crate::model::verdict::Verdict;
use crate::probe::signature_class;
use crate::stats::{Rate, Tally, rate::percent, stopping::CONFIDENCE};

use super::aggregate::ArmSummary;

/// Runs by what they say of the failure `word`.
pub fn tally(records: &[&RunRecord], word: &str) -> Tally {
    let mut tally = Tally::default();
    for record in records {
        match &record.verdict {
            // A build that failed was not run: nothing was tested.
            Verdict::Untestable { .. } | Verdict::BuildFailed { .. } => tally.untestable += 1,
            Verdict::HarnessError { .. } => tally.harness_errors += 1,
            Verdict::Clean { .. }
            | Verdict::Corrupt { .. }
            | Verdict::WrongBefore { .. }
            | Verdict::Hang { .. }
            | Verdict::Crash { .. }
            | Verdict::DeviceLost { .. } => {
                tally.testable += 1;
                tally.hits += u64::from(record.verdict.word() == word);
            }
        }
    }
    tally
}

/// Failures by their class, the most frequent first: several classes are several failures.
pub fn signatures(records: &[&RunRecord]) -> Vec<(String, usize)> {
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    for record in records.iter().filter(|record| crate::probe::FAILURES.contains(&record.verdict.word())) {
        *classes.entry(signature_class(&record.signature)).or_default() += 1;
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    classes
}

/// One line an arm that ran more than once; empty if none did.
pub fn text(arms: &[ArmSummary]) -> String {
    let repeated: Vec<&ArmSummary> = arms.iter().filter(|arm| arm.runs > 1).collect();
    let width = repeated.iter().map(|arm| arm.id.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for arm in repeated {
        let word = arm.rate_of;
        let said = match Rate::of(arm.tally, CONFIDENCE) {
            Some(rate) => {
                // As the exact one: a bound where an end is free, never "0 %".
                let jeffreys = match (rate.jeffreys.low, rate.jeffreys.high) {
                    (low, high) if low <= 0.0 => format!("below {}", percent(high)),
                    (low, high) if high >= 1.0 => format!("above {}", percent(low)),
                    (low, high) => format!("{} to {}", percent(low), percent(high)),
                };
                format!("{word} {}   (Jeffreys {jeffreys})", rate.show(arm.looked_at))
            }
            None => format!("{word}: no run had an answer"),
        };
        // Writing to a String cannot fail.
        let _ = write!(out, "  {:<width$}  {said}", arm.id);
        for (n, share, what) in [
            (arm.tally.untestable, arm.tally.untestable_share(), "untestable"),
            (arm.tally.harness_errors, arm.tally.harness_error_share(), "harness errors"),
        ] {
            if let (1.., Some(share)) = (n, share) {
                let _ = write!(out, "; {n} {what} ({} of the runs)", percent(share));
            }
        }
        if let Some(why) = &arm.stopped {
            let _ = write!(out, "; stopped by rule: {why}");
        }
        out.push('\n');
        if arm.signatures.len() > 1 {
            for (class, n) in &arm.signatures {
                let _ = writeln!(out, "  {:<width$}    {n} × {class}", "");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::facts::Facts;
    use crate::report::aggregate::summarise;
    use crate::report::fixture::{arm, record, with};

    #[test]
    fn rates_count_testable_runs_only_and_zero_has_a_bound() {
        let arms = [arm("a", |a| a.repeats = 5), arm("b", |a| a.repeats = 3)];
        let untestable = Verdict::Untestable { reason: "x".into() };
        let mut records: Vec<_> = (0..4).map(|n| record(&arms[0], n, n < 2)).collect();
        records.push(with(&arms[0], 4, untestable, Facts::default()));
        records.extend((0..3).map(|n| record(&arms[1], n, false)));
        let summaries = summarise(&arms, &records);
        assert_eq!(summaries[0].tally, Tally { hits: 2, testable: 4, untestable: 1, harness_errors: 0 });
        let text = text(&summaries);
        assert!(
            text.contains("corrupt 2/4 = 50.0 %") && text.contains("1 untestable (20.0 % of the runs)"),
            "{text}"
        );
        assert!(text.contains("corrupt 0/3: below") && !text.contains(" 0 %"), "{text}");
    }
}
