//! The bisection core over simulated histories: properties, and the calibration that its numbers rest on.

#[path = "support/two_sided.rs"]
mod two_sided;

use proptest::prelude::*;
use repro_matrix::bisect::calibrate::{Plan, calibrate};
use repro_matrix::bisect::{Belief, Model, Oddity, Search, Settings, Step};
use repro_matrix::probe::Answer;

/// (rate, histories, most runs in the mean, histories of the two-sided baseline): what plain one-sided bisection (enough clean runs per release, halving) needs over
/// 32 releases at an error of 1 %. At a rate of 1 % that is twice the figure of 2 %: runs go with one over the rate.
const CALIBRATION: [(f64, u32, f64, u32); 5] = [
    (0.5, 300, 20.0, 200),
    (0.2, 300, 61.0, 100),
    (0.05, 120, 259.0, 30),
    (0.02, 60, 655.0, 15),
    (0.01, 40, 1_310.0, 20),
];

/// `cargo bench --bench bisection` plays more histories of the same, for the table in `docs/searches.md`.
#[test]
fn calibration_known_rate_keeps_the_error_and_the_runs() {
    for (rate, histories, most, of_baseline) in CALIBRATION {
        let plan =
            Plan { releases: 32, rate, rate_known: true, checks: false, error: 0.01, histories, seed: 7 };
        let c = calibrate(plan);
        let [early, baseline] = two_sided::play(32, rate, [0.95, 0.99], of_baseline);
        println!("rate {rate}: {c:?}; two-sided: at 95 % {early:?}, at 99 % {baseline:?}");
        // Binomial: the asked error of these histories and three standard deviations.
        let n = f64::from(histories);
        let most_wrong = 0.01 * n + 3.0 * (0.01 * 0.99 * n).sqrt();
        assert!(f64::from(c.wrong) <= most_wrong, "rate {rate}: {} of {histories} wrong", c.wrong);
        assert_eq!(c.unnamed, 0, "rate {rate}");
        assert!(c.claimed >= 0.995, "rate {rate}: claims {}", c.claimed);
        assert!(c.mean_runs <= most, "rate {rate}: {} runs in the mean, at most {most}", c.mean_runs);
        // The baseline is one that works: it names the right place.
        assert!(
            f64::from(baseline.wrong) <= 0.01 * f64::from(of_baseline) + 2.0,
            "rate {rate}: {baseline:?}"
        );
        assert!(c.mean_runs <= 0.5 * baseline.mean_runs, "rate {rate}: {c:?} {baseline:?}");
        // Even where the baseline may err five times as often.
        assert!(c.mean_runs <= 0.5 * early.mean_runs, "rate {rate}: {c:?} {early:?}");
        if rate == 0.05 {
            // The mean that is known of git_bayesect itself at this rate.
            assert!(c.mean_runs <= 0.5 * 552.0);
            assert!((early.mean_runs - 552.0).abs() <= 3.0 * early.error_of_mean, "{early:?}");
        }
    }
}

#[test]
fn calibration_learned_rate_keeps_the_error() {
    for (rate, histories) in [(1.0, 100), (0.5, 100), (0.2, 100), (0.05, 30)] {
        let plan =
            Plan { releases: 32, rate, rate_known: false, checks: false, error: 0.01, histories, seed: 11 };
        let c = calibrate(plan);
        println!("rate {rate} learned: {c:?}");
        let n = f64::from(histories);
        assert!(f64::from(c.wrong) <= 0.01 * n + 3.0 * (0.01 * 0.99 * n).sqrt(), "rate {rate}: {c:?}");
    }
}

/// Plays a search against a history; `answer` gives what a run of a position says.
fn play(mut search: Search, mut answer: impl FnMut(usize) -> Answer) -> (Search, Step) {
    for _ in 0..20_000 {
        match search.next() {
            Step::Run { position, .. } => {
                let said = answer(position);
                search.record(position, said);
            }
            end => return (search, end),
        }
    }
    panic!("the search does not end");
}

fn sure() -> Settings {
    Settings { model: Model::OneSided { after: Belief::Known(1.0) }, ..Settings::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_deterministic_history_is_found_in_logarithmic_runs(n in 2_usize..200, at in 0.0_f64..1.0) {
        let first = 1 + ((n - 1) as f64 * at) as usize;
        let (search, end) = play(Search::new(n, sure()), |p| if p >= first { Answer::Corrupt } else { Answer::Clean });
        let Step::Done(found) = end else { panic!("{end:?}") };
        prop_assert_eq!(found.first, first);
        prop_assert!(found.certain && found.oddities.is_empty());
        let runs: u32 = search.tallies().iter().map(|t| t.testable()).sum();
        let logarithm = (n as f64).log2().ceil() as u32;
        prop_assert!(runs <= logarithm + 6, "{} runs for {} releases", runs, n);
    }

    #[test]
    fn untestable_releases_are_named_and_never_guessed(
        n in 3_usize..40,
        at in 0.0_f64..1.0,
        broken in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let first = 1 + ((n - 1) as f64 * at) as usize;
        let untestable = |p: usize| p != 0 && p != n - 1 && broken[p];
        let (_, end) = play(Search::new(n, sure()), |p| {
            if untestable(p) { Answer::Untestable } else if p >= first { Answer::Corrupt } else { Answer::Clean }
        });
        let Step::Done(found) = end else { panic!("{end:?}") };
        // The truth is in the range, its ends are tested, and everything between them is untestable.
        prop_assert!((found.or_from..=found.first).contains(&first), "{found:?} {first}");
        prop_assert!(!untestable(found.first) && !untestable(found.last_good));
        prop_assert!((found.or_from..found.first).all(untestable));
    }

    #[test]
    fn noisy_histories_end_and_claims_are_earned(n in 2_usize..24, at in 0.0_f64..1.0, luck in any::<u64>()) {
        let first = 1 + ((n - 1) as f64 * at) as usize;
        let mut state = luck | 1;
        let mut chance = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 3 == 0
        };
        let (search, end) = play(Search::new(n, Settings::default()), |p| {
            if p >= first && chance() { Answer::Corrupt } else { Answer::Clean }
        });
        if let Step::Done(found) = end {
            prop_assert!(found.confidence >= 0.99);
            // Whatever luck says: a corrupt run was seen at the place that is named, none before it.
            let t = search.tallies();
            prop_assert!(t[found.first].corrupt > 0 && t[..found.first].iter().all(|t| t.corrupt == 0));
            // Both neighbours were looked at again.
            let once = found.oddities.iter().any(|odd| matches!(odd, Oddity::FailedOnce { .. }));
            prop_assert!(t[found.first].corrupt >= 2 || once || found.first == n - 1, "{found:?} {t:?}");
            let failing: Vec<_> = t.iter().enumerate().filter(|(i, t)| t.corrupt > 0 || *i == n - 1).collect();
            let corrupt: u32 = failing.iter().map(|(_, t)| t.corrupt).sum();
            let clean: u32 = failing.iter().map(|(_, t)| t.clean).sum();
            let luck = Belief::NOTHING.all_clean(corrupt, clean, t[found.last_good].clean);
            prop_assert!(luck <= 0.0025, "{luck} {found:?} {t:?}");
        }
    }
}

#[test]
fn failure_that_does_not_appear_is_not_reproduced() {
    let (_, end) = play(Search::new(8, Settings::default()), |_| Answer::Clean);
    assert!(matches!(end, Step::Contradiction(Oddity::NotReproduced { .. })), "{end:?}");
}

#[test]
fn corrupt_good_end_is_said() {
    let (_, end) = play(Search::new(8, Settings::default()), |_| Answer::Corrupt);
    assert_eq!(end, Step::Contradiction(Oddity::GoodEndCorrupt));
}

#[test]
fn fixed_and_broken_again_is_said() {
    // Bad from 3 on, but good again in 6 and 7.
    let bad = |p: usize| p >= 3 && !(6..=7).contains(&p);
    let (_, end) = play(Search::new(12, sure()), |p| if bad(p) { Answer::Corrupt } else { Answer::Clean });
    let said = match &end {
        Step::Done(found) => !found.oddities.is_empty() || bad(found.first) && !bad(found.first - 1),
        Step::Contradiction(oddity) => matches!(oddity, Oddity::CleanAgain { .. } | Oddity::NoPlaceFits),
        Step::Run { .. } => false,
    };
    assert!(said, "{end:?}");
}

#[test]
fn a_failure_that_does_not_come_again_is_said() {
    // Bad is 3 only; 1 failed in its first run, of another cause.
    let settings = Settings { model: Model::OneSided { after: Belief::Known(0.6) }, ..Settings::default() };
    let mut made = [0_u32; 4];
    let (search, end) = play(Search::new(4, settings), |p| {
        made[p] += 1;
        if p == 3 || (p == 1 && made[p] == 1) { Answer::Corrupt } else { Answer::Clean }
    });
    let Step::Done(found) = end else { panic!("{end:?}") };
    let tally = search.tallies()[1];
    assert!(found.first == 1 && tally.corrupt == 1 && tally.clean >= 7, "{found:?} {tally:?}");
    assert!(
        found.oddities.iter().any(|odd| matches!(odd, Oddity::FailedOnce { position: 1, .. })),
        "{found:?}"
    );
}

#[test]
fn a_place_that_hardly_ever_answers_is_passed_over() {
    // 1 was clean once; nothing is learned from a hundred more runs of it.
    let settings = Settings { model: Model::OneSided { after: Belief::Known(0.1) }, ..Settings::default() };
    let mut made = 0;
    let (search, end) = play(Search::new(3, settings), |p| {
        made += u32::from(p == 1);
        match p {
            1 if made == 1 => Answer::Clean,
            1 => Answer::Untestable,
            2 => Answer::Corrupt,
            _ => Answer::Clean,
        }
    });
    let Step::Done(found) = end else { panic!("{end:?}") };
    assert_eq!((found.or_from, found.first), (1, 2), "what cannot be told apart is named: {found:?}");
    assert!(search.tallies()[1].untestable <= 40, "{:?}", search.tallies());
}

#[test]
fn flaky_became_flakier_is_found_two_sided() {
    let mut random: u64 = 88_172_645_463_325_252;
    let mut chance = move |percent: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % 100 < percent
    };
    let settings = Settings {
        model: Model::TwoSided { before: Belief::NOTHING, after: Belief::NOTHING },
        ..Settings::default()
    };
    let (_, end) = play(Search::new(10, settings), |p| {
        if chance(if p >= 6 { 70 } else { 10 }) { Answer::Corrupt } else { Answer::Clean }
    });
    let Step::Done(found) = end else { panic!("{end:?}") };
    assert_eq!(found.first, 6, "{found:?}");
}
