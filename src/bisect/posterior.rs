//! The probability of every place where the fault may have come in.

use serde::{Deserialize, Serialize};
use statrs::function::beta::ln_beta;

use super::Tally;

/// What is known of a failure rate before the runs of this search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Belief {
    /// Stated by the user. In (0, 1].
    Known(f64),
    /// Beta(a, b); ½, ½ where nothing is known. Runs measured before are added to it.
    Beta { a: f64, b: f64 },
}

impl Belief {
    pub const NOTHING: Belief = Belief::Beta { a: 0.5, b: 0.5 };

    /// ln of the chance of `hits` and `misses`, in the order in which they came.
    fn ln_chance(self, hits: u32, misses: u32) -> f64 {
        let (h, m) = (f64::from(hits), f64::from(misses));
        match self {
            Belief::Known(p) => {
                // A rate of 1 with a clean run is impossible, and 0 · ln 0 is nothing.
                let hit = if hits == 0 { 0.0 } else { h * p.ln() };
                let miss = if misses == 0 { 0.0 } else { m * (1.0 - p).ln() };
                hit + miss
            }
            Belief::Beta { a, b } => ln_beta(a + h, b + m) - ln_beta(a, b),
        }
    }

    /// Expected rate after `hits` and `misses`.
    fn mean(self, hits: u32, misses: u32) -> f64 {
        match self {
            Belief::Known(p) => p,
            Belief::Beta { a, b } => (a + f64::from(hits)) / (a + b + f64::from(hits) + f64::from(misses)),
        }
    }

    /// The chance that the next `runs` are all clean, after `hits` and `misses`.
    pub fn all_clean(self, hits: u32, misses: u32, runs: u32) -> f64 {
        (self.ln_chance(hits, misses.saturating_add(runs)) - self.ln_chance(hits, misses)).exp()
    }
}

/// How releases before and after the change fail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Never before, at one rate after: one failure proves a release to be after.
    OneSided { after: Belief },
    /// At one rate before and another after: "flaky became flakier".
    TwoSided { before: Belief, after: Belief },
}

/// Probabilities over the first bad position: `first[i]` that it is `i`. Expected failure rates under each.
#[derive(Clone, Debug)]
pub struct Posterior {
    pub first: Vec<f64>,
    /// Expected rate of positions before / from the change on, if the change is at `i`.
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Posterior {
    /// `prior[i]` ∝ the probability that position `i` is the first bad one, before any run. `None`: the answers
    /// contradict the model (a corrupt run before every place that is left).
    pub fn of(model: Model, prior: &[f64], tallies: &[Tally]) -> Option<Posterior> {
        let n = tallies.len();
        let total = sum(tallies);
        let mut below = (0_u32, 0_u32);
        let mut ln = Vec::with_capacity(n);
        let (mut before, mut after) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (tally, prior) in tallies.iter().zip(prior) {
            let above = (total.0 - below.0, total.1 - below.1);
            let (chance, old, new) = match model {
                Model::OneSided { after } => {
                    let possible = if below.0 == 0 { 0.0 } else { f64::NEG_INFINITY };
                    (possible + after.ln_chance(above.0, above.1), 0.0, after.mean(above.0, above.1))
                }
                Model::TwoSided { before, after } => (
                    before.ln_chance(below.0, below.1) + after.ln_chance(above.0, above.1),
                    before.mean(below.0, below.1),
                    after.mean(above.0, above.1),
                ),
            };
            ln.push(chance + prior.ln());
            before.push(old);
            after.push(new);
            below = (below.0 + tally.corrupt, below.1 + tally.clean);
        }
        let most = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return None;
        }
        let weights: Vec<f64> = ln.iter().map(|l| (l - most).exp()).collect();
        let whole: f64 = weights.iter().sum();
        Some(Posterior { first: weights.into_iter().map(|w| w / whole).collect(), before, after })
    }

    /// Bits that one run at each position is expected to tell of the place of the change.
    pub fn gains(&self) -> Vec<f64> {
        let parts = |rates: &[f64]| -> Vec<(f64, f64)> {
            self.first.iter().zip(rates).map(|(w, rate)| (w * rate, w * entropy(*rate))).collect()
        };
        let (old, new) = (parts(&self.before), parts(&self.after));
        // A position is "after" for every change at or before it: running sums, so that all positions cost one pass.
        let mut corrupt: f64 = old.iter().map(|part| part.0).sum();
        let mut certain: f64 = old.iter().map(|part| part.1).sum();
        let at = |(old, new): (&(f64, f64), &(f64, f64))| {
            corrupt += new.0 - old.0;
            certain += new.1 - old.1;
            (entropy(corrupt.clamp(0.0, 1.0)) - certain).max(0.0)
        };
        old.iter().zip(&new).map(at).collect()
    }

    /// Expected failure rate of `position` if the change is at `first`.
    pub fn rate(&self, first: usize, position: usize) -> f64 {
        let rates = if position >= first { &self.after } else { &self.before };
        rates.get(first).copied().unwrap_or(0.0)
    }

    /// Chance that a run at `position` is corrupt.
    pub fn corrupt_at(&self, position: usize) -> f64 {
        self.first.iter().enumerate().map(|(first, weight)| weight * self.rate(first, position)).sum()
    }

    /// Probability that the first bad position is one of `range`.
    pub fn within(&self, range: std::ops::RangeInclusive<usize>) -> f64 {
        self.first.get(range).map_or(0.0, |part| part.iter().sum())
    }

    /// The likeliest first bad position.
    pub fn likeliest(&self) -> usize {
        let best = self.first.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
        best.map_or(0, |(i, _)| i)
    }
}

/// (corrupt, clean) of all.
fn sum(tallies: &[Tally]) -> (u32, u32) {
    tallies.iter().fold((0, 0), |s, t| (s.0.saturating_add(t.corrupt), s.1.saturating_add(t.clean)))
}

fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p <= 0.0 { 0.0 } else { -p * p.log2() };
    part(p) + part(1.0 - p)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(corrupt: u32, clean: u32) -> Tally {
        Tally { corrupt, clean, untestable: 0 }
    }

    const KNOWN: Model = Model::OneSided { after: Belief::Known(0.1) };

    #[test]
    fn a_corrupt_run_excludes_every_later_place() {
        let tallies = [tally(0, 0), tally(0, 0), tally(1, 50), tally(0, 0)];
        let p = Posterior::of(KNOWN, &[1.0; 4], &tallies).expect("possible");
        assert_eq!(p.first.get(3), Some(&0.0));
        assert!((p.within(0..=2) - 1.0).abs() < 1e-12);
    }

    /// By hand: one clean run at 1 leaves 0 and 1 with (1 − p)/(…) each, 2 and 3 with 1/(…).
    #[test]
    fn one_clean_run_weighs_as_bayes_says() {
        let tallies = [tally(0, 0), tally(0, 1), tally(0, 0), tally(0, 0)];
        let p = Posterior::of(KNOWN, &[1.0; 4], &tallies).expect("possible");
        for (got, want) in p.first.iter().zip([0.9 / 3.8, 0.9 / 3.8, 1.0 / 3.8, 1.0 / 3.8]) {
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
        assert!((p.corrupt_at(1) - 0.1 * 1.8 / 3.8).abs() < 1e-12);
    }

    #[test]
    fn a_contradiction_is_said() {
        let sure = Model::OneSided { after: Belief::Known(1.0) };
        assert!(Posterior::of(sure, &[1.0; 3], &[tally(1, 0), tally(0, 1), tally(0, 0)]).is_none());
        assert!(Posterior::of(sure, &[1.0; 3], &[tally(0, 1), tally(1, 0), tally(0, 0)]).is_some());
    }

    #[test]
    fn a_learned_rate_needs_fewer_clean_runs_the_higher_it_is() {
        let belief = Belief::NOTHING;
        assert!(belief.all_clean(4, 0, 3) < 0.01);
        assert!(belief.all_clean(4, 40, 30) > 0.01);
        assert!((Belief::Known(0.05).all_clean(0, 0, 90) - 0.95_f64.powi(90)).abs() < 1e-12);
    }
}
