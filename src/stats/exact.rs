//! Exact tests on counts: are two rates different, are several alike.

use super::ln_choose;

/// Hits and runs of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub hits: u64,
    pub runs: u64,
}

/// Relative slack when probabilities of tables are compared: equal tables must count as equal.
const SLACK: f64 = 1e-7;

/// Fisher's exact test, two-sided: the chance, with both margins given, of a table no likelier than the one seen.
pub fn fisher(a: Group, b: Group) -> f64 {
    let (hits, runs) = (a.hits + b.hits, a.runs + b.runs);
    let ln_all = ln_choose(runs, hits);
    let ln_probability = |x: u64| ln_choose(a.runs, x) + ln_choose(b.runs, hits - x) - ln_all;
    let least = hits.saturating_sub(b.runs);
    let most = hits.min(a.runs);
    let seen = ln_probability(a.hits) + SLACK;
    (least..=most).map(ln_probability).filter(|ln| *ln <= seen).map(f64::exp).sum::<f64>().min(1.0)
}

/// Barnard's unconditional exact test, two-sided, with the pooled score statistic: the largest chance over all common
/// rates of a table at least as far from equality as the one seen. Sharper than [`fisher`] for few runs.
pub fn barnard(a: Group, b: Group) -> f64 {
    let (na, nb) = (a.runs, b.runs);
    if na == 0 || nb == 0 {
        return 1.0;
    }
    let score = |x: u64, y: u64| {
        let pooled = (x + y) as f64 / (na + nb) as f64;
        let variance = pooled * (1.0 - pooled) * (1.0 / na as f64 + 1.0 / nb as f64);
        let difference = x as f64 / na as f64 - y as f64 / nb as f64;
        if variance <= 0.0 { 0.0 } else { difference.abs() / variance.sqrt() }
    };
    let seen = score(a.hits, b.hits) - SLACK;
    if seen <= 0.0 {
        return 1.0;
    }
    // Tables that are as extreme, by their number of hits in all: the chance depends on the rate through that alone.
    let mut ln_weight = vec![f64::NEG_INFINITY; usize::try_from(na + nb + 1).unwrap_or(1)];
    for x in 0..=na {
        for y in 0..=nb {
            if score(x, y) >= seen
                && let Some(slot) = usize::try_from(x + y).ok().and_then(|i| ln_weight.get_mut(i))
            {
                *slot = ln_add(*slot, ln_choose(na, x) + ln_choose(nb, y));
            }
        }
    }
    let chance = |p: f64| {
        let of = |(total, ln): (usize, &f64)| {
            let (hits, misses) = (total as f64, (na + nb) as f64 - total as f64);
            (ln + hits * p.ln() + misses * (1.0 - p).ln()).exp()
        };
        ln_weight.iter().enumerate().filter(|(_, ln)| ln.is_finite()).map(of).sum::<f64>()
    };
    maximum(chance).min(1.0)
}

fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// The largest value on (0, 1): a grid, then a golden section about its best point.
fn maximum(f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 200;
    let at = |i: u32| f64::from(i) / f64::from(STEPS);
    let best = (1..STEPS).max_by(|x, y| f(at(*x)).total_cmp(&f(at(*y)))).unwrap_or(STEPS / 2);
    let (mut low, mut high) = (at(best - 1).max(1e-9), at(best + 1).min(1.0 - 1e-9));
    for _ in 0..50 {
        let third = (high - low) / 3.0;
        if f(low + third) < f(high - third) { low += third } else { high -= third }
    }
    f(low + (high - low) / 2.0)
}

/// Are the groups alike? Freeman and Halton's exact test: the chance, with all margins given, of a table no likelier than the
/// one seen. `None` if that is too much to sum (more than about a million tables); then [`alike_roughly`].
pub fn alike(groups: &[Group]) -> Option<f64> {
    const MOST: f64 = 1e6;
    let hits: u64 = groups.iter().map(|g| g.hits).sum();
    let runs: u64 = groups.iter().map(|g| g.runs).sum();
    // The last group is what the others leave.
    let tables: f64 = groups.iter().skip(1).map(|g| g.runs.min(hits) as f64 + 1.0).product();
    if tables > MOST {
        return None;
    }
    let ln_all = ln_choose(runs, hits);
    let seen: f64 = groups.iter().map(|g| ln_choose(g.runs, g.hits)).sum::<f64>() - ln_all + SLACK;
    let mut total = 0.0;
    let sizes: Vec<u64> = groups.iter().map(|g| g.runs).collect();
    tables_of(&sizes, hits, -ln_all, &mut |ln| {
        if ln <= seen {
            total += ln.exp();
        }
    });
    Some(total.min(1.0))
}

fn tables_of(sizes: &[u64], hits: u64, ln: f64, each: &mut impl FnMut(f64)) {
    match sizes {
        [] if hits == 0 => each(ln),
        [] => {}
        [last] if hits <= *last => each(ln + ln_choose(*last, hits)),
        [_] => {}
        [first, rest @ ..] => {
            let room: u64 = rest.iter().sum();
            for x in hits.saturating_sub(room)..=hits.min(*first) {
                tables_of(rest, hits - x, ln + ln_choose(*first, x), each);
            }
        }
    }
}

/// [`alike`] by Pearson's χ², for tables that are too large for the exact sum.
pub fn alike_roughly(groups: &[Group]) -> f64 {
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    let hits: u64 = groups.iter().map(|g| g.hits).sum();
    let runs: u64 = groups.iter().map(|g| g.runs).sum();
    let used = groups.iter().filter(|g| g.runs > 0).count();
    if hits == 0 || hits == runs || used < 2 {
        return 1.0;
    }
    let rate = hits as f64 / runs as f64;
    let statistic: f64 = groups
        .iter()
        .filter(|g| g.runs > 0)
        .map(|g| {
            let n = g.runs as f64;
            (g.hits as f64 - n * rate).powi(2) / (n * rate * (1.0 - rate))
        })
        .sum();
    ChiSquared::new((used - 1) as f64).map_or(1.0, |chi| chi.sf(statistic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(hits: u64, runs: u64) -> Group {
        Group { hits, runs }
    }

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 6e-4, "{got} is not {want}");
    }

    #[test]
    fn fisher_as_in_the_textbook() {
        // The lady tasting tea: 3 of 4 against 1 of 4.
        near(fisher(group(3, 4), group(1, 4)), 34.0 / 70.0);
        near(fisher(group(4, 4), group(0, 4)), 2.0 / 70.0);
        near(fisher(group(2, 9), group(2, 9)), 1.0);
    }

    #[test]
    fn barnard_as_in_the_textbook() {
        // Barnard's vaccine example, 7 of 15 against 12 of 15: Mehta and Senchaudhuri (2003) give 0.0341 one-sided where
        // Fisher has 0.0641; two-sided it is twice that.
        near(barnard(group(7, 15), group(12, 15)), 0.0682);
        assert!(fisher(group(7, 15), group(12, 15)) > 0.12);
        near(barnard(group(3, 10), group(3, 10)), 1.0);
    }

    /// What "exact" promises: at any common rate, p ≤ 5 % comes in at most 5 % of experiments.
    #[test]
    fn false_alarms_stay_below_the_level() {
        let (na, nb) = (9, 12);
        for p in [0.05, 0.2, 0.5, 0.8] {
            let chance = |n: u64, k: u64| {
                (ln_choose(n, k) + k as f64 * f64::ln(p) + (n - k) as f64 * f64::ln(1.0 - p)).exp()
            };
            for test in [fisher, barnard] {
                let alarms: f64 = (0..=na)
                    .flat_map(|x| (0..=nb).map(move |y| (x, y)))
                    .filter(|(x, y)| test(group(*x, na), group(*y, nb)) <= 0.05)
                    .map(|(x, y)| chance(na, x) * chance(nb, y))
                    .sum();
                assert!(alarms <= 0.05, "at {p}: {alarms}");
            }
        }
    }

    #[test]
    fn alike_is_fisher_for_two_groups() {
        for (a, b) in [(group(3, 4), group(1, 4)), (group(0, 20), group(6, 20)), (group(5, 9), group(1, 30))]
        {
            near(alike(&[a, b]).expect("few tables"), fisher(a, b));
        }
        assert!(alike(&[group(0, 30), group(1, 30), group(9, 30)]).expect("few tables") < 0.01);
        assert!(alike(&[group(3, 30), group(2, 30), group(4, 30)]).expect("few tables") > 0.5);
        assert_eq!(alike(&[group(400, 1000), group(400, 1000), group(400, 1000), group(400, 1000)]), None);
    }

    #[test]
    fn rough_test_agrees_where_both_can_be_had() {
        let groups = [group(20, 100), group(35, 100), group(25, 100)];
        let (exact, rough) = (alike(&groups).expect("few tables"), alike_roughly(&groups));
        assert!((exact - rough).abs() < 0.01, "{exact} {rough}");
    }
}
