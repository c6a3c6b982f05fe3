//! Intervals of a rate, for a number of runs fixed beforehand.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Beta, ContinuousCDF};

/// Both ends belong to it; 0 ≤ low ≤ high ≤ 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub const ALL: Interval = Interval { low: 0.0, high: 1.0 };

    pub fn width(self) -> f64 {
        self.high - self.low
    }
}

/// Exact (Clopper-Pearson) interval of the rate after `k` hits in `n` runs. `confidence` in (0, 1). With no run,
/// everything is possible. Each end takes half the error, also where the other is 0 or 1: 0 of n is below
/// 1 − ((1 − confidence)/2)^(1/n).
pub fn clopper_pearson(k: u64, n: u64, confidence: f64) -> Interval {
    let error = 1.0 - confidence;
    if n == 0 || k > n {
        return Interval::ALL;
    }
    let tail = error / 2.0;
    let (k, n) = (k as f64, n as f64);
    Interval {
        low: if k == 0.0 { 0.0 } else { beta_quantile(k, n - k + 1.0, tail) },
        high: if k == n { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - tail) },
    }
}

/// Jeffreys interval: equal tails of Beta(k + ½, n − k + ½), with the end at 0 or 1 kept where all runs agree (Brown, Cai
/// and DasGupta 2001).
pub fn jeffreys(k: u64, n: u64, confidence: f64) -> Interval {
    let error = 1.0 - confidence;
    if n == 0 || k > n {
        return Interval::ALL;
    }
    let (a, b) = (k as f64 + 0.5, (n - k) as f64 + 0.5);
    Interval {
        low: if k == 0 { 0.0 } else { beta_quantile(a, b, error / 2.0) },
        high: if k == n { 1.0 } else { beta_quantile(a, b, 1.0 - error / 2.0) },
    }
}

fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    // Shapes are ≥ ½ here, so the distribution exists. Bisection on the distribution function, not the library's
    // quantile: its accuracy near 0 and 1 is not stated.
    match Beta::new(a, b) {
        Ok(beta) => super::turning_point(0.0, 1.0, |x| beta.cdf(x) >= p),
        Err(_) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 5e-5, "{got} is not {want}");
    }

    #[test]
    fn clopper_pearson_as_in_the_tables() {
        // 2 of 10 and 5 of 10 at 95 %: Clopper and Pearson 1934, as every table has them.
        let i = clopper_pearson(2, 10, 0.95);
        near(i.low, 0.02521);
        near(i.high, 0.55610);
        let i = clopper_pearson(5, 10, 0.95);
        near(i.low, 0.18709);
        near(i.high, 0.81291);
    }

    #[test]
    fn all_or_nothing_has_one_free_end() {
        let i = clopper_pearson(0, 100, 0.95);
        assert_eq!(i.low, 0.0);
        near(i.high, 1.0 - 0.025_f64.powf(0.01));
        let i = clopper_pearson(7, 7, 0.95);
        near(i.low, 0.025_f64.powf(1.0 / 7.0));
        assert_eq!(i.high, 1.0);
    }

    #[test]
    fn jeffreys_as_in_the_literature() {
        // Brown, Cai and DasGupta 2001, table 5: 0.044 to 0.503; more digits by Simpson integration of Beta(2.5, 8.5).
        let i = jeffreys(2, 10, 0.95);
        near(i.low, 0.04406);
        near(i.high, 0.50278);
    }

    #[test]
    fn intervals_hold_the_observed_rate_and_shrink() {
        for n in [1_u64, 3, 10, 100] {
            for k in 0..=n {
                for i in [clopper_pearson(k, n, 0.95), jeffreys(k, n, 0.95)] {
                    let rate = k as f64 / n as f64;
                    assert!(i.low <= rate && rate <= i.high, "{k} of {n}: {i:?}");
                }
            }
        }
        assert!(clopper_pearson(10, 100, 0.95).width() < clopper_pearson(1, 10, 0.95).width());
    }

    /// Coverage by summation over all outcomes: what "exact" means.
    #[test]
    fn clopper_pearson_covers() {
        for p in [0.01, 0.1, 0.3, 0.5, 0.77, 0.99] {
            let n = 24;
            let covered: f64 = (0..=n)
                .filter(|k| {
                    let i = clopper_pearson(*k, n, 0.95);
                    i.low <= p && p <= i.high
                })
                .map(|k| {
                    (crate::stats::ln_choose(n, k) + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln())
                        .exp()
                })
                .sum();
            assert!(covered >= 0.95, "at {p}: {covered}");
        }
    }
}
