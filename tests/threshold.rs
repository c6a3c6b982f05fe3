//! The threshold search over made-up axes.

use proptest::prelude::*;
use repro_matrix::probe::Answer;
use repro_matrix::threshold::{Outcome, Range, Search, Shape, Step};

fn play(mut search: Search, mut answer: impl FnMut(u64) -> Answer) -> (Search, Outcome) {
    for _ in 0..5_000 {
        match search.next() {
            Step::Run { value, .. } => {
                let said = answer(value);
                search.record(value, said);
            }
            Step::Done(outcome) => return (search, outcome),
        }
    }
    panic!("the search does not end: {:?}", search.answers());
}

fn verdict(corrupt: bool) -> Answer {
    if corrupt { Answer::Corrupt } else { Answer::Clean }
}

fn axis(low: u64, high: u64) -> Range {
    Range { low, high, step: 1 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_right_prediction_needs_twelve_runs_at_most(flip in 3_u64..=1024) {
        let search = Search::new(axis(1, 1024), Some(flip), 0.01);
        let mut ahead = search.clone();
        let (done, outcome) = play(search, |v| verdict(v >= flip));
        prop_assert_eq!(&outcome.shape, &Shape::Flip { last: flip - 1, first: flip, below: Answer::Clean });
        prop_assert!(outcome.runs <= 12, "{} runs for {flip}", outcome.runs);
        // What was said to be left, before every run and after the last.
        prop_assert_eq!(done.runs_left(), 0);
        while let Step::Run { value, .. } = ahead.next() {
            prop_assert_eq!(ahead.runs() + ahead.runs_left(), outcome.runs, "{:?}", ahead.answers());
            ahead.record(value, verdict(value >= flip));
        }
    }

    #[test]
    fn a_wrong_or_absent_prediction_is_survived(
        flip in 2_u64..=1024, guess in proptest::option::of(1_u64..=1024), down in any::<bool>(),
    ) {
        let search = Search::new(axis(1, 1024), guess, 0.01);
        let (_, outcome) = play(search, |v| verdict((v >= flip) != down));
        prop_assert_eq!(&outcome.shape, &Shape::Flip { last: flip - 1, first: flip, below: verdict(down) });
        prop_assert!(outcome.runs <= 48, "{} runs", outcome.runs);
        let mut ahead = Search::new(axis(1, 1024), guess, 0.01);
        while let Step::Run { value, .. } = ahead.next() {
            prop_assert!((1..=100).contains(&ahead.runs_left()), "{} {:?}", ahead.runs_left(), ahead.answers());
            ahead.record(value, verdict((value >= flip) != down));
        }
    }

    #[test]
    fn untestable_values_hide_but_never_shift_the_flip(flip in 40_u64..=80, gap in 1_u64..=6) {
        let hidden = flip..flip + gap;
        let (_, outcome) = play(Search::new(axis(1, 128), Some(flip), 0.01), |v| {
            if hidden.contains(&v) { Answer::Untestable } else { verdict(v >= flip) }
        });
        let want = Shape::Hidden { last: flip - 1, first: flip + gap, below: Answer::Clean };
        prop_assert_eq!(outcome.shape, want);
    }
}

#[test]
fn noisy_verdicts_find_the_flip_almost_always() {
    let mut random: u64 = 88_172_645_463_325_252;
    let mut right = 0;
    for round in 0..60_u64 {
        let flip = 20 + round * 7;
        let (_, outcome) = play(Search::new(axis(1, 512), Some(flip + round % 5), 0.01), |v| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            verdict(v >= flip && random % 10 < 3)
        });
        right +=
            u32::from(outcome.shape == Shape::Flip { last: flip - 1, first: flip, below: Answer::Clean });
    }
    assert!(right >= 54, "{right} of 60");
}

#[test]
fn a_flat_axis_and_a_dead_one_are_said() {
    let (_, outcome) = play(Search::new(axis(1, 64), None, 0.01), |_| Answer::Clean);
    assert_eq!(outcome.shape, Shape::Flat { answer: Answer::Clean });
    let (_, outcome) = play(Search::new(axis(1, 64), Some(9), 0.01), |_| Answer::Untestable);
    assert_eq!(outcome.shape, Shape::Untestable);
}

#[test]
fn a_periodic_axis_is_noticed_with_its_period() {
    for length in [2_u64, 4, 8] {
        let (search, outcome) =
            play(Search::new(axis(1, 4096), None, 0.01), |v| verdict(v.is_multiple_of(length)));
        assert_eq!(outcome.shape, Shape::NotMonotone { period: Some(length) }, "{:?}", search.answers());
    }
}

#[test]
fn two_flips_are_no_threshold() {
    // Corrupt in a band only.
    let (search, outcome) =
        play(Search::new(axis(1, 300), Some(100), 0.01), |v| verdict((100..110).contains(&v)));
    assert_eq!(outcome.shape, Shape::NotMonotone { period: None }, "{:?}", search.answers());
}
