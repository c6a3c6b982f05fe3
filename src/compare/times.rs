//! Times of builds that were run in turn: medians with intervals, and ratios pair by pair.
//!
//! No distribution is assumed. The interval of a median is the narrowest pair of order statistics that covers it with
//! at least 95 %, by the binomial distribution with p = ½; with few values even the widest pair covers less, and then
//! that is given with what it covers.

use serde::Serialize;

/// A median and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Median {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    /// Probability that [low, high] covers the true median.
    pub coverage: f64,
}

/// What is asked of an interval.
const WANTED: f64 = 0.95;

/// `None` for no value at all, or values that are no numbers.
pub fn median(values: &[f64]) -> Option<Median> {
    let n = values.len();
    if n == 0 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let middle = if n % 2 == 1 { at(n / 2) } else { (at(n / 2 - 1) + at(n / 2)) / 2.0 };
    // The k-th smallest and the k-th largest miss the median with probability 2·P(Binomial(n, ½) < k).
    let mut below = 0.0;
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let (mut k, mut coverage) = (0usize, 0.0);
    for rank in 1..=n.div_ceil(2) {
        below += term;
        let covered = 1.0 - 2.0 * below;
        if rank > 1 && covered < WANTED {
            break;
        }
        (k, coverage) = (rank, covered.max(0.0));
        term *= (n - rank + 1) as f64 / rank as f64;
    }
    Some(Median { median: middle, low: at(k - 1), high: at(n - k), coverage })
}

/// Median of `other[i] / base[i]`: the builds of one repetition ran next to each other, so that drift cancels.
pub fn ratio(base: &[f64], other: &[f64]) -> Option<Median> {
    if base.len() != other.len() {
        return None;
    }
    let ratios: Vec<f64> = base.iter().zip(other).map(|(base, other)| other / base).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_binomial_tables() {
        // n = 10: ranks 2 and 9 cover with 1 − 2·(1 + 10)/1024 = 97.85 %.
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let m = median(&ten).unwrap();
        assert_eq!((m.median, m.low, m.high), (5.5, 2.0, 9.0));
        assert!((m.coverage - 0.978_515_625).abs() < 1e-12);
        // n = 5: the widest pair covers 93.75 %.
        let m = median(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!((m.median, m.low, m.high, m.coverage), (3.0, 1.0, 5.0, 0.9375));
        let m = median(&[7.0]).unwrap();
        assert_eq!((m.low, m.high, m.coverage), (7.0, 7.0, 0.0));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine gets slower; the second build is twice as slow all along.
        let base = [1.0, 2.0, 4.0, 8.0, 16.0];
        let other = base.map(|t| 2.0 * t);
        let m = ratio(&base, &other).unwrap();
        assert_eq!((m.median, m.low, m.high), (2.0, 2.0, 2.0));
        assert_eq!(ratio(&base, &other[..4]), None);
    }
}
