//! Bound checks of a launch: does a comparison with a value that is linear in the group's number turn only once?
//!
//! Linear means modulo 2³². Of a value that wraps on its way from the first group to the last, the order tells nothing:
//! `i - n > 4` is false in the middle alone.

use super::alu;
use super::cache::Code;
use super::dispatch::{Dispatch, Spawner};
use super::memory::GpuMemory;
use super::micro::{Body, Micro};
use super::operand::Lanes;
use super::port::Port;
use super::thread::{Group, Meter, Thread};

/// Instructions that a thread may need to get to its bound check.
const PATIENCE: u64 = 10_000;

/// The two operands of all channels of a group.
type Operands = Vec<[Lanes<u32>; 2]>;

/// Whether the operands of the comparison at `at` go from the first of `groups` groups to the last without a wrap.
pub(super) fn keeps(
    dispatch: &Dispatch<'_>,
    code: &Code,
    memory: &mut impl GpuMemory,
    at: u32,
    groups: u64,
) -> bool {
    let Some(micro) = code.micros.get(at as usize) else { return false };
    let Body::Compare32(_, signed) = micro.body else { return false };
    let before = code.before(at);
    let mut of = |group: u64| operands(dispatch, &before, memory, micro, at, group);
    let (Some(first), Some(second)) = (of(0), of(1)) else { return false };
    let pairs = first.iter().flatten().flatten().zip(second.iter().flatten().flatten());
    pairs.into_iter().all(|(a, b)| stays(*a, *b, signed, groups))
}

/// `a` of the first group, `b` of the second.
fn stays(a: u32, b: u32, signed: bool, groups: u64) -> bool {
    let step = i128::from(b.wrapping_sub(a) as i32);
    let (start, range) = if signed {
        (i128::from(a as i32), i128::from(i32::MIN)..=i128::from(i32::MAX))
    } else {
        (i128::from(a), 0..=i128::from(u32::MAX))
    };
    range.contains(&(start + step * i128::from(groups.saturating_sub(1))))
}

/// What the threads of group `number` are about to compare. `None` where one does not get there.
fn operands<M: GpuMemory>(
    dispatch: &Dispatch<'_>,
    before: &Code,
    memory: &mut M,
    micro: &Micro,
    at: u32,
    number: u64,
) -> Option<Operands> {
    let count = dispatch.threads_per_group;
    let mut port = Port::new(memory, dispatch);
    let mut thread = Thread::new();
    let mut found = Vec::new();
    let identities = Spawner::new(dispatch.geometry).group(number, count);
    for (index, identity) in (0..).zip(identities) {
        dispatch.start(&mut thread, identity, dispatch.group_id(number), index);
        let mut group = Group { threads: count, ..Group::default() };
        let mut meter = Meter { left: PATIENCE, ..Meter::default() };
        let stopped = thread.run(before, &mut port, &mut group, &mut meter);
        if stopped.is_ok() || thread.ip != at {
            return None;
        }
        let operand = |k| alu::word(&thread.regs, micro, k, false).ok();
        found.push([operand(0)?, operand(1)?]);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wraps_is_in_no_order() {
        // Up to the last number and one beyond it.
        assert!(stays(u32::MAX - 99, u32::MAX - 98, false, 100));
        assert!(!stays(u32::MAX - 99, u32::MAX - 98, false, 101));
        assert!(stays(u32::MAX - 99, u32::MAX - 98, true, 100), "from -100 to -1");
        assert!(stays(u32::MAX - 99, u32::MAX - 98, true, 200), "through zero");
        assert!(!stays(i32::MAX as u32 - 9, i32::MAX as u32 - 8, true, 11));
        // Downwards.
        assert!(stays(300, 297, false, 101) && !stays(300, 297, false, 102));
        assert!(stays(7, 7, false, u64::MAX), "a constant");
    }
}
