//! Makes a failing arm smaller as long as it fails alike. Pure: it proposes arms and is told whether they still fail.

use crate::model::arm::Arm;
use crate::probe::change::{FLAGS, flag_of};
use crate::probe::{Change, Field, Stop};

/// Numbers in the order in which they are made smaller: what only shortens a run first, what needs a build last.
const NUMBERS: [Field; 10] = [
    Field::Ballast,
    Field::Guard,
    Field::Rounds,
    Field::Copies,
    Field::Chunk,
    Field::Elements,
    Field::SourceSize,
    Field::Padding,
    Field::PlainKernels,
    Field::Kernels,
];

/// An arm that could not be made smaller.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// What became of the arm, in canonical order.
    pub changes: Vec<Change>,
    pub arm: Arm,
    /// Arms that were tried.
    pub tried: u32,
}

/// Reduces `start`, but for the numbers of `keep`. `fails`: does this arm still fail alike, often enough? It is told how many
/// more arms this pass tries if none of them does.
pub fn reduce(
    start: &Arm,
    keep: &[Field],
    fails: &mut impl FnMut(&Arm, u32) -> Result<bool, Stop>,
) -> Result<Reduced, Stop> {
    let mut work = Work { start, changes: Vec::new(), tried: 0, ahead: 0, fails };
    // A second pass: what was needed beside something else may not be needed without it.
    loop {
        let before = work.changes.clone();
        let numbers: Vec<Field> = NUMBERS.into_iter().filter(|field| !keep.contains(field)).collect();
        let arm = work.current()?;
        let in_numbers = |from: usize, arm: &Arm| -> u32 {
            numbers.get(from..).unwrap_or_default().iter().map(|field| halvings(*field, arm)).sum()
        };
        work.ahead = in_numbers(0, &arm) + FLAGS.len() as u32;
        work.keys()?;
        work.ahead = in_numbers(0, &arm);
        work.flags()?;
        for (index, field) in numbers.iter().enumerate() {
            work.ahead = in_numbers(index + 1, &work.current()?);
            work.number(*field)?;
        }
        if work.changes == before {
            break;
        }
    }
    let Work { changes, tried, .. } = work;
    let arm = applied(start, &changes).map_err(Stop::Failed)?;
    Ok(Reduced { changes, arm, tried })
}

struct Work<'a, F> {
    start: &'a Arm,
    changes: Vec<Change>,
    tried: u32,
    /// Arms that the rest of this pass, behind the present key, flag or number, may try.
    ahead: u32,
    fails: &'a mut F,
}

/// Arms that making one number smaller takes if it cannot be made smaller.
fn halvings(field: Field, arm: &Arm) -> u32 {
    let (least, value, step) = (least(field, arm), field.get(arm), field.step());
    if value <= least || !value.is_multiple_of(step) { 0 } else { 1 + narrowings(least, value, step) }
}

/// Values between that are tried until the two are neighbours, if none of them is kept.
fn narrowings(mut below: u64, above: u64, step: u64) -> u32 {
    let mut tried = 0;
    while above - below > step {
        below = middle(below, above, step);
        tried += 1;
    }
    tried
}

/// The value to try between two that are not neighbours.
fn middle(below: u64, above: u64, step: u64) -> u64 {
    // Far apart: by powers, so that a gigabyte takes some twenty runs and not a billion.
    let middle = match below.checked_mul(8) {
        Some(far) if far < above => ((below.max(1) as f64) * (above as f64)).sqrt() as u64,
        _ => below + (above - below) / 2,
    };
    (middle / step * step).clamp(below + step, above - step)
}

/// The source holds two chunks at the least.
fn least(field: Field, arm: &Arm) -> u64 {
    match field {
        Field::SourceSize => arm.workload.chunk.saturating_mul(2).next_multiple_of(field.step()),
        _ => field.limits().0,
    }
}

impl<F: FnMut(&Arm, u32) -> Result<bool, Stop>> Work<'_, F> {
    /// Keeps the change if the arm still fails with it. A change that makes no valid arm is not kept. `more`: arms that may
    /// follow it in its own place.
    fn keep(&mut self, change: Change, more: u32) -> Result<bool, Stop> {
        let mut changes = self.changes.clone();
        changes.retain(|other| !same_place(other, &change));
        changes.push(change);
        changes.sort_by_key(ToString::to_string);
        let Ok(arm) = applied(self.start, &changes) else { return Ok(false) };
        self.tried += 1;
        let fails = (self.fails)(&arm, self.ahead.saturating_add(more))?;
        if fails {
            self.changes = changes;
        }
        Ok(fails)
    }

    fn current(&self) -> Result<Arm, Stop> {
        applied(self.start, &self.changes).map_err(Stop::Failed)
    }

    fn keys(&mut self) -> Result<(), Stop> {
        let keys: Vec<String> = self.start.keys.keys.keys().cloned().collect();
        for (index, key) in keys.iter().enumerate() {
            if self.current()?.keys.keys.contains_key(key) {
                let more = keys.len() - index - 1;
                self.keep(Change::Key(key.clone(), None), u32::try_from(more).unwrap_or(u32::MAX))?;
            }
        }
        Ok(())
    }

    fn flags(&mut self) -> Result<(), Stop> {
        // The simple state of each: nothing made late, one region, one allocation.
        for (flag, simple) in FLAGS.into_iter().zip([true, true, false]) {
            if flag_of(&self.current()?, flag) == Some(!simple) {
                self.keep(Change::Flag(flag.to_owned(), simple), 0)?;
            }
        }
        Ok(())
    }

    /// The smallest value by halving: exact if failing is monotone in the value, else a smaller one that fails.
    fn number(&mut self, field: Field) -> Result<(), Stop> {
        let arm = self.current()?;
        let value = field.get(&arm);
        let step = field.step();
        let least = least(field, &arm);
        if value <= least
            || !value.is_multiple_of(step)
            || self.keep(Change::Set(field, least), narrowings(least, value, step))?
        {
            return Ok(());
        }
        let (mut below, mut above) = (least, value);
        while above - below > step {
            let middle = middle(below, above, step);
            let more = narrowings(middle, above, step);
            if self.keep(Change::Set(field, middle), more)? { above = middle } else { below = middle }
        }
        Ok(())
    }
}

fn same_place(a: &Change, b: &Change) -> bool {
    match (a, b) {
        (Change::Set(x, _), Change::Set(y, _)) => x == y,
        (Change::Key(x, _), Change::Key(y, _)) | (Change::Flag(x, _), Change::Flag(y, _)) => x == y,
        (Change::Driver(_), Change::Driver(_)) => true,
        _ => false,
    }
}

/// The arm with all changes.
pub fn applied(start: &Arm, changes: &[Change]) -> Result<Arm, String> {
    changes.iter().try_fold(start.clone(), |arm, change| change.apply(&arm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::arm;

    fn reduced(start: &Arm, fails: impl Fn(&Arm) -> bool) -> Reduced {
        reduce(start, &[], &mut |arm, _| Ok(fails(arm))).expect("no stop")
    }

    #[test]
    fn everything_superfluous_goes_and_what_is_needed_stays() {
        let mut start = arm();
        start.workload.ballast = 4 << 30;
        start.workload.late_module = true;
        start.workload.copies = 942;
        start.keys.keys.insert("Needed".into(), "1".into());
        start.keys.keys.insert("Superfluous".into(), "1".into());
        let found = reduced(&start, |arm| {
            arm.variant.kernels >= 174
                && arm.workload.copies >= 2
                && arm.workload.chunk >= 4 << 20
                && arm.keys.keys.contains_key("Needed")
        });
        let a = &found.arm;
        assert_eq!((a.variant.kernels, a.workload.copies, a.workload.chunk), (174, 2, 4 << 20));
        assert_eq!((a.workload.ballast, a.workload.late_module, a.workload.elements), (0, false, 2));
        assert_eq!(a.keys.keys.keys().collect::<Vec<_>>(), ["Needed"]);
        assert_eq!(a.source.size, 8 << 20, "two chunks");
        assert!(found.tried < 150, "{} arms", found.tried);
    }

    #[test]
    fn what_is_left_is_counted_where_nothing_can_be_taken_away() {
        let mut start = arm();
        start.keys.keys.insert("A".into(), "1".into());
        start.keys.keys.insert("B".into(), "1".into());
        let mut said = Vec::new();
        let mut never = |_: &Arm, left: u32| {
            said.push(left);
            Ok(false)
        };
        let found = reduce(&start, &[], &mut never).expect("no stop");
        // Flags are counted all, as those of the arm are few; from the first number on it is exact.
        let numbers = said.iter().rposition(|left| *left == 0).expect("an end");
        assert_eq!(numbers + 1, said.len());
        let exact: Vec<u32> = (0..said.len() as u32).rev().collect();
        assert_eq!(said.get(2..), exact.get(2..), "two keys, then numbers");
        assert!(said.iter().zip(&exact).all(|(said, exact)| (*exact..exact + 4).contains(said)), "{said:?}");
        assert_eq!(found.tried as usize, said.len());
    }

    #[test]
    fn an_arm_that_is_smallest_stays_as_it_is() {
        let start = arm();
        let found = reduced(&start, |_| false);
        assert!(found.changes.is_empty());
        assert_eq!(found.arm, start);
    }

    #[test]
    fn the_result_fails_even_where_failing_is_not_monotone() {
        let fails = |arm: &Arm| arm.workload.copies % 5 == 2;
        let found = reduced(&arm(), fails);
        assert!(fails(&found.arm) && found.arm.workload.copies <= 12);
    }
}
