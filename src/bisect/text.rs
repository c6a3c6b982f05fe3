//! A conclusion in words.

use std::fmt::Write as _;

use super::record::{Conclusion, Looking, Question};
use super::verdict::{Found, Oddity};
use super::{Search, Tally};
use crate::stats::{self, Rate};

/// The table of places, then what is concluded. `asked` is the error that was asked for.
pub fn text(question: &Question, search: &Search, conclusion: &Conclusion) -> String {
    let finished = conclusion.found.is_some() || conclusion.contradiction.is_some();
    let mut out = table(question, search, conclusion.contradiction.is_none());
    out.push_str(&without_runs(search, finished));
    out.push('\n');
    match (&conclusion.found, &conclusion.contradiction) {
        (Some(found), _) => place(question, conclusion, found, &mut out),
        (None, Some(oddity)) => contradiction(question, oddity, &mut out),
        (None, None) => {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "not finished: {} runs so far", conclusion.runs);
        }
    }
    out
}

/// One line a place that was run or cannot be. `likely`: with the probability of each place to be the first bad one, which
/// takes for granted that there is one change between the ends: nothing is said before anything has failed.
fn table(question: &Question, search: &Search, likely: bool) -> String {
    let width = question.places.iter().map(|p| p.label.chars().count()).max().unwrap_or(0);
    let posterior = search.posterior();
    let mut out = String::new();
    let likely = likely && search.tallies().iter().any(|tally| tally.corrupt > 0);
    for (position, place) in question.places.iter().enumerate() {
        let tally = search.tallies().get(position).copied().unwrap_or_default();
        if tally == Tally::default() {
            continue;
        }
        let said = match (&place.broken, rate(tally)) {
            (Some(reason), _) => format!("untestable: {}", reason.lines().next().unwrap_or_default()),
            // Its runs ended when they had told enough: only the interval that allows that.
            (None, Some(rate)) => format!("corrupt {}", rate.show(true)),
            (None, None) => format!("untestable in {} runs", tally.untestable),
        };
        let probability = posterior.as_ref().and_then(|p| p.first.get(position)).copied().unwrap_or(0.0);
        let _ = write!(out, "  {:<width$}  {said}", place.label);
        if likely && probability >= 0.000_5 {
            let _ = write!(out, "   first bad with {}", stats::rate::percent(probability));
        }
        if !place.same_as.is_empty() {
            let _ = write!(out, "   (same build: {})", place.same_as.join(", "));
        }
        out.push('\n');
    }
    out
}

/// One line for the places that were not run: in a search that goes on they may be yet.
fn without_runs(search: &Search, finished: bool) -> String {
    let places = search.tallies().iter().filter(|tally| **tally == Tally::default()).count();
    let noun = if places == 1 { "place" } else { "places" };
    match (places, finished) {
        (0, _) => String::new(),
        (_, true) => format!("  {places} {noun} needed no run\n"),
        (_, false) => format!("  {places} {noun} not run so far\n"),
    }
}

/// A search that stopped before its end.
pub fn unfinished(question: &Question, search: &Search) -> String {
    table(question, search, true) + &without_runs(search, false)
}

fn rate(tally: Tally) -> Option<Rate> {
    let tally = stats::Tally {
        hits: tally.corrupt.into(),
        testable: tally.testable().into(),
        untestable: tally.untestable.into(),
        harness_errors: 0,
    };
    Rate::of(tally, stats::stopping::CONFIDENCE)
}

fn place(question: &Question, conclusion: &Conclusion, found: &Found, out: &mut String) {
    let label = |position| question.label(position);
    let between: Vec<String> = (found.or_from..found.first).map(label).collect();
    let (head, last) = match question.looking {
        Looking::Broken => {
            (format!("first bad   {}", label(found.first)), format!("last good   {}", label(found.last_good)))
        }
        Looking::Fixed => {
            (format!("fixed in    {}", label(found.last_good)), format!("last bad    {}", label(found.first)))
        }
    };
    let _ = writeln!(out, "{head}\n{last}");
    if !between.is_empty() {
        let _ = writeln!(out, "untestable between them, so it may be any of: {}", between.join(", "));
    }
    let _ = writeln!(
        out,
        "confidence  {} (asked for {}), {} runs",
        stats::rate::percent(found.confidence),
        stats::rate::percent(1.0 - question.settings.error),
        conclusion.runs
    );
    if !found.certain {
        out.push_str("not certain: no run that can be made tells the remaining places apart\n");
    }
    for oddity in &found.oddities {
        let _ = writeln!(out, "does not fit: {}", named(question, oddity));
    }
}

fn contradiction(question: &Question, oddity: &Oddity, out: &mut String) {
    let _ = writeln!(out, "no conclusion: {}", named(question, oddity));
}

fn named(question: &Question, oddity: &Oddity) -> String {
    match oddity {
        Oddity::CleanAgain { position, .. } | Oddity::FailedOnce { position, .. } => {
            format!("{} is {oddity}", question.label(*position))
        }
        Oddity::EndUntestable { position, reason } => {
            let broken = question.places.get(*position).and_then(|place| place.broken.as_ref());
            let reason = broken.or(reason.as_ref()).map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{} is an end of the range and cannot be tested{reason}", question.label(*position))
        }
        Oddity::GoodEndCorrupt => format!("{} was said to be good and fails", question.label(0)),
        Oddity::NotReproduced { .. } => {
            format!("{oddity}, {}", question.label(question.places.len().saturating_sub(1)))
        }
        Oddity::NoPlaceFits => oddity.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Place, VERSION};
    use super::super::search::{Settings, Step};
    use super::*;
    use crate::probe::{Answer, Target};

    #[test]
    fn a_search_that_found_no_failure_names_no_first_bad_place() {
        let place = |label: &str| Place {
            label: label.to_owned(),
            same_as: Vec::new(),
            arm: label.to_owned(),
            driver: String::new(),
            broken: None,
            reused: Tally::default(),
        };
        let question = Question {
            version: VERSION,
            verb: "bisect".to_owned(),
            matrix: "m".to_owned(),
            arm: "a".to_owned(),
            looking: Looking::Broken,
            target: Target::default(),
            settings: Settings::default(),
            batch: 1,
            places: vec![place("old"), place("new")],
        };
        let mut search = question.search();
        (0..9).for_each(|_| search.record(1, Answer::Clean));
        let say = |end: &Step| text(&question, &search, &Conclusion::of(&search, end));
        let none = say(&Step::Contradiction(Oddity::NotReproduced { runs: 9 }));
        assert!(none.contains("no failure in 9 runs") && !none.contains("first bad"), "{none}");
        let going_on = say(&search.next());
        assert!(!going_on.contains("first bad"), "nor while it goes on");
        assert!(going_on.contains("1 place not run so far") && none.contains("1 place needed no run"));
        search.record(1, Answer::Corrupt);
        let said = text(&question, &search, &Conclusion::of(&search, &search.next()));
        assert!(said.contains("first bad with"), "{said}");
    }
}
