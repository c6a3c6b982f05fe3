//! Statistics of runs: pure numbers in, pure numbers out.
//!
//! [`interval`] is for a number of runs that was fixed beforehand, [`sequence`] for one that was decided by looking at the
//! results (stopping rules), [`exact`] compares two arms, [`ratio`] says by how much they differ.

pub mod exact;
pub mod interval;
pub mod pair;
pub mod rate;
pub mod ratio;
pub mod sequence;
pub mod stopping;

pub use interval::Interval;
pub use rate::{Rate, Tally};

/// Natural logarithm of n choose k; −∞ where there is no such choice.
pub(crate) fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n { f64::NEG_INFINITY } else { statrs::function::factorial::ln_binomial(n, k) }
}

/// The point of (low, high) where `f` turns from false to true; `f` is monotone. Exact to 1e-12.
pub(crate) fn turning_point(mut low: f64, mut high: f64, f: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        if f(middle) { high = middle } else { low = middle }
    }
    low + (high - low) / 2.0
}
