//! How many runs are left: the search is played on against what it believes by now.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::posterior::Posterior;
use super::search::{Search, Step};
use crate::probe::Answer;

/// Futures that are played.
const PLAYS: u32 = 3;
/// Most runs of a future: beyond, a number of runs says no more than "many".
pub const MOST: u32 = 2_000;

/// Mean number of runs until the search ends, of a few futures drawn from its own posterior. An estimate for people: it is as
/// good as what is known so far. At most [`MOST`].
pub fn runs_left(search: &Search) -> u32 {
    let Some(posterior) = search.posterior() else { return 0 };
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let sum: u32 = (0..PLAYS).map(|_| play(search.clone(), &posterior, &mut random)).sum();
    sum.div_ceil(PLAYS)
}

fn play(mut search: Search, posterior: &Posterior, random: &mut ChaCha8Rng) -> u32 {
    let first = drawn(posterior, random);
    for made in 0..MOST {
        let Step::Run { position, .. } = search.next() else { return made };
        let corrupt = chance(random) < posterior.rate(first, position);
        search.record(position, if corrupt { Answer::Corrupt } else { Answer::Clean });
    }
    MOST
}

/// A place where the change may be, as likely as it is believed to be there.
fn drawn(posterior: &Posterior, random: &mut ChaCha8Rng) -> usize {
    let mut left = chance(random);
    for (place, weight) in posterior.first.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return place;
        }
    }
    posterior.likeliest()
}

fn chance(random: &mut ChaCha8Rng) -> f64 {
    f64::from(random.next_u32()) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisect::{Belief, Model, Settings};

    fn search(places: usize, rate: f64) -> Search {
        let model = Model::OneSided { after: Belief::Known(rate) };
        Search::with_certain_ends(places, Settings { model, ..Settings::default() })
    }

    /// 2 … 1024 places that fail always: as many runs as halvings, and at the end none.
    #[test]
    fn a_search_without_noise_takes_its_halvings() {
        for bits in 1_u32..=10 {
            let left = runs_left(&search(1 + (1 << bits), 1.0));
            assert!((bits..=bits + 1).contains(&left), "{bits} bits: {left}");
        }
        let mut done = search(3, 1.0);
        done.record(1, Answer::Corrupt);
        assert_eq!(runs_left(&done), 0);
    }

    /// Over 32 places the mean is known from the calibration: about 19 runs at 50 %, 231 at 5 %.
    #[test]
    fn seldom_failures_take_longer() {
        let (often, seldom) = (runs_left(&search(32, 0.5)), runs_left(&search(32, 0.05)));
        assert!((9..=40).contains(&often) && (115..=460).contains(&seldom), "{often} {seldom}");
    }
}
