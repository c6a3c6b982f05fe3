//! The path of a bisection: each place with its answers, from the good end to the bad one, and the steps that led to them.

use maud::{Markup, html};

use crate::bisect::record::{Conclusion, Looking, Question, Retraced};
use crate::bisect::{Found, Model, Step, Tally, Why};
use crate::stats::rate::percent;

use super::{px, scroll};

/// A search, decided again from its runs.
#[derive(Clone, Debug)]
pub struct Path {
    pub question: Question,
    pub path: Retraced,
}

const STEP: f64 = 44.0;
const LEFT: f64 = 24.0;

/// What is known of one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fails,
    Clean,
    Untestable,
    NotRun,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Fails => "fails",
            State::Clean => "clean",
            State::Untestable => "untestable",
            State::NotRun => "not run",
        }
    }
}

impl Path {
    fn tally(&self, place: usize) -> Tally {
        self.path.search.tallies().get(place).copied().unwrap_or_default()
    }

    fn state(&self, place: usize) -> State {
        let tally = self.tally(place);
        match (tally.corrupt, tally.clean, tally.untestable) {
            (1.., ..) => State::Fails,
            (0, 1.., _) => State::Clean,
            (0, 0, 1..) => State::Untestable,
            (0, 0, 0) => State::NotRun,
        }
    }
}

pub(super) fn panel(search: &Path) -> Markup {
    let question = &search.question;
    let conclusion = search.path.conclusion();
    let next = match (&search.path.end, search.path.search.next()) {
        (None, Step::Run { position, why }) => Some((position, why)),
        _ => None,
    };
    html! {
        section aria-label="Bisection" {
            h3 { "Search: " (question.verb) " on " (question.arm) }
            p { (outcome(search, &conclusion, next)) }
            (scroll("Path of the search", &picture(search, conclusion.found.as_ref())))
            (scroll("Places of the search", &table(search, conclusion.found.as_ref(), next)))
            details {
                summary { (search.path.said.len()) " steps, in order" }
                ol.path { @for line in &search.path.said { li { (line) } } }
            }
        }
    }
}

fn outcome(search: &Path, conclusion: &Conclusion, next: Option<(usize, Why)>) -> Markup {
    let question = &search.question;
    let label = |place| question.label(place);
    html! {
        @match (&conclusion.found, &conclusion.contradiction) {
            (Some(found), _) => {
                @let two_sided = matches!(question.settings.model, Model::TwoSided { .. });
                @match (question.looking, two_sided) {
                    (Looking::Fixed, _) => {
                        "Fixed in " strong { (label(found.last_good)) } ", last bad: " (label(found.first))
                    }
                    (Looking::Broken, false) => {
                        "First that fails: " strong { (label(found.first)) } ", last good: " (label(found.last_good))
                    }
                    (Looking::Broken, true) => {
                        "The rate changes in " strong { (label(found.first)) } ", last before it: " (label(found.last_good))
                    }
                }
                @if found.or_from < found.first {
                    " (what lies between cannot be run: " (between(question, found)) ")"
                }
                ". Probability " (percent(found.confidence)) ", asked for " (percent(1.0 - question.settings.error))
                @if !found.certain { ": less than was asked for" }
                "; " (conclusion.runs) " runs."
                @for oddity in &found.oddities { " Does not fit: " (oddity) "." }
            },
            (None, Some(oddity)) => { "No conclusion: " (oddity) "." },
            (None, None) => { "No conclusion yet, after " (conclusion.runs) " runs." },
        }
        @if let Some((place, why)) = next { " Next to run: " strong { (label(place)) } " (" (why.word()) ")." }
    }
}

fn between(question: &Question, found: &Found) -> String {
    (found.or_from..found.first).map(|place| question.label(place)).collect::<Vec<_>>().join(", ")
}

fn picture(search: &Path, found: Option<&Found>) -> Markup {
    let places = &search.question.places;
    let width = LEFT * 2.0 + STEP * places.len().saturating_sub(1).max(1) as f64;
    html! {
        svg viewBox=(format!("0 0 {width} 60")) width=(width) role="img" aria-label="Path of the search; the same is in the table below" {
            line class="axis" x1=(LEFT) x2=(width - LEFT) y1="24" y2="24" {}
            @if let Some(found) = found {
                @let x = LEFT + STEP * (found.first as f64 - 0.5);
                line class="threshold" x1=(px(x)) x2=(px(x)) y1="4" y2="44" {}
            }
            @for (i, place) in places.iter().enumerate() {
                @let x = LEFT + STEP * i as f64;
                @let tip = format!("{}: {}", place.label, answers(search.tally(i)));
                @match search.state(i) {
                    State::Fails => rect class="bad dot" x=(px(x - 6.0)) y="18" width="12" height="12" { title { (tip) } },
                    State::Clean => circle class="good dot" cx=(px(x)) cy="24" r="6" { title { (tip) } },
                    State::Untestable => path class="axis" d=(format!("M{} 19l10 10m0 -10l-10 10", px(x - 5.0))) { title { (tip) } },
                    State::NotRun => circle class="bar-bg" cx=(px(x)) cy="24" r="4" { title { (tip) } },
                }
            }
            text.dim x=(LEFT) y="56" { "■ fails   ● clean   × untestable   • not run" }
        }
    }
}

fn table(search: &Path, found: Option<&Found>, next: Option<(usize, Why)>) -> Markup {
    let posterior = search.path.search.posterior();
    let chance = |place: usize| posterior.as_ref().and_then(|p| p.first.get(place)).copied().unwrap_or(0.0);
    let (first, last_good) = match search.question.looking {
        Looking::Broken => ("first that fails", "last good"),
        Looking::Fixed => ("last that fails", "first fixed"),
    };
    html! {
        table {
            thead { tr {
                th scope="col" { "place" } th scope="col" { "answers" } th scope="col" { "state" }
                th scope="col" { "the change is here" } th scope="col" { "note" }
            } }
            tbody {
                @for (i, place) in search.question.places.iter().enumerate() {
                    tr {
                        th scope="row" { (place.label) }
                        td { (answers(search.tally(i))) }
                        td { (search.state(i).word()) }
                        td { @if chance(i) >= 0.000_5 { (percent(chance(i))) } @else { "–" } }
                        td {
                            @if found.is_some_and(|f| f.first == i) { strong { (first) } " " }
                            @if found.is_some_and(|f| f.last_good == i) { strong { (last_good) } " " }
                            @if let Some((_, why)) = next.filter(|next| next.0 == i) { strong { "next: " (why.word()) } " " }
                            @if !place.same_as.is_empty() { "same build: " (place.same_as.join(", ")) " " }
                            @if place.reused != Tally::default() { (answers(place.reused)) " known before " }
                            @if let Some(why) = &place.broken { (why) }
                        }
                    }
                }
            }
        }
    }
}

fn answers(tally: Tally) -> String {
    let parts: Vec<String> =
        [(tally.corrupt, "fails"), (tally.clean, "clean"), (tally.untestable, "untestable")]
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, what)| format!("{n} {what}"))
            .collect();
    if parts.is_empty() { "–".into() } else { parts.join(", ") }
}
