//! What the answers amount to: the place, how certain it is, and what does not fit.

use serde::{Deserialize, Serialize};

use super::posterior::{Model, Posterior};
use super::search::Search;

/// The end of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The first position that is known to be bad.
    pub first: usize,
    /// Untestable positions directly before it: any of them may be the first bad one.
    pub or_from: usize,
    /// The last position that is taken to be good.
    pub last_good: usize,
    /// Probability that the first bad position is one of `or_from ..= first`.
    pub confidence: f64,
    /// Answers that do not fit one single change.
    pub oddities: Vec<Oddity>,
    /// The asked confidence is reached.
    pub certain: bool,
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Oddity {
    /// No failure at the end that was said to be bad.
    NotReproduced { runs: u32 },
    /// A failure at the end that was said to be good.
    GoodEndCorrupt,
    EndUntestable {
        position: usize,
        /// What its runs said, where it was run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Clean so often that, were it bad like its neighbours, this would happen with the given chance: the history is not
    /// one change.
    CleanAgain { position: usize, clean: u32, chance: f64 },
    /// The first bad place failed once and then was clean so often that, at the rate of the others, this would happen with
    /// the given chance: that failure may be of another cause.
    FailedOnce { position: usize, clean: u32, chance: f64 },
    /// Corrupt and clean answers contradict each other under every single change.
    NoPlaceFits,
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Oddity::NotReproduced { runs } => write!(f, "no failure in {runs} runs at the bad end"),
            Oddity::GoodEndCorrupt => f.write_str("the good end fails too"),
            Oddity::EndUntestable { reason, .. } => {
                f.write_str("an end of the range cannot be tested")?;
                reason.iter().try_for_each(|reason| write!(f, ": {reason}"))
            }
            Oddity::CleanAgain { clean, chance, .. } => {
                write!(
                    f,
                    "clean in {clean} runs behind the first bad one (chance {chance:.2e} if it were bad): more than one change"
                )
            }
            Oddity::FailedOnce { clean, chance, .. } => {
                write!(f, "clean in {clean} runs but for one failure (chance {chance:.2e} if it were bad)")
            }
            Oddity::NoPlaceFits => f.write_str("no single change explains the answers"),
        }
    }
}

/// Share of the asked error that the search itself uses up; the rest is for what the model does not know (that the rate
/// is the same in all bad releases, what it is where it had to be learned).
const IN_USE: f64 = 0.5;
/// The place before the change is run on until its clean runs are by this factor less likely than the search needed.
const VERIFIED: f64 = 0.5;
/// A place that failed once is called odd at this share of the asked error: a single place has to be judged, after the fact.
const ONCE: f64 = 0.1;

/// The place, if one is certain enough by now.
pub(super) fn found(search: &Search, posterior: &Posterior) -> Option<Found> {
    let found = place(search, posterior);
    (found.confidence >= 1.0 - search.settings().error * IN_USE).then_some(Found { certain: true, ..found })
}

/// The range that is left when no run tells anything more.
pub(super) fn undivided(search: &Search, posterior: &Posterior) -> Found {
    let found = place(search, posterior);
    Found { certain: found.confidence >= 1.0 - search.settings().error, ..found }
}

fn place(search: &Search, posterior: &Posterior) -> Found {
    let likeliest = posterior.likeliest();
    // An untestable place has the probability of the next testable one behind it: only together they are an answer.
    let last = search.tallies().len().saturating_sub(1);
    let first = (likeliest..=last).find(|p| !search.passed_over(*p)).unwrap_or(last);
    let mut or_from = first;
    while or_from > 0 && search.passed_over(or_from - 1) {
        or_from -= 1;
    }
    Found {
        first,
        or_from,
        last_good: or_from.saturating_sub(1),
        confidence: posterior.within(or_from..=first),
        oddities: failed_once(search, first)
            .into_iter()
            .chain((first + 1..=last).filter_map(|position| clean_again(search, position)))
            .collect(),
        certain: false,
    }
}

/// Clean so often that another look would tell nothing.
pub(super) fn stayed_clean(search: &Search, position: usize) -> bool {
    chance_of_clean(search, position) <= search.settings().error * IN_USE * VERIFIED
}

/// Failed in one run, and clean so often beside it that the failure does not look like that of the others.
pub(super) fn once_only(search: &Search, position: usize) -> bool {
    search.tallies().get(position).is_some_and(|tally| tally.corrupt == 1)
        && matches!(search.settings().model, Model::OneSided { .. })
        && chance_of_clean(search, position) <= search.settings().error * ONCE
}

fn failed_once(search: &Search, position: usize) -> Option<Oddity> {
    let clean = search.tallies().get(position)?.clean;
    let last = search.tallies().len().checked_sub(1)?;
    (position < last && once_only(search, position)).then(|| Oddity::FailedOnce {
        position,
        clean,
        chance: chance_of_clean(search, position),
    })
}

/// A position behind the change that is clean so often that it does not fit.
fn clean_again(search: &Search, position: usize) -> Option<Oddity> {
    if !clean_although_bad(search, position) {
        return None;
    }
    let tally = search.tallies().get(position)?;
    Some(Oddity::CleanAgain { position, clean: tally.clean, chance: chance_of_clean(search, position) })
}

/// The chance of the clean answers of `position`, were it bad at the rate that all other positions show.
fn chance_of_clean(search: &Search, position: usize) -> f64 {
    let (mut corrupt, mut clean) = (0_u32, 0_u32);
    // The rate is that of the bad end and of whatever was corrupt, not of the position in question.
    let last = search.tallies().len().saturating_sub(1);
    for (other, tally) in search.tallies().iter().enumerate() {
        if other != position && (tally.corrupt > 0 || other == last) {
            corrupt = corrupt.saturating_add(tally.corrupt);
            clean = clean.saturating_add(tally.clean);
        }
    }
    let runs = search.tallies().get(position).map_or(0, |tally| tally.clean);
    search.after().all_clean(corrupt, clean, runs)
}

pub(super) fn clean_although_bad(search: &Search, position: usize) -> bool {
    let one_sided = matches!(search.settings().model, Model::OneSided { .. });
    let Some(tally) = search.tallies().get(position) else { return false };
    one_sided
        && tally.corrupt == 0
        && tally.clean > 0
        && chance_of_clean(search, position) <= search.settings().error
}

/// What makes the answers impossible.
pub(super) fn oddity(search: &Search) -> Option<Oddity> {
    let first_corrupt = search.tallies().iter().position(|tally| tally.corrupt > 0)?;
    (first_corrupt + 1..search.tallies().len()).find_map(|position| clean_again(search, position))
}
