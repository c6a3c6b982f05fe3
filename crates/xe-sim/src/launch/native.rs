//! Copies and fills at the host's speed, where the kernel is proved to be one ([`Idiom`]).
//!
//! A sample of the groups runs on the model first: the first two, the middle one, the last ones and some at random. Their
//! accesses must lie on straight lines, and what they would have written must be what the copy or fill writes there.
//! If anything differs, a value at a bound check wraps, or the memory is not all bound, everything runs on the model. A
//! group that is not full always does.

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher, RandomState};

use super::Fetch;
use super::view::View;
use crate::cs::memory::GpuMemory;
use crate::device::vm::VA_MASK;
use crate::eu::{self, Budget, Dispatch, ExecError, ExecStats, Fault, Idiom, Prepared};

/// Groups of a dispatch from which on this is worth its while.
const WORTH: u64 = 64;
/// Groups sampled at random.
const RANDOM: usize = 4;

/// What was done without executing it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Native {
    pub groups: u64,
    pub bytes: u64,
    /// Groups that ran on the model and were compared.
    pub sampled: u64,
}

/// Notes accesses; writes go nowhere.
struct Recorder<'v, 'a, F: Fetch> {
    view: &'v mut View<'a, F>,
    log: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    addr: u64,
    len: u64,
    /// What was written; nothing for a read.
    bytes: Option<Vec<u8>>,
}

impl<F: Fetch> eu::GpuMemory for Recorder<'_, '_, F> {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<eu::Access, Fault> {
        self.log.push(Entry { addr: addr & VA_MASK, len: buf.len() as u64, bytes: None });
        self.view.read(addr, buf)
    }

    fn write(&mut self, addr: u64, data: &[u8]) -> Result<eu::Access, Fault> {
        let bytes = Some(data.to_vec());
        self.log.push(Entry { addr: addr & VA_MASK, len: data.len() as u64, bytes });
        Ok(eu::Access::default())
    }
}

/// A stretch of `block` bytes a group, from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lane {
    start: u64,
    block: u64,
}

/// Executes the dispatch so, if it can be. `None`: nothing was done, and nothing was counted.
pub(super) fn run<F: Fetch>(
    memory: &GpuMemory<'_>,
    view: &mut View<'_, F>,
    prepared: &Prepared<'_>,
    dispatch: &Dispatch<'_>,
    budget: Budget<'_>,
) -> Result<Option<(ExecStats, Native)>, ExecError> {
    let before = view.tally().clone();
    let done = attempt(memory, view, prepared, dispatch, budget)?;
    if done.is_none() {
        view.set_tally(before);
    }
    Ok(done)
}

fn attempt<F: Fetch>(
    memory: &GpuMemory<'_>,
    view: &mut View<'_, F>,
    prepared: &Prepared<'_>,
    dispatch: &Dispatch<'_>,
    budget: Budget<'_>,
) -> Result<Option<(ExecStats, Native)>, ExecError> {
    let Some(idiom) = prepared.idiom() else { return Ok(None) };
    let groups = dispatch.groups();
    if groups < WORTH || dispatch.in_one_row().is_none_or(|n| n != groups) {
        return Ok(None);
    }
    let full = groups - 1;
    let mut stats = ExecStats::default();
    let mut samples = Vec::new();
    for number in sample(full) {
        let mut recorder = Recorder { view, log: Vec::new() };
        // What stops a sample stops the dispatch, which is executed to find out where.
        let Ok(done) = prepared.groups(&mut recorder, budget, std::iter::once(number)) else {
            return Ok(None);
        };
        stats.add(&done);
        samples.push((number, recorder.log));
    }
    let sampled = samples.len() as u64;
    if !prepared.is_in_order(&mut Recorder { view, log: Vec::new() }, full) {
        return Ok(None);
    }
    let Some((from, to)) = lines(idiom, &samples) else { return Ok(None) };
    let Some(bytes) = to.block.checked_mul(full).filter(|n| *n <= VA_MASK) else { return Ok(None) };
    if clobbers(idiom, &samples, (from, to), bytes) || !covered(memory, to.start, bytes, true) {
        return Ok(None);
    }
    match idiom {
        Idiom::Copy => {
            if !apart(from.start, bytes, to.start, bytes) || !covered(memory, from.start, bytes, false) {
                return Ok(None);
            }
            if !samples.iter().all(|(number, log)| as_copied(memory, log, from, to, *number)) {
                return Ok(None);
            }
            let (missed_from, missed_to) = memory.copy(from.start, to.start, bytes);
            if missed_from.missed + missed_to.missed > 0 {
                // Client memory that is gone: the model finds out what that means.
                return Ok(None);
            }
        }
        Idiom::Fill => {
            let Some(pattern) = block(&samples, to) else { return Ok(None) };
            if memory.fill(to.start, bytes, &pattern).missed > 0 {
                return Ok(None);
            }
        }
    }
    stats.add(&prepared.groups(view, budget, std::iter::once(full))?);
    (stats.groups, stats.threads) = (groups, groups * u64::from(dispatch.threads_per_group));
    Ok(Some((stats, Native { groups: full, bytes, sampled })))
}

/// Numbers below `full`, in order, the first two among them.
fn sample(full: u64) -> Vec<u64> {
    let mut numbers = vec![0, 1, full / 2, full - 2, full - 1];
    let mut hasher = RandomState::new().build_hasher();
    for _ in 0..RANDOM {
        hasher.write_u64(full);
        numbers.push(hasher.finish() % full);
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn apart(a: u64, a_len: u64, b: u64, b_len: u64) -> bool {
    a.saturating_add(a_len) <= b || b.saturating_add(b_len) <= a
}

/// Whether the `bytes` to be written hold something that the groups read besides what they copy: their arguments.
fn clobbers(idiom: Idiom, samples: &[(u64, Vec<Entry>)], (from, to): (Lane, Lane), bytes: u64) -> bool {
    samples.iter().flat_map(|(_, log)| log).filter(|entry| entry.bytes.is_none()).any(|entry| {
        let source = idiom == Idiom::Copy && entry.addr >= from.start && entry.addr - from.start < bytes;
        !source && !apart(entry.addr, entry.len, to.start, bytes)
    })
}

/// Where the first group's block is read and written, if all samples agree on the straight lines and on the bytes.
fn lines(idiom: Idiom, samples: &[(u64, Vec<Entry>)]) -> Option<(Lane, Lane)> {
    let [(0, first), (1, second), rest @ ..] = samples else { return None };
    if first.len() != second.len() {
        return None;
    }
    let steps: Vec<u64> = first.iter().zip(second).map(|(a, b)| b.addr.wrapping_sub(a.addr)).collect();
    for (number, log) in [(1, second)].into_iter().chain(rest.iter().map(|(n, log)| (*n, log))) {
        if log.len() != first.len() {
            return None;
        }
        for ((a, b), step) in first.iter().zip(log).zip(&steps) {
            let same = a.len == b.len && a.bytes.is_some() == b.bytes.is_some();
            if !same || b.addr != a.addr.wrapping_add(step.wrapping_mul(number)) {
                return None;
            }
        }
    }
    let moving = |write: bool| -> Vec<(u64, u64, u64)> {
        let of = |(e, step): &(&Entry, &u64)| e.bytes.is_some() == write && (write || **step != 0);
        first.iter().zip(&steps).filter(of).map(|(e, step)| (e.addr, e.len, *step)).collect()
    };
    let writes = moving(true);
    let to = lane(&writes)?;
    let from = match idiom {
        Idiom::Fill => to,
        Idiom::Copy => {
            let reads = moving(false);
            let from = lane(&reads)?;
            let partners = reads.len() == writes.len()
                && reads.iter().zip(&writes).all(|(r, w)| (r.0 - from.start, r.1) == (w.0 - to.start, w.1));
            if !partners || from.block != to.block {
                return None;
            }
            from
        }
    };
    Some((from, to))
}

/// The accesses of one group as one block, which the next group's follows.
fn lane(accesses: &[(u64, u64, u64)]) -> Option<Lane> {
    let mut sorted = accesses.to_vec();
    sorted.sort_unstable();
    let start = sorted.first()?.0;
    let mut end = start;
    for (addr, len, _) in &sorted {
        if *addr != end {
            return None;
        }
        end = addr.checked_add(*len)?;
    }
    let block = end - start;
    sorted.iter().all(|(_, _, step)| *step == block).then_some(Lane { start, block })
}

/// Whether a sampled group writes what lies in its part of the source.
fn as_copied(memory: &GpuMemory<'_>, log: &[Entry], from: Lane, to: Lane, number: u64) -> bool {
    log.iter().all(|entry| {
        let Some(written) = &entry.bytes else { return true };
        let Some(at) = entry.addr.checked_sub(to.start + number * to.block) else { return false };
        let mut source = vec![0; written.len()];
        let touch = memory.read(from.start + number * from.block + at, &mut source);
        touch.missed == 0 && source == *written
    })
}

/// What the samples write, if it is the same in all of them.
fn block(samples: &[(u64, Vec<Entry>)], to: Lane) -> Option<Vec<u8>> {
    let mut pattern: Option<Vec<u8>> = None;
    for (number, log) in samples {
        let start = to.start + number * to.block;
        let mut bytes = vec![0; to.block as usize];
        for entry in log {
            if let Some(written) = &entry.bytes {
                let at = usize::try_from(entry.addr.checked_sub(start)?).ok()?;
                bytes.get_mut(at..at + written.len())?.copy_from_slice(written);
            }
        }
        if pattern.as_ref().is_some_and(|p| *p != bytes) {
            return None;
        }
        pattern = Some(bytes);
    }
    pattern
}

/// Whether all of it is bound (and may be written).
fn covered(memory: &GpuMemory<'_>, addr: u64, len: u64, write: bool) -> bool {
    let mut at = addr;
    while at < addr + len {
        match memory.vm.lookup(at) {
            Some((binding, left)) if !(write && binding.readonly) => at += left,
            _ => return false,
        }
    }
    true
}
