//! The ratio of two rates with its interval.

use super::Interval;
use super::exact::Group;

/// Interval of (rate of `a`) / (rate of `b`): Koopman's score interval (1984), which needs no hits in either arm. `high` is
/// infinite if `b` has none; [0, ∞] if neither has.
pub fn risk_ratio(a: Group, b: Group, confidence: f64) -> Option<(Option<f64>, Interval)> {
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    if a.runs == 0 || b.runs == 0 {
        return None;
    }
    let observed = (b.hits > 0).then(|| (a.hits as f64 / a.runs as f64) / (b.hits as f64 / b.runs as f64));
    let whole = Interval { low: 0.0, high: f64::INFINITY };
    if a.hits == 0 && b.hits == 0 {
        return Some((None, whole));
    }
    let limit = ChiSquared::new(1.0).ok()?.inverse_cdf(confidence);
    let possible = |ratio: f64| score(a, b, ratio) <= limit;
    // On the scale of logarithms, from the ratio that fits best to where it is refused.
    let centre = observed.filter(|r| *r > 0.0).map_or(if a.hits == 0 { -20.0 } else { 20.0 }, f64::ln);
    let end = |to: f64| super::turning_point(0.0, 1.0, |t| !possible((centre + t * (to - centre)).exp()));
    let low = if a.hits == 0 { 0.0 } else { (centre + end(-25.0) * (-25.0 - centre)).exp() };
    let high = if b.hits == 0 { f64::INFINITY } else { (centre + end(25.0) * (25.0 - centre)).exp() };
    Some((observed, Interval { low, high }))
}

/// Koopman's statistic at a ratio.
fn score(a: Group, b: Group, ratio: f64) -> f64 {
    let (x, m) = (a.hits as f64, a.runs as f64);
    let (y, n) = (b.hits as f64, b.runs as f64);
    // The likeliest rates with exactly this ratio: the smaller root of a quadratic, in the form that does not cancel.
    let s = ratio * (m + y) + x + n;
    let root = (s * s - 4.0 * ratio * (m + n) * (x + y)).max(0.0).sqrt();
    let pa = 2.0 * ratio * (x + y) / (s + root);
    // Pearson's terms one by one: Koopman's closed form is 0/0 where a rate reaches 1.
    let term = |hits: f64, runs: f64, rate: f64| {
        let rate = rate.clamp(1e-15, 1.0 - 1e-15);
        (hits - runs * rate).powi(2) / (runs * rate * (1.0 - rate))
    };
    term(x, m, pa) + term(y, n, pa / ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(hits: u64, runs: u64) -> Group {
        Group { hits, runs }
    }

    #[test]
    fn koopman_as_published() {
        // 36 of 40 against 16 of 80, Koopman 1984: 2.939 to 7.152 at 95 %.
        let (observed, i) = risk_ratio(group(36, 40), group(16, 80), 0.95).expect("runs");
        assert!((observed.expect("hits") - 4.5).abs() < 1e-9);
        assert!((i.low - 2.939).abs() < 0.01 && (i.high - 7.152).abs() < 0.01, "{i:?}");
    }

    #[test]
    fn no_hits_leave_an_end_open() {
        let (observed, i) = risk_ratio(group(12, 12), group(0, 12), 0.95).expect("runs");
        assert_eq!(observed, None);
        assert!(i.low > 2.0 && i.high.is_infinite(), "{i:?}");
        let (observed, i) = risk_ratio(group(0, 12), group(12, 12), 0.95).expect("runs");
        assert_eq!(observed, Some(0.0));
        assert!(i.low == 0.0 && i.high < 0.5, "{i:?}");
        assert_eq!(risk_ratio(group(0, 12), group(0, 12), 0.95).map(|r| r.0), Some(None));
        assert!(risk_ratio(group(0, 0), group(0, 12), 0.95).is_none());
    }

    #[test]
    fn all_against_none_is_as_the_closed_form_has_it() {
        // With n of n against 0 of n the likeliest rate of `a` is min(1, ratio/2), so the statistic is n/(ratio − 1) from a ratio
        // of 2 on and 2n/ratio below; 3.8415 = the 95 % point of chi squared.
        for (n, low) in [(12, 1.0 + 12.0 / 3.8415), (1, 2.0 / 3.8415)] {
            let (observed, i) = risk_ratio(group(n, n), group(0, n), 0.95).expect("runs");
            assert!(observed.is_none() && i.high.is_infinite());
            assert!((i.low - low).abs() < 0.001, "{n}: {i:?}, not {low}");
            let (_, turned) = risk_ratio(group(0, n), group(n, n), 0.95).expect("runs");
            assert!((turned.high - 1.0 / low).abs() < 0.001, "{n}: {turned:?}");
        }
        // Both always: no ratio is favoured over its inverse, and 1 lies within.
        let (observed, i) = risk_ratio(group(5, 5), group(5, 5), 0.95).expect("runs");
        assert_eq!(observed, Some(1.0));
        assert!(i.low < 1.0 && (i.low * i.high - 1.0).abs() < 1e-3, "{i:?}");
    }

    #[test]
    fn turned_around_it_is_the_inverse() {
        let (_, ab) = risk_ratio(group(9, 20), group(4, 25), 0.95).expect("runs");
        let (_, ba) = risk_ratio(group(4, 25), group(9, 20), 0.95).expect("runs");
        assert!(
            (ab.low - 1.0 / ba.high).abs() < 1e-6 && (ab.high - 1.0 / ba.low).abs() < 1e-6,
            "{ab:?} {ba:?}"
        );
    }
}
