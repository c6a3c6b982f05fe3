//! `--format md`: for a comment on a pull request. What is not as expected first, the rest folded away.

use super::aggregate::{ArmSummary, Expected};
use super::faulty::Faulty;
use super::headline::{self, Headline};
use super::section::{Report, Section};
use super::words::{grouped, plural};
use super::{table as columns, text};

/// A comment may have 65,536 characters; the rest is for what the poster adds.
const MOST: usize = 60_000;

pub fn render(report: &Report) -> String {
    let mut out = format!("**{}**\n\n", Headline::of(report).text);
    for problem in &report.problems {
        out.push_str(&format!("> ⚠ {problem}\n"));
    }
    if !report.problems.is_empty() {
        out.push('\n');
    }
    for section in &report.sections {
        out.push_str(&self::section(section, report.machines() > 1));
    }
    cut(out)
}

fn section(section: &Section, several_machines: bool) -> String {
    let mut out = format!("### {}\n\n", headline::line(section));
    out.push_str(&format!("{} · seed {} · {}", section.driver_line(), section.seed, section.started));
    if several_machines {
        out.push_str(&format!(" · machine {}", section.key.machine));
    }
    out.push_str("\n\n");
    if section.simulated() {
        out.push_str("The device is simulated: a prediction, not a measurement on silicon.\n\n");
    }
    let (odd, plain): (Vec<&ArmSummary>, Vec<&ArmSummary>) = section
        .summaries
        .iter()
        .partition(|s| !matches!(s.as_expected, Some(Expected::Met)) || s.disagreements > 0);
    if !odd.is_empty() {
        out.push_str(&table(&odd));
        out.push('\n');
        for arm in odd.iter().filter(|arm| !arm.unmet.is_empty() || !arm.not_measured.is_empty()) {
            let mut why = arm.unmet.clone();
            why.dedup();
            why.extend(arm.not_measured.iter().map(|what| format!("not measured: {what}")));
            out.push_str(&format!("- `{}`: {}\n", arm.id, why.join("; ")));
        }
        out.push('\n');
    }
    if !plain.is_empty() {
        let summary = format!("{} as expected", plural(plain.len(), "arm"));
        out.push_str(&text::folded(&summary, &table(&plain)));
        out.push('\n');
    }
    if !section.findings.is_empty() {
        let list: String = section
            .findings
            .iter()
            .map(|finding| format!("- **{}**: {}\n", finding.heading, finding.text))
            .collect();
        out.push_str(&text::folded("What this run establishes", &list));
        out.push('\n');
    }
    if !section.excluded.is_empty() {
        let list: String = section.excluded.iter().map(|(id, why)| format!("- `{id}`: {why}\n")).collect();
        out.push_str(&text::folded(&format!("{} left out", plural(section.excluded.len(), "arm")), &list));
        out.push('\n');
    }
    out
}

/// The arms as the vendor's form and a comment show them.
pub fn table(arms: &[&ArmSummary]) -> String {
    text::table(
        [
            "arm",
            "verdict",
            "faulty / runs",
            "wrong / untouched",
            "Per Dispatch",
            "private surface",
            "EPERM",
            "as expected",
        ],
        arms.iter().map(|arm| {
            [
                format!("`{}`", arm.id),
                if arm.verdict.word == "clean" {
                    arm.verdict.to_string()
                } else {
                    format!("**{}**", arm.verdict)
                },
                Faulty::of(arm).to_string(),
                columns::counts(arm, grouped),
                arm.per_dispatch.map_or("–".into(), |line| u8::from(line.flag).to_string()),
                arm.history.clone().unwrap_or_else(|| "–".into()),
                arm.eperm.map_or("–".into(), grouped),
                arm.as_expected.map_or("–".into(), |expected| expected.to_string()),
            ]
        }),
    )
}

/// Whole lines up to the limit of a comment, and a word about the rest.
fn cut(text: String) -> String {
    if text.chars().count() <= MOST {
        return text;
    }
    let mut out = String::new();
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.chars().count();
        if length > MOST {
            break;
        }
        out.push_str(line);
    }
    let opened = out.matches("<details>").count().saturating_sub(out.matches("</details>").count());
    out.push_str(&"\n</details>\n".repeat(opened));
    out.push_str("\n(cut here: a comment has room for no more; `--format html` shows everything)\n");
    out
}
