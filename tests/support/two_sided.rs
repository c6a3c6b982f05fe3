//! The baseline of the calibration: bisection for two-sided noise as git_bayesect describes itself. Written from its
//! description, and apart from `bisect::posterior`, which it measures.
//!
//! Every release fails at one unknown rate before the change and at another one after it, each with the prior Beta(½, ½), so
//! that the chance of the answers is a product of two Beta functions. The next run goes to the release with the least expected
//! entropy of what is left; the search ends when one place has the asked probability.
#![allow(dead_code)] // The test and the bench each use a part of it.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// How the histories went at one confidence.
#[derive(Clone, Copy, Debug)]
pub struct Played {
    pub wrong: u32,
    pub mean_runs: f64,
    /// Standard error of the mean.
    pub error_of_mean: f64,
}

/// Plays `histories` of `releases` whose bad ones fail at `rate` and whose good ones never do, to each of the `confidences`
/// (ascending). The first bad release is drawn evenly from all but the first.
pub fn play<const N: usize>(
    releases: usize,
    rate: f64,
    confidences: [f64; N],
    histories: u32,
) -> [Played; N] {
    let (mut wrong, mut sums, mut squares) = ([0_u32; N], [0.0; N], [0.0; N]);
    for history in 0..histories {
        let mut random = ChaCha8Rng::seed_from_u64(21);
        random.set_stream(u64::from(history));
        let first = 1 + (random.next_u64() % (releases as u64 - 1)) as usize;
        let mut fails = |at| at >= first && f64::from(random.next_u32()) < rate * 4_294_967_296.0;
        for (i, (place, runs)) in search(releases, confidences, &mut fails).into_iter().enumerate() {
            wrong[i] += u32::from(place != first);
            sums[i] += f64::from(runs);
            squares[i] += f64::from(runs).powi(2);
        }
    }
    let n = f64::from(histories);
    std::array::from_fn(|i| {
        let mean_runs = sums[i] / n;
        let variance = (squares[i] / n - mean_runs.powi(2)) / (n - 1.0);
        Played { wrong: wrong[i], mean_runs, error_of_mean: variance.max(0.0).sqrt() }
    })
}

/// ln Γ(k + ½) and ln k! for whole k, grown as they are needed.
struct Gammas {
    half: Vec<f64>,
    whole: Vec<f64>,
}

impl Gammas {
    fn upto(&mut self, k: usize) {
        while self.whole.len() <= k {
            let next = self.whole.len() as f64;
            self.half.push(
                self.half.last().map_or(0.5 * std::f64::consts::PI.ln(), |last| last + (next - 0.5).ln()),
            );
            self.whole.push(self.whole.last().map_or(0.0, |last| last + next.ln()));
        }
    }

    /// ln B(½ + hits, ½ + misses) − ln B(½, ½): the chance of the answers under an unknown rate.
    fn ln_chance(&self, (hits, misses): (usize, usize)) -> f64 {
        self.half[hits] + self.half[misses] - self.whole[hits + misses] - std::f64::consts::PI.ln()
    }
}

/// One search over `releases` (the first is good, the last is bad, and the search knows that); `fails` makes a run. Of each of
/// the `confidences`: the place that is named, and after how many runs.
fn search<const N: usize>(
    releases: usize,
    confidences: [f64; N],
    fails: &mut dyn FnMut(usize) -> bool,
) -> [(usize, u32); N] {
    let mut named = [(0, 0); N];
    let mut reached = 0;
    let mut gammas = Gammas { half: Vec::new(), whole: Vec::new() };
    let mut tallies = vec![(0_usize, 0_usize); releases];
    for runs in 0.. {
        gammas.upto(runs as usize + 1);
        let total = tallies.iter().fold((0, 0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        // Hypothesis `i`, from 1: the change is at `i`. Weight, and the mean rates before and after it.
        let mut below = tallies[0];
        let mut places = Vec::with_capacity(releases);
        for tally in &tallies[1..] {
            let above = (total.0 - below.0, total.1 - below.1);
            let mean = |(hits, misses): (usize, usize)| (hits as f64 + 0.5) / ((hits + misses) as f64 + 1.0);
            places.push((gammas.ln_chance(below) + gammas.ln_chance(above), mean(below), mean(above)));
            below = (below.0 + tally.0, below.1 + tally.1);
        }
        let most = places.iter().map(|place| place.0).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = places.iter().map(|place| (place.0 - most).exp()).sum();
        places.iter_mut().for_each(|place| place.0 = (place.0 - most).exp() / sum);
        let likeliest = (0..places.len()).max_by(|a, b| places[*a].0.total_cmp(&places[*b].0)).unwrap();
        while confidences.get(reached).is_some_and(|asked| places[likeliest].0 >= *asked) {
            named[reached] = (likeliest + 1, runs);
            reached += 1;
        }
        if reached == N {
            return named;
        }
        let position = least_entropy(&places);
        let tally = &mut tallies[position];
        if fails(position) { tally.0 += 1 } else { tally.1 += 1 }
    }
    unreachable!("the runs have no end")
}

/// The release after whose next run the places are expected to be least in doubt; of equals the one nearest to the middle.
fn least_entropy(places: &[(f64, f64, f64)]) -> usize {
    let bits = |w: f64| if w > 0.0 { w * w.log2() } else { 0.0 };
    // (mass of "fails", Σ w·log w of it, and the same for "passes"), of the places whose change is behind / before a release.
    let parts = |weight: f64, rate: f64| {
        let (yes, no) = (weight * rate, weight * (1.0 - rate));
        [yes, bits(yes), no, bits(no)]
    };
    let add = |sum: &mut [f64; 4], part: [f64; 4], sign: f64| {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += sign * part);
    };
    let mut sums = [0.0; 4];
    places.iter().for_each(|(weight, before, _)| add(&mut sums, parts(*weight, *before), 1.0));
    let middle = places.len() / 2;
    let mut best = (f64::INFINITY, 0_usize);
    for release in 0..=places.len() {
        if let Some((weight, before, after)) = release.checked_sub(1).and_then(|at| places.get(at)) {
            add(&mut sums, parts(*weight, *before), -1.0);
            add(&mut sums, parts(*weight, *after), 1.0);
        }
        // S·(log S − Σ w log w / S), for both answers.
        let entropy = bits(sums[0]) - sums[1] + bits(sums[2]) - sums[3];
        let nearer = release.abs_diff(middle) < best.1.abs_diff(middle);
        if entropy < best.0 - 1e-12 || (entropy < best.0 + 1e-12 && nearer) {
            best = (entropy.min(best.0), release);
        }
    }
    best.1
}
