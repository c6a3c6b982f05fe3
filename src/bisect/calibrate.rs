//! Simulated histories: is the asked error kept, and at how many runs. The self-test of the search, and what
//! `repro-matrix bisect calibrate` prints.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

use super::posterior::{Belief, Model};
use super::search::{Search, Settings, Step};
use crate::probe::Answer;

/// A search that takes so many times one over the rate is given up: it names no place.
const MOST_FACTOR: f64 = 2_000.0;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub releases: usize,
    /// Failure rate of bad releases, in (0, 1].
    pub rate: f64,
    /// The search is told the rate.
    pub rate_known: bool,
    /// The search checks both ends first and verifies at the end, as a real one does; else both ends are certain.
    pub checks: bool,
    pub error: f64,
    pub histories: u32,
    pub seed: u64,
}

/// How the searches went.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub histories: u32,
    /// Named a wrong place.
    pub wrong: u32,
    /// Named none: the failure was not reproduced, the answers fitted no place, or there was no end.
    pub unnamed: u32,
    pub mean_runs: f64,
    /// Mean of the confidence that the searches claimed.
    pub claimed: f64,
}

/// Plays `plan`: the first bad release is drawn evenly from all but the first (which is good).
pub fn calibrate(plan: Plan) -> Calibration {
    let (mut wrong, mut unnamed) = (0, 0);
    let (mut runs, mut claimed) = (0_u64, 0.0);
    for history in 0..plan.histories {
        // A stream of its own for each history: another policy meets the same luck.
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
        random.set_stream(u64::from(history));
        let first = 1 + below(&mut random, plan.releases.saturating_sub(1).max(1));
        let after = if plan.rate_known { Belief::Known(plan.rate) } else { Belief::NOTHING };
        let settings =
            Settings { error: plan.error, model: Model::OneSided { after }, ..Settings::default() };
        let mut search = match plan.checks {
            true => Search::new(plan.releases, settings),
            false => Search::with_certain_ends(plan.releases, settings),
        };
        if !plan.rate_known && !plan.checks {
            // A rate that is not told is learned at the bad end, as in a real search.
            let last = plan.releases - 1;
            while search.tallies().last().is_some_and(|t| t.corrupt < 4) {
                search.record(last, draw(&mut random, plan.rate));
                runs += 1;
            }
        }
        let most = runs + (MOST_FACTOR / plan.rate) as u64;
        loop {
            if runs > most {
                unnamed += 1;
                break;
            }
            match search.next() {
                Step::Run { position, .. } => {
                    runs += 1;
                    let answer = if position >= first { draw(&mut random, plan.rate) } else { Answer::Clean };
                    search.record(position, answer);
                }
                Step::Done(found) => {
                    wrong += u32::from(found.first != first);
                    claimed += found.confidence;
                    break;
                }
                Step::Contradiction(_) => {
                    unnamed += 1;
                    break;
                }
            }
        }
    }
    let n = f64::from(plan.histories.max(1));
    Calibration {
        histories: plan.histories,
        wrong,
        unnamed,
        mean_runs: runs as f64 / n,
        claimed: claimed / n,
    }
}

fn draw(random: &mut ChaCha8Rng, rate: f64) -> Answer {
    let hit = f64::from(random.next_u32()) < rate * (f64::from(u32::MAX) + 1.0);
    if hit { Answer::Corrupt } else { Answer::Clean }
}

fn below(random: &mut ChaCha8Rng, n: usize) -> usize {
    // The bias of a modulus is far below what is measured here.
    (random.next_u64() % n.max(1) as u64) as usize
}
