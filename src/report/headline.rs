//! A report in one line: for a badge, a subject, a job's last line.

use serde::Serialize;

use crate::exit::Exit;

use super::aggregate::Expected;
use super::section::{Report, Section};
use super::words::plural;

/// One line over all sections, colour by the worst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headline {
    pub text: String,
    pub colour: &'static str,
}

impl Headline {
    pub fn of(report: &Report) -> Self {
        if report.sections.is_empty() {
            return Headline { text: "no results".into(), colour: "lightgrey" };
        }
        let worst = report.sections.iter().map(|section| section.exit).max_by_key(|exit| badness(*exit));
        let mut text = report.sections.iter().map(line).collect::<Vec<_>>().join("; ");
        if !report.problems.is_empty() {
            text += &format!("; {} could not be read", plural(report.problems.len(), "part"));
        }
        let lost = report.problems.iter().any(|problem| problem.loses_runs);
        let colour = match worst {
            // Green would say of the lost runs, too, that they are as expected.
            Some(Exit::AsExpected | Exit::OnlyImprovements) if lost => colour(Exit::Inconclusive),
            Some(Exit::AsExpected) if report.sections.iter().any(nothing_expected) => "lightgrey",
            Some(Exit::AsExpected) if report.sections.iter().any(cut_short) => "green",
            worst => worst.map_or("lightgrey", colour),
        };
        Headline { text, colour }
    }

    /// The form that shields.io reads from an address (schema version 1).
    pub fn badge(&self) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Badge<'a> {
            schema_version: u8,
            label: &'a str,
            message: &'a str,
            color: &'a str,
        }
        let badge =
            Badge { schema_version: 1, label: "repro-matrix", message: &self.text, color: self.colour };
        let mut text = serde_json::to_string(&badge).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// "smoke on sim:a770 (a model): 3 arms, 1 corrupt, 2 clean; as expected".
pub fn line(section: &Section) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for summary in section.summaries.iter().filter(|summary| summary.runs > 0) {
        match counts.iter_mut().find(|(word, _)| *word == summary.verdict.word) {
            Some((_, n)) => *n += 1,
            None => counts.push((summary.verdict.word, 1)),
        }
    }
    counts.sort();
    let mut parts = vec![plural(section.arms.len(), "arm")];
    parts.extend(counts.iter().map(|(word, n)| format!("{n} {word}")));
    let not_run = section.summaries.iter().filter(|summary| summary.runs == 0).count();
    if not_run > 0 {
        parts.push(format!("{not_run} not run"));
    }
    let not_here = section.not_here().len();
    if not_here > 0 {
        parts.push(format!("{not_here} more could not run here"));
    }
    let unmet = section.summaries.iter().filter(|s| s.as_expected == Some(Expected::Unmet)).count();
    let outcome = match section.exit {
        Exit::AsExpected if nothing_expected(section) => "nothing was expected".to_owned(),
        Exit::AsExpected if cut_short(section) => "as expected so far".to_owned(),
        Exit::AsExpected => "as expected".to_owned(),
        Exit::OnlyImprovements if cut_short(section) => "only improvements so far".to_owned(),
        Exit::OnlyImprovements => "only improvements".to_owned(),
        Exit::Inconclusive => "inconclusive".to_owned(),
        Exit::BuildFailed => "a build failed".to_owned(),
        _ => format!("{unmet} not as expected"),
    };
    format!("{} on {}: {}; {outcome}", section.key.matrix, section.device_line(), parts.join(", "))
}

/// No arm has an expectation: those of a search, and of a matrix that says none.
fn nothing_expected(section: &Section) -> bool {
    section.summaries.iter().all(|summary| summary.as_expected.is_none())
}

/// Expectations are met, or surpassed, by the runs that `--max-time` left time for.
fn cut_short(section: &Section) -> bool {
    section.summaries.iter().any(|summary| summary.as_expected.is_some() && summary.out_of_time())
}

fn badness(exit: Exit) -> u8 {
    match exit {
        Exit::AsExpected => 0,
        Exit::OnlyImprovements => 1,
        Exit::Inconclusive => 2,
        Exit::BuildFailed => 3,
        _ => 4,
    }
}

fn colour(exit: Exit) -> &'static str {
    match exit {
        Exit::AsExpected => "brightgreen",
        Exit::OnlyImprovements => "green",
        Exit::Inconclusive => "yellow",
        _ => "red",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use crate::results::Loaded;

    #[test]
    fn what_nobody_expected_is_not_as_expected() {
        let headline = |expected: bool| {
            let arm = fixture::arm("a", |arm| {
                arm.repeats = 1;
                let expectation = serde_json::json!({ "verdict": "corrupt" });
                arm.expect = expected.then(|| serde_json::from_value(expectation).unwrap());
            });
            let manifest = serde_json::from_value(serde_json::json!({
                "version": 1, "tool": "0", "matrix": "m", "matrix_sha256": "0", "seed": 1,
                "started": "2026-11-29T15:12:00Z", "device": "sim:a770", "drivers": {},
                "arms": [arm], "excluded": [], "environment": { "machine": "m1" },
            }));
            let results = Loaded {
                dir: "a".into(),
                manifest: manifest.unwrap(),
                records: vec![fixture::record(&arm, 0, true)],
                whole_bytes: 0,
                torn_bytes: 0,
                out_of_time: false,
            };
            let Headline { text, colour } = Headline::of(&Report::of(vec![results], vec![]));
            format!("{text} {colour}")
        };
        assert_eq!(
            headline(false),
            "m on sim:a770 (a model): 1 arm, 1 corrupt; nothing was expected lightgrey"
        );
        assert_eq!(headline(true), "m on sim:a770 (a model): 1 arm, 1 corrupt; as expected brightgreen");
    }
}
