//! Evidence of every arm: timeline, runs, what each instrument said, and the log lines themselves.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::report::aggregate::ArmSummary;
use crate::report::excerpt::{self, Excerpt};
use crate::report::section::Section;
use crate::report::timeline::Timeline;
use crate::report::{by_hand, instruments, words};

use super::{Logs, anchor, badge, timeline_plot};

pub(super) fn panel(section: &Section, index: usize, timelines: &Timelines<'_>, logs: Logs<'_>) -> Markup {
    html! {
        h3 { "Evidence" }
        @for (arm, summary) in section.arms.iter().zip(&section.summaries) {
            details id=(anchor(index, &arm.id)) {
                summary {
                    (badge(if summary.runs == 0 { "none" } else { summary.verdict.word }, &summary.verdict.to_string()))
                    " " (arm.id)
                }
                (self::arm(section, arm, summary, timelines, logs))
            }
        }
    }
}

fn arm(
    section: &Section,
    arm: &Arm,
    summary: &ArmSummary,
    timelines: &Timelines<'_>,
    logs: Logs<'_>,
) -> Markup {
    let runs: Vec<(&RunRecord, &std::path::PathBuf)> = section.runs_of(&arm.id).collect();
    html! {
        @if !arm.note.is_empty() { p { (arm.note) } }
        @if let Some(expect) = &arm.expect {
            @if let Some(reason) = &expect.reason { p { "Expected because: " (reason) } }
            @if let Some(tracker) = &expect.tracker { p { "Known as " code { (tracker) } } }
        }
        (timeline(&summary.id, timelines))
        @for (i, (record, dir)) in runs.iter().enumerate() {
            h4 { "Run " (record.repeat) ": " (badge(record.verdict.word(), record.verdict.word())) " " (format!("{:.2} s", record.wall_seconds)) }
            p.legend { (record.started) " · " (record.signature) }
            @if record.as_expected == Some(false) { p { strong { "Not as expected: " } (record.unmet.join("; ")) } }
            @if record.as_expected.is_none() && !record.not_measured.is_empty() {
                p { strong { "Not measured: " } (record.not_measured.join("; ")) }
            }
            ul { @for evidence in &record.evidence { li { strong { (evidence.instrument) } ": " (evidence.says) } } }
            @if let Some(compared) = instruments::of_run(record) { p.legend { "Compared: " (compared) } }
            @for disagreement in &record.disagreements { p.problem { "Instruments disagree: " (disagreement) } }
            // Repeats with the same verdict have the same lines: the first of each is enough.
            @if runs.iter().take(i).all(|(earlier, _)| earlier.verdict.word() != record.verdict.word()) {
                (lines(record, dir, summary.surface_bytes, logs))
                @if let Some(script) = by_hand::script(arm, record) {
                    details { summary { "This run by hand" } pre tabindex="0" { (script) } }
                }
            } @else if !record.logs.is_empty() {
                p.legend { "Logs: " @for log in &record.logs { code { (log) } " " } }
            }
        }
    }
}

/// The timeline of each arm, of the run that speaks for it. Traces are large: each is read once.
pub(super) type Timelines<'a> = BTreeMap<&'a str, Timeline>;

pub(super) fn timelines<'a>(section: &'a Section, logs: Logs<'_>) -> Timelines<'a> {
    let of = |summary: &'a ArmSummary| {
        let surface = summary.surface_bytes?;
        let (record, dir) =
            section.runs_of(&summary.id).find(|(r, _)| r.verdict.word() == summary.verdict.word)?;
        let trace = record.logs.iter().find(|log| log.ends_with("trace.gz") && !log.ends_with("xe-trace.gz"));
        let trace = trace.and_then(|log| logs(dir, log));
        Some((summary.id.as_str(), Timeline::of(record, surface, trace.as_deref())?))
    };
    section.summaries.iter().filter_map(of).collect()
}

pub(super) fn timeline(arm: &str, timelines: &Timelines<'_>) -> Markup {
    match timelines.get(arm) {
        Some(timeline) => html! {
            figure style="margin:.5rem 0" {
                (timeline_plot::plot(timeline, arm))
                figcaption.legend { "The private surface (" (words::grouped(timeline.surface)) " B). Phases are not to scale." }
            }
        },
        None => html! {},
    }
}

fn lines(record: &RunRecord, dir: &Path, surface: Option<u64>, logs: Logs<'_>) -> Markup {
    let mut missing = Vec::new();
    let mut found: Vec<Excerpt> = Vec::new();
    let readable = |log: &&String| !log.ends_with("maps.gz") && !log.ends_with("arrivals.gz");
    for log in record.logs.iter().filter(readable) {
        match logs(dir, log) {
            Some(text) => found.extend(excerpt::excerpt(log, &text, surface)),
            None => missing.push(log),
        }
    }
    html! {
        @for excerpt in &found {
            details {
                summary { code { (excerpt.log) } ": " (excerpt.lines.len()) " lines" @if excerpt.more > 0 { " of " (excerpt.lines.len() + excerpt.more) } }
                pre tabindex="0" {
                    @for (number, text) in &excerpt.lines { span.no { (format!("{number:>6}  ")) } (text) "\n" }
                }
            }
        }
        @for log in &missing { p.problem { code { (log) } " is missing: its lines cannot be shown." } }
    }
}
