//! A confidence sequence: intervals that hold at every number of runs at once, so that looking at them after each run and
//! stopping when they please is allowed.
//!
//! Method: mixture martingale with the weight Beta(½, ½) and Ville's inequality (Robbins 1970). With `k` hits in `n` runs,
//! the rates p that stay possible are those with B(k+½, n−k+½) / B(½, ½) < p^k (1−p)^(n−k) / error.

use statrs::function::beta::ln_beta;

use super::{Interval, turning_point};

/// The interval after `k` hits in `n` runs. The chance that the true rate is outside at *any* n is at most 1 − `confidence`.
pub fn interval(k: u64, n: u64, confidence: f64) -> Interval {
    if n == 0 || k > n {
        return Interval::ALL;
    }
    let (k, n) = (k as f64, n as f64);
    let limit = ln_beta(k + 0.5, n - k + 0.5) - ln_beta(0.5, 0.5) + (1.0 - confidence).ln();
    let ln_likelihood = |p: f64| {
        let hits = if k == 0.0 { 0.0 } else { k * p.ln() };
        let misses = if n == k { 0.0 } else { (n - k) * (1.0 - p).ln() };
        hits + misses
    };
    let possible = |p: f64| ln_likelihood(p) > limit;
    let rate = k / n;
    Interval {
        low: if k == 0.0 { 0.0 } else { turning_point(0.0, rate, possible) },
        high: if k == n { 1.0 } else { turning_point(rate, 1.0, |p| !possible(p)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn wider_than_the_fixed_interval_and_shrinking() {
        for (k, n) in [(0, 10), (1, 20), (5, 100), (50, 100), (100, 100)] {
            let fixed = super::super::interval::clopper_pearson(k, n, 0.95);
            let always = interval(k, n, 0.95);
            assert!(always.low <= fixed.low + 1e-9 && fixed.high <= always.high + 1e-9, "{k} of {n}");
        }
        assert!(interval(100, 1000, 0.95).width() < interval(10, 100, 0.95).width());
        assert!(interval(0, 100_000, 0.95).high < 2e-4);
    }

    /// The promise: someone who looks after every run and stops at the first interval that misses the truth finds one
    /// in at most 5 % of histories. A fixed-n interval fails this by far.
    #[test]
    fn holds_under_peeking() {
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let histories = 400;
        for p in [0.02, 0.2, 0.5] {
            let (mut missed, mut fixed_missed) = (0, 0);
            for _ in 0..histories {
                let (mut k, mut bad, mut fixed_bad) = (0, false, false);
                for n in 1..=300 {
                    let hit = (random.next_u32() as f64) < p * (u32::MAX as f64 + 1.0);
                    k += u64::from(hit);
                    let i = interval(k, n, 0.95);
                    bad |= p < i.low || i.high < p;
                    // A look every ten runs is enough to break it.
                    if n % 10 == 0 {
                        let i = super::super::interval::clopper_pearson(k, n, 0.95);
                        fixed_bad |= p < i.low || i.high < p;
                    }
                }
                missed += u32::from(bad);
                fixed_missed += u32::from(fixed_bad);
            }
            // 5 % of 400 is 20; four standard deviations more.
            assert!(missed <= 38, "at {p}: {missed} of {histories}");
            assert!(p < 0.1 || fixed_missed > missed, "at {p}: {fixed_missed} against {missed}");
        }
    }
}
