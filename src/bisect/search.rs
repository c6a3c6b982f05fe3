//! Which position to run next, until one place is certain enough.

use serde::{Deserialize, Serialize};

use super::Tally;
use super::posterior::{Belief, Model, Posterior};
use super::verdict::{self, Found, Oddity};
use crate::probe::Answer;

/// What a search asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Largest probability of naming the wrong place, in (0, 1).
    pub error: f64,
    pub model: Model,
    /// A position is passed over after so many runs without any answer.
    pub untestable_after: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { error: 0.01, model: Model::OneSided { after: Belief::NOTHING }, untestable_after: 2 }
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Run this position.
    Run {
        position: usize,
        why: Why,
    },
    Done(Found),
    /// The answers do not fit the model, whatever comes next.
    Contradiction(Oddity),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    BadEnd,
    GoodEnd,
    Pivot,
    /// A last look at the neighbours and at places behind the change.
    Verify,
}

impl Why {
    pub fn word(self) -> &'static str {
        match self {
            Why::BadEnd => "bad end",
            Why::GoodEnd => "good end",
            Why::Pivot => "pivot",
            Why::Verify => "verify",
        }
    }
}

/// Positions 0 (good) to n−1 (bad), and the answers so far.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    tallies: Vec<Tally>,
    prior: Vec<f64>,
    /// Check both ends first, and verify afterwards.
    checks: bool,
}

/// Share of the prior that the "good" end is bad already.
const GOOD_END_DOUBT: f64 = 0.05;
/// Chance that a bad "good" end passes its first check. Clean runs at any later position count against it too.
const GOOD_END_PASSES: f64 = 0.05;
/// Corrupt runs that teach the rate at the bad end.
pub const HITS_TO_LEARN: u32 = 4;
/// As many times more untestable runs than for a place without any answer make one pass over a place with a few.
const TOO_SELDOM: u32 = 10;
/// Runs of the bad end without a hit after which the failure is not reproduced.
pub const TRIES_AT_BAD_END: u32 = 200;

impl Search {
    /// `releases` ≥ 2 positions, the first said to be good, the last said to be bad.
    pub fn new(releases: usize, settings: Settings) -> Search {
        let n = releases.max(2);
        let doubt = GOOD_END_DOUBT / (1.0 - GOOD_END_DOUBT) * (n - 1) as f64;
        let mut prior = vec![1.0; n];
        if let Some(first) = prior.first_mut() {
            *first = doubt;
        }
        Search { settings, tallies: vec![Tally::default(); n], prior, checks: true }
    }

    /// Both ends are certain: no checks, no verification, no doubt of the good end. For simulated histories.
    pub fn with_certain_ends(releases: usize, settings: Settings) -> Search {
        let mut search = Search::new(releases, settings);
        search.checks = false;
        if let Some(first) = search.prior.first_mut() {
            *first = 0.0;
        }
        search
    }

    pub fn record(&mut self, position: usize, answer: Answer) {
        if let Some(tally) = self.tallies.get_mut(position) {
            tally.add(answer);
        }
    }

    /// Adds answers that were measured before.
    pub fn preload(&mut self, position: usize, known: Tally) {
        if let Some(tally) = self.tallies.get_mut(position) {
            tally.corrupt = tally.corrupt.saturating_add(known.corrupt);
            tally.clean = tally.clean.saturating_add(known.clean);
            tally.untestable = tally.untestable.saturating_add(known.untestable);
        }
    }

    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn posterior(&self) -> Option<Posterior> {
        Posterior::of(self.settings.model, &self.prior, &self.tallies)
    }

    /// Nothing, or too little, can be learned there.
    pub fn passed_over(&self, position: usize) -> bool {
        let after = self.settings.untestable_after;
        self.tallies.get(position).is_none_or(|t| match t.testable() {
            0 => t.untestable >= after,
            runs => t.untestable / TOO_SELDOM >= after.saturating_mul(runs),
        })
    }

    pub fn next(&self) -> Step {
        if self.checks
            && let Some(step) = self.ends()
        {
            return step;
        }
        let Some(posterior) = self.posterior() else {
            return Step::Contradiction(self.contradiction());
        };
        match verdict::found(self, &posterior) {
            Some(found) if self.checks => self.verify(&found).unwrap_or(Step::Done(found)),
            Some(found) => Step::Done(found),
            None => self.pivot(&posterior),
        }
    }

    /// The ends first: without a failure at one and none at the other there is nothing to look for.
    fn ends(&self) -> Option<Step> {
        let last = self.tallies.len() - 1;
        let (good, bad) = (self.tallies.first()?, self.tallies.last()?);
        if self.passed_over(last) || self.passed_over(0) {
            let position = if self.passed_over(last) { last } else { 0 };
            return Some(Step::Contradiction(Oddity::EndUntestable { position, reason: None }));
        }
        let two_sided = matches!(self.settings.model, Model::TwoSided { .. });
        let expected = match self.after() {
            Belief::Known(_) => self.after().all_clean(0, 0, bad.clean) > self.settings.error,
            Belief::Beta { .. } => bad.clean < TRIES_AT_BAD_END,
        };
        if bad.corrupt == 0 && !expected {
            return Some(Step::Contradiction(Oddity::NotReproduced { runs: bad.clean }));
        }
        // A known rate need not be learned, only shown once.
        let wanted = match self.after() {
            Belief::Known(_) => 1,
            Belief::Beta { a, .. } if a > 1.0 => 1,
            Belief::Beta { .. } => HITS_TO_LEARN,
        };
        if bad.corrupt < wanted && (bad.corrupt == 0 || bad.testable() < TRIES_AT_BAD_END) {
            return Some(Step::Run { position: last, why: Why::BadEnd });
        }
        if !two_sided && good.corrupt > 0 {
            return Some(Step::Contradiction(Oddity::GoodEndCorrupt));
        }
        let passes = self.after().all_clean(bad.corrupt, bad.clean, good.clean);
        let enough = if two_sided { good.testable() >= 2 * HITS_TO_LEARN } else { passes <= GOOD_END_PASSES };
        (!enough).then_some(Step::Run { position: 0, why: Why::GoodEnd })
    }

    pub(super) fn after(&self) -> Belief {
        match self.settings.model {
            Model::OneSided { after } | Model::TwoSided { after, .. } => after,
        }
    }

    /// Where a run is expected to tell most. A bad release is left at its first corrupt run and a clean one costs many runs,
    /// so for small rates the best place has less than half of the probability on its bad side.
    fn pivot(&self, posterior: &Posterior) -> Step {
        let gains = posterior.gains();
        let best = (gains.iter().enumerate())
            .filter(|(position, _)| !self.passed_over(*position))
            .max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
        match best {
            Some((position, gain)) if *gain > 1e-12 => Step::Run { position, why: Why::Pivot },
            // Nothing testable tells anything: what is left is a range that cannot be divided.
            _ => Step::Done(verdict::undivided(self, posterior)),
        }
    }

    fn contradiction(&self) -> Oddity {
        verdict::oddity(self).unwrap_or(Oddity::NoPlaceFits)
    }

    /// A last look at both neighbours and behind them: the place before must stay clean, the first bad one must fail again, and
    /// so must one well behind it, or the history has more than one change.
    fn verify(&self, found: &Found) -> Option<Step> {
        let tally = |position: usize| self.tallies.get(position).copied().unwrap_or_default();
        let run = |position| Some(Step::Run { position, why: Why::Verify });
        let last = self.tallies.len() - 1;
        if matches!(self.settings.model, Model::OneSided { .. }) {
            if found.last_good < found.first && !verdict::stayed_clean(self, found.last_good) {
                return run(found.last_good);
            }
            if found.first < last && tally(found.first).corrupt == 1 && !verdict::once_only(self, found.first)
            {
                return run(found.first);
            }
        }
        let behind = (found.first + last).div_ceil(2);
        for position in [found.first, behind] {
            let t = tally(position);
            if position < last
                && t.corrupt == 0
                && !self.passed_over(position)
                && !verdict::clean_although_bad(self, position)
            {
                return run(position);
            }
        }
        None
    }
}
