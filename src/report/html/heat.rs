//! The heat map: worst verdict over two axes. The page is made with two; its script redraws it for others.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use crate::report::aggregate::{self, ArmSummary};
use crate::report::axes;
use crate::report::section::{Report, Section};

use super::{Choice, anchor, badge, scroll};

#[derive(Serialize)]
struct ArmPoint {
    anchor: String,
    verdict: &'static str,
    axes: BTreeMap<&'static str, String>,
}

/// Every axis that some arm has.
pub(super) fn axes_of(report: &Report) -> BTreeSet<&'static str> {
    report.sections.iter().flat_map(|s| &s.arms).flat_map(|arm| axes::point(arm).into_keys()).collect()
}

/// Shown for an axis that has no meaning for an arm.
const ABSENT: &str = "–";

pub(super) fn panel(section: &Section, index: usize, choice: &Choice) -> Markup {
    let arms: Vec<ArmPoint> = section
        .arms
        .iter()
        .zip(&section.summaries)
        .map(|(arm, summary)| ArmPoint {
            anchor: anchor(index, &arm.id),
            verdict: word(summary),
            axes: axes::point(arm),
        })
        .collect();
    let moving = moving(&arms);
    let (Some(down), Some(across)) = chosen(&moving, choice) else { return html! {} };
    // "<" would end the script element.
    let data = serde_json::to_string(&arms).unwrap_or_default().replace('<', "\\u003c");
    let choices: BTreeSet<&str> =
        moving.iter().map(|(axis, _)| *axis).chain([down.as_str(), across.as_str()]).collect();
    let select = |label: &str, now: &str| {
        html! {
            label { (label) " "
                select {
                    @for axis in &choices { option value=(axis) selected[*axis == now] { (axis) } }
                }
            }
        }
    };
    html! {
        h3 { "Verdicts over two axes" }
        div data-heat {
            // Without its script, the page has nothing to choose with.
            div.choose hidden { (select("Down", &down)) (select("Across", &across)) }
            (scroll("Heat map", &table(&arms, &down, &across)))
            script type="application/json" { (PreEscaped(data)) }
        }
    }
}

fn word(summary: &ArmSummary) -> &'static str {
    if summary.runs == 0 { "none" } else { summary.verdict.word }
}

fn value<'a>(arm: &'a ArmPoint, axis: &str) -> &'a str {
    arm.axes.get(axis).map_or(ABSENT, String::as_str)
}

/// Axes with more than one value, the one that splits the verdicts best first.
fn moving(arms: &[ArmPoint]) -> Vec<(&'static str, usize)> {
    let names: BTreeSet<&'static str> = arms.iter().flat_map(|arm| arm.axes.keys().copied()).collect();
    let mut out: Vec<(&'static str, usize)> = names
        .into_iter()
        .filter_map(|axis| {
            let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for arm in arms {
                groups.entry(value(arm, axis)).or_default().push(arm.verdict);
            }
            if groups.len() < 2 {
                return None;
            }
            // Arms that do not have their group's commonest verdict.
            let astray: usize = groups
                .values()
                .map(|verdicts| {
                    let most = verdicts.iter().map(|v| verdicts.iter().filter(|w| *w == v).count()).max();
                    verdicts.len() - most.unwrap_or(0)
                })
                .sum();
            // An axis with a value for each arm says nothing, one that many arms have not says little.
            let absent = arms.iter().filter(|arm| !arm.axes.contains_key(axis)).count();
            Some((axis, astray + 2 * groups.len() + absent))
        })
        .collect();
    out.sort_by_key(|(axis, astray)| (*astray, *axis));
    out
}

fn chosen(moving: &[(&'static str, usize)], choice: &Choice) -> (Option<String>, Option<String>) {
    if let Some((down, across)) = &choice.axes {
        return (Some(down.clone()), Some(across.clone()));
    }
    let axis = |n: usize| moving.get(n).map(|(axis, _)| (*axis).to_owned());
    (axis(0), axis(1).or_else(|| axis(0).map(|_| "driver".to_owned())))
}

fn table(arms: &[ArmPoint], down: &str, across: &str) -> Markup {
    let values = |axis: &str| {
        let set: BTreeSet<&str> = arms.iter().map(|arm| value(arm, axis)).collect();
        let mut list: Vec<&str> = set.into_iter().collect();
        list.sort_by(|a, b| natural(a, b));
        list
    };
    let columns = values(across);
    html! {
        table.heat {
            thead { tr {
                th scope="col" { (down) " ↓  " (across) " →" }
                @for top in &columns { th scope="col" { (top) } }
            } }
            tbody {
                @for left in values(down) {
                    tr {
                        th scope="row" { (left) }
                        @for top in &columns { td { (cell(arms, (down, left), (across, top))) } }
                    }
                }
            }
        }
    }
}

fn cell(arms: &[ArmPoint], down: (&str, &str), across: (&str, &str)) -> Markup {
    let here: Vec<&ArmPoint> =
        arms.iter().filter(|arm| value(arm, down.0) == down.1 && value(arm, across.0) == across.1).collect();
    let Some(worst) = here.iter().min_by_key(|arm| aggregate::severity(arm.verdict)) else {
        return badge("none", ABSENT);
    };
    let same = here.iter().filter(|arm| arm.verdict == worst.verdict).count();
    let shown = if worst.verdict == "none" { "not run" } else { worst.verdict };
    html! { a href={ "#" (worst.anchor) } { (badge(worst.verdict, &format!("{shown} {same}/{}", here.len()))) } }
}

/// Numbers by value, the rest as text.
fn natural(a: &str, b: &str) -> std::cmp::Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y),
        _ => a.cmp(b),
    }
}
