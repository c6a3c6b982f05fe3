//! Properties of the run order, over generated sets of arms.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::matrix;

/// Real arms, varied in what the order depends on.
fn arms(specs: &[(u8, u32, bool)]) -> Vec<Arm> {
    let matrix = matrix::parse("example", matrix::EXAMPLE.as_bytes()).expect("the example is valid");
    let arm = matrix::expand::expand(&matrix).into_iter().next().expect("the example has an arm").arm;
    let with = |(index, &(group, repeats, hangs)): (usize, &(u8, u32, bool))| {
        let mut arm = arm.clone();
        arm.id = format!("arm{index}");
        arm.comparison = (group > 0).then(|| format!("group{group}"));
        arm.repeats = repeats;
        if let Some(expect) = &mut arm.expect {
            expect.verdict = if hangs { ExpectedVerdict::Hang } else { ExpectedVerdict::Clean };
        }
        arm
    };
    specs.iter().enumerate().map(with).collect()
}

fn specs() -> impl Strategy<Value = Vec<(u8, u32, bool)>> {
    prop::collection::vec((0_u8..4, 1_u32..5, prop::bool::weighted(0.1)), 0..30)
}

/// The order as ids, which do not depend on indices.
fn ids(arms: &[Arm], cells: &[Cell]) -> Vec<(String, u32)> {
    cells.iter().map(|cell| (arms[cell.arm].id.clone(), cell.repeat)).collect()
}

proptest! {
    #[test]
    fn order_is_a_permutation_of_all_runs(specs in specs(), seed: u64) {
        let arms = arms(&specs);
        let mut cells = order(&arms, seed);
        cells.sort();
        let all: Vec<Cell> = (0..arms.len())
            .flat_map(|arm| (0..arms[arm].repeats).map(move |repeat| Cell { arm, repeat }))
            .collect();
        prop_assert_eq!(cells, all);
    }

    #[test]
    fn order_depends_on_seed_and_ids_only(specs in specs(), seed: u64, turn in 0_usize..30) {
        let first = arms(&specs);
        let mut moved = first.clone();
        if !moved.is_empty() {
            let turn = turn % moved.len();
            moved.rotate_left(turn);
            moved.reverse();
        }
        prop_assert_eq!(ids(&first, &order(&first, seed)), ids(&moved, &order(&moved, seed)));
    }

    #[test]
    fn arms_of_one_comparison_alternate(specs in specs(), seed: u64) {
        let arms = arms(&specs);
        let cells = order(&arms, seed);
        let mut groups: BTreeMap<&str, Vec<(usize, Cell)>> = BTreeMap::new();
        for (at, cell) in cells.iter().enumerate() {
            if let Some(group) = &arms[cell.arm].comparison {
                groups.entry(group).or_default().push((at, *cell));
            }
        }
        for runs in groups.values() {
            // No arm has its repeat n + 1 before every other arm of the comparison has had its repeat n.
            prop_assert!(runs.windows(2).all(|pair| pair[0].1.repeat <= pair[1].1.repeat));
            // Within a round they follow one another directly.
            for pair in runs.windows(2).filter(|pair| pair[0].1.repeat == pair[1].1.repeat) {
                prop_assert_eq!(pair[0].0 + 1, pair[1].0);
            }
        }
    }

    #[test]
    fn arms_expected_to_hang_open_their_comparison(specs in specs(), seed: u64) {
        let arms = arms(&specs);
        for pair in order(&arms, seed).windows(2) {
            let [before, after] = [&arms[pair[0].arm], &arms[pair[1].arm]];
            if before.comparison.is_some()
                && before.comparison == after.comparison
                && pair[0].repeat == pair[1].repeat
            {
                prop_assert!(hangs(before) || !hangs(after));
            }
        }
    }
}

#[test]
fn another_seed_gives_another_order() {
    let arms = arms(&[(1, 1, false); 20]);
    let orders: Vec<_> = (0..8).map(|seed| order(&arms, seed)).collect();
    assert!(orders.iter().skip(1).all(|order| *order != orders[0]));
}

#[test]
fn every_position_is_reached_by_every_arm() {
    // 600 draws over 6 positions: each expected 100 times; far outside 50..150 means a biased shuffle.
    let arms = arms(&[(1, 1, false); 6]);
    let mut counts = [[0_u32; 6]; 6];
    for seed in 0..600 {
        for (at, cell) in order(&arms, seed).iter().enumerate() {
            counts[cell.arm][at] += 1;
        }
    }
    assert!(counts.iter().flatten().all(|count| (50..150).contains(count)), "{counts:?}");
}
