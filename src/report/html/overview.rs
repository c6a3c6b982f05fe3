//! What is established, the table of arms with their rate bars, and what was left out.

use maud::{Markup, html};

use crate::report::aggregate::{ArmSummary, Expected};
use crate::report::faulty::Faulty;
use crate::report::section::Section;
use crate::report::table::counts;
use crate::report::words::grouped;
use crate::stats::interval::Interval;

use super::{anchor, badge, px, scroll};

pub(super) fn findings(section: &Section) -> Markup {
    html! {
        @if !section.findings.is_empty() {
            h3 { "What this run establishes" }
            ul { @for finding in &section.findings { li { strong { (finding.heading) } ": " (finding.text) } } }
        }
    }
}

pub(super) fn arms(section: &Section, index: usize) -> Markup {
    let table = html! {
        table {
            thead { tr {
                @for head in ["arm", "verdict", "as expected", "faulty runs", "wrong / untouched", "Per Dispatch", "private surface", "EPERM", "time"] {
                    th scope="col" { (head) }
                }
            } }
            tbody {
                @for arm in &section.summaries { (row(arm, index)) }
            }
        }
    };
    html! {
        h3 { "Arms" }
        p.legend { "Faulty runs: how many of those with a verdict, and the 95 % interval of the rate." }
        (scroll("Table of arms", &table))
    }
}

fn row(arm: &ArmSummary, index: usize) -> Markup {
    let word = if arm.runs == 0 { "none" } else { arm.verdict.word };
    html! {
        tr {
            th scope="row" { a href={ "#" (anchor(index, &arm.id)) } { (arm.id) } }
            td { (badge(word, &arm.verdict.to_string())) }
            td { (expected(arm)) }
            td.rate { (bar(Faulty::of(arm))) }
            td.n { (counts(arm, grouped)) }
            td.n { (arm.per_dispatch.map_or("–".into(), |line| u8::from(line.flag).to_string())) }
            td { (arm.history.as_deref().unwrap_or("–")) }
            td.n { (arm.eperm.map_or("–".into(), grouped)) }
            td.n { (format!("{:.1} s", arm.seconds)) }
        }
    }
}

fn expected(arm: &ArmSummary) -> Markup {
    html! {
        @match arm.as_expected {
            None => "–",
            Some(Expected::Met) => "yes",
            Some(Expected::MetSoFar) => { "yes so far (" (arm.runs) " of " (arm.planned) ")" },
            Some(Expected::Improved) => strong { "improved" },
            Some(Expected::NoVerdict) => strong { "no verdict" },
            Some(Expected::NotMeasured) => strong { "not measured" },
            Some(Expected::Unmet) => strong { "NO" },
        }
    }
}

/// Width of the bar, in SVG units.
const WIDTH: f64 = 110.0;

fn bar(rate: Faulty) -> Markup {
    let interval = rate.interval();
    let told = match interval {
        Some(i) => format!("{rate} ({:.0}–{:.0} %)", (i.low * 100.0).floor(), (i.high * 100.0).ceil()),
        None => rate.to_string(),
    };
    let part = if rate.of == 0 { 0.0 } else { rate.hits as f64 / rate.of as f64 };
    html! {
        (told)
        svg width="110" height="12" viewBox="0 0 110 12" aria-hidden="true" {
            rect class="bar-bg" x="0" y="2" width=(WIDTH) height="8" {}
            rect class="bar" x="0" y="2" width=(px(WIDTH * part)) height="8" {}
            @if let Some(Interval { low, high }) = interval {
                line class="whisker" x1=(px(WIDTH * low)) x2=(px(WIDTH * high)) y1="6" y2="6" {}
                line class="whisker" x1=(px(WIDTH * low)) x2=(px(WIDTH * low)) y1="2" y2="10" {}
                line class="whisker" x1=(px(WIDTH * high)) x2=(px(WIDTH * high)) y1="2" y2="10" {}
            }
        }
    }
}

pub(super) fn left_out(section: &Section) -> Markup {
    html! {
        @if !section.excluded.is_empty() {
            h3 { "Left out" }
            ul { @for (arm, why) in &section.excluded { li { code { (arm) } ": " (why) } } }
        }
    }
}
