//! The path of a search over driver builds or values: each place with its answers, from the good end to the bad one.

use maud::{Markup, html};

use crate::bisect::Tally;
use crate::bisect::record::{Conclusion, Question};

use super::{px, scroll};

/// A search with what came of it; no conclusion = it was ended before one.
#[derive(Clone, Debug)]
pub struct Path {
    pub question: Question,
    pub conclusion: Option<Conclusion>,
}

const STEP: f64 = 44.0;
const LEFT: f64 = 24.0;

pub(super) fn panel(path: &Path) -> Markup {
    let places = &path.question.places;
    let tally =
        |i: usize| path.conclusion.as_ref().and_then(|c| c.tallies.get(i)).copied().unwrap_or_default();
    let found = path.conclusion.as_ref().and_then(|c| c.found.as_ref());
    let width = LEFT * 2.0 + STEP * places.len().saturating_sub(1).max(1) as f64;
    let picture = html! {
        svg viewBox=(format!("0 0 {width} 60")) width=(width) role="img" aria-label="Path of the search; the same is in the table below" {
            line class="axis" x1=(LEFT) x2=(width - LEFT) y1="24" y2="24" {}
            @if let Some(found) = found {
                @let x = LEFT + STEP * (found.first as f64 - 0.5);
                line class="threshold" x1=(px(x)) x2=(px(x)) y1="4" y2="44" {}
            }
            @for (i, place) in places.iter().enumerate() {
                @let (x, t) = (LEFT + STEP * i as f64, tally(i));
                @let tip = format!("{}: {}", place.label, answers(t));
                @if t.corrupt > 0 {
                    rect class="bad dot" x=(px(x - 6.0)) y="18" width="12" height="12" { title { (tip) } }
                } @else if t.clean > 0 {
                    circle class="good dot" cx=(px(x)) cy="24" r="6" { title { (tip) } }
                } @else {
                    circle class="bar-bg" cx=(px(x)) cy="24" r="4" { title { (tip) } }
                }
            }
            text.dim x=(LEFT) y="56" { "■ fails   ● does not   • not run" }
        }
    };
    html! {
        h3 { "Search: " (path.question.verb) " on " (path.question.arm) }
        p {
            @match found {
                Some(found) => {
                    "First place that fails: " strong { (path.question.label(found.first)) }
                    @if found.or_from < found.first { " (or from " (path.question.label(found.or_from)) " on: what lies between cannot be run)" }
                    ", last good: " (path.question.label(found.last_good))
                    ". Probability " (format!("{:.1} %", found.confidence * 100.0))
                    @if !found.certain { ": less than was asked for" }
                    "."
                    @if !found.oddities.is_empty() { " " (found.oddities.len()) " answers do not fit one single change." }
                },
                None => "No conclusion: the search ended before one.",
            }
        }
        (scroll("Path of the search", &picture))
        (scroll("Places of the search", &html! {
            table {
                thead { tr { th scope="col" { "place" } th scope="col" { "answers" } th scope="col" { "note" } } }
                tbody {
                    @for (i, place) in places.iter().enumerate() {
                        tr {
                            th scope="row" { (place.label) }
                            td { (answers(tally(i))) }
                            td {
                                @if found.is_some_and(|f| f.first == i) { strong { "first that fails" } }
                                @if found.is_some_and(|f| f.last_good == i) { "last good" }
                                @if let Some(why) = &place.broken { (why) }
                            }
                        }
                    }
                }
            }
        }))
    }
}

fn answers(tally: Tally) -> String {
    let parts: Vec<String> =
        [(tally.corrupt, "fails"), (tally.clean, "clean"), (tally.untestable, "untestable")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
    if parts.is_empty() { "not run".into() } else { parts.join(", ") }
}
