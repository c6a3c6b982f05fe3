//! The A/B panel: arms that differ in one axis, one faulty and one clean, side by side.

use maud::{Markup, html};

use crate::model::arm::Arm;
use crate::report::aggregate::ArmSummary;
use crate::report::axes;
use crate::report::faulty::Faulty;
use crate::report::section::Section;

use super::evidence::{self, Timelines};
use super::{anchor, badge};

/// More pairs than these say nothing new.
const MOST: usize = 12;

struct Pair<'a> {
    axis: &'static str,
    bad: (&'a Arm, &'a ArmSummary, String),
    good: (&'a Arm, &'a ArmSummary, String),
}

pub(super) fn panel(section: &Section, index: usize, timelines: &Timelines<'_>) -> Markup {
    let pairs = pairs(section);
    if pairs.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Side by side: one axis changed" }
        @for (i, pair) in pairs.iter().take(MOST).enumerate() {
            details open[i == 0] {
                summary { strong { (pair.axis) } ": " (pair.bad.2) " → " (pair.good.2) }
                div.ab {
                    (side("A", &pair.bad, index, timelines))
                    (side("B", &pair.good, index, timelines))
                }
            }
        }
        @if pairs.len() > MOST { p.legend { (pairs.len() - MOST) " more pairs are not shown." } }
    }
}

fn side(
    letter: &str,
    (arm, summary, value): &(&Arm, &ArmSummary, String),
    index: usize,
    timelines: &Timelines<'_>,
) -> Markup {
    html! {
        div {
            h4 { (letter) ": " a href={ "#" (anchor(index, &arm.id)) } { (arm.id) } }
            dl.facts {
                dt { "value" } dd { (value) }
                dt { "verdict" } dd { (badge(summary.verdict.word, &summary.verdict.to_string())) }
                dt { "faulty runs" } dd { (Faulty::of(summary)) }
                dt { "Per Dispatch" } dd { (summary.per_dispatch.map_or("–".into(), |line| u8::from(line.flag).to_string())) }
                dt { "private surface" } dd { (summary.history.as_deref().unwrap_or("–")) }
                dt { "EPERM" } dd { (summary.eperm.map_or("–".into(), |n| n.to_string())) }
            }
            (evidence::timeline(&arm.id, timelines))
        }
    }
}

/// Each pair of values of an axis once, the first arms that show it.
fn pairs(section: &Section) -> Vec<Pair<'_>> {
    let told: Vec<(&Arm, &ArmSummary, axes::Point)> = section
        .arms
        .iter()
        .zip(&section.summaries)
        .zip(axes::points(&section.arms, &section.records))
        .map(|((arm, summary), point)| (arm, summary, point))
        .filter(|(_, s, _)| s.conclusive() && s.verdict.word != "build-failed")
        .collect();
    let mut out: Vec<Pair<'_>> = Vec::new();
    for bad in told.iter().filter(|(_, s, _)| s.verdict.word != "clean") {
        for good in told.iter().filter(|(_, s, _)| s.verdict.word == "clean") {
            let (a, b) = (&bad.2, &good.2);
            let [axis] = axes::differing(a, b)[..] else { continue };
            let value = |point: &axes::Point| point.get(axis).cloned().unwrap_or_default();
            let (from, to) = (value(a), value(b));
            if out.iter().any(|pair| pair.axis == axis && pair.bad.2 == from && pair.good.2 == to) {
                continue;
            }
            out.push(Pair { axis, bad: (bad.0, bad.1, from), good: (good.0, good.1, to) });
        }
    }
    out
}
