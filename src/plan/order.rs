//! The order of time: fixed by the seed, and such that the arms of one comparison alternate.
//!
//! The matrix is run in rounds, one per repeat. In a round, the arms of a comparison follow one another directly, in
//! an order drawn anew; so a drift of the machine (heat, page cache, another load) falls on all arms of a comparison
//! alike, and no arm's repeats lie together. Comparisons that hold an arm expected to hang go first in each round:
//! with several jobs, an arm that takes its whole time limit then runs beside the others instead of after them.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::Cell;
use crate::model::arm::{Arm, ExpectedVerdict};

/// All runs of `arms`. Depends on their ids, not on their order.
pub fn order(arms: &[Arm], seed: u64) -> Vec<Cell> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    // By name, so that moving a table in the file moves nothing in time.
    let mut groups: BTreeMap<(bool, &str), Vec<usize>> = BTreeMap::new();
    for (index, arm) in arms.iter().enumerate() {
        // An arm outside any comparison is a group of its own; the flag keeps its id apart from comparison names.
        let group = match &arm.comparison {
            Some(name) => (true, name.as_str()),
            None => (false, arm.id.as_str()),
        };
        groups.entry(group).or_default().push(index);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|&index| arms.get(index).map(|arm| arm.id.as_str()));
    }
    let repeats = arms.iter().map(|arm| arm.repeats).max().unwrap_or(0);
    let slow = |index: &usize| arms.get(*index).is_some_and(hangs);
    let mut cells = Vec::new();
    for repeat in 0..repeats {
        shuffle(&mut groups, &mut rng);
        groups.sort_by_key(|group| !group.iter().any(slow));
        for group in &mut groups {
            shuffle(group, &mut rng);
            group.sort_by_key(|index| !slow(index));
            let due = |index: &&usize| arms.get(**index).is_some_and(|arm| repeat < arm.repeats);
            cells.extend(group.iter().filter(due).map(|&arm| Cell { arm, repeat }));
        }
    }
    cells
}

fn hangs(arm: &Arm) -> bool {
    arm.expect.as_ref().is_some_and(|expect| expect.verdict == ExpectedVerdict::Hang)
}

/// Fisher-Yates. Written out because the order must stay the same over releases of a library.
fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, rng) as usize);
    }
}

/// Uniform in `0..bound`; `bound` > 0. Draws above the largest multiple of `bound` are drawn again.
fn below(bound: u64, rng: &mut ChaCha8Rng) -> u64 {
    let usable = u64::MAX - u64::MAX % bound;
    loop {
        let drawn = rng.next_u64();
        if drawn < usable {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests;
