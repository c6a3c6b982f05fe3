//! Recycling of blocks off the hot path.
//!
//! A freed block goes to a helper thread. Up to [`KEEP`] bytes stay resident, wiped, in lists by size; anything
//! larger or beyond that is punched out of the memfd, which frees its pages and leaves zeros. If the device needs a
//! block before the helper got to it, the device wipes it itself.
//!
//! A block of large size that was mostly used is likely to come again: the helper remakes it of large pages once. Then
//! a client that maps it has few page faults, which with small pages cost several times the copy they are for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use nix::sys::signal::SigSet;

use super::extent::Extents;
use super::sys::Mapping;
use super::{LARGE_PAGE, Use, extent};

/// Wiped memory kept resident for reuse, bytes.
const KEEP: u64 = 512 << 20;
/// Blocks above this are always given back to the kernel.
const LARGEST_KEPT: u64 = 64 << 20;
/// After this many refusals the kernel is not asked for large pages again: it has none, or its memory is in pieces.
const MOST_REFUSALS: u32 = 4;

/// A freed block: bytes, and who used it.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub offset: u64,
    pub size: u64,
    pub by: Use,
}

#[derive(Default)]
struct State {
    dirty: VecDeque<Block>,
    /// Offsets by size and use, the latest at the end.
    clean: HashMap<(u64, Use), Vec<u64>>,
    clean_bytes: u64,
    /// (offset, size) of blocks without pages.
    punched: Vec<(u64, u64)>,
    /// Blocks made of large pages, wherever they are now.
    large: HashSet<u64>,
    /// How often the kernel has refused to make large pages.
    refused: u32,
    busy: bool,
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    idle: Condvar,
}

impl Shared {
    /// A panic of the other side cannot leave the lists half-changed: every update is a single call.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

pub(super) struct Scrubber {
    map: Arc<Mapping>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Scrubber {
    pub(super) fn start(map: Arc<Mapping>) -> io::Result<Scrubber> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            wake: Condvar::new(),
            idle: Condvar::new(),
        });
        let (theirs, their_map) = (Arc::clone(&shared), Arc::clone(&map));
        let thread = std::thread::Builder::new()
            .name("xe-sim-scrub".to_owned())
            .spawn(move || run(&theirs, &their_map))?;
        Ok(Scrubber { map, shared, thread: Some(thread) })
    }

    pub(super) fn recycle(&self, block: Block) {
        self.shared.lock().dirty.push_back(block);
        self.shared.wake.notify_one();
    }

    /// A recycled, wiped block of exactly `size`.
    pub(super) fn take(&self, size: u64, by: Use) -> Option<u64> {
        let mut state = self.shared.lock();
        if let Some(offset) = state.clean.get_mut(&(size, by)).and_then(Vec::pop) {
            state.clean_bytes -= size;
            return Some(offset);
        }
        if size > LARGEST_KEPT {
            return None;
        }
        let index = state.dirty.iter().position(|b| b.size == size && b.by == by)?;
        let offset = state.dirty.remove(index)?.offset;
        drop(state);
        self.map.wipe_resident(offset, size);
        Some(offset)
    }

    pub(super) fn drain_punched(&self, extents: &mut Extents) {
        for (offset, size) in self.shared.lock().punched.drain(..) {
            extents.give(offset, extent(size));
        }
    }

    /// Everything recycled so far goes back to the extents: for the moment when the arena looks full.
    pub(super) fn give_back_all(&self, extents: &mut Extents) {
        let mut state = self.shared.lock();
        while state.busy || !state.dirty.is_empty() {
            state = self.shared.idle.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        for ((size, _), offsets) in state.clean.drain() {
            for offset in offsets {
                extents.give(offset, extent(size));
            }
        }
        state.clean_bytes = 0;
        for (offset, size) in state.punched.drain(..) {
            extents.give(offset, extent(size));
        }
        state.large.clear();
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panicked helper has nothing left that we could use.
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, map: &Mapping) {
    // Those that end the process are for the supervisor, which passes them on to the client.
    let _ = SigSet::all().thread_block();
    let mut state = shared.lock();
    loop {
        if state.stop {
            return;
        }
        let Some(block) = state.dirty.pop_front() else {
            shared.idle.notify_all();
            state = shared.wake.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            continue;
        };
        let Block { offset, size, by } = block;
        let room_to_keep = size <= LARGEST_KEPT && state.clean_bytes + size <= KEEP;
        let is_large = state.large.contains(&offset);
        let may_grow = size >= LARGE_PAGE && !is_large && state.refused < MOST_REFUSALS;
        state.busy = true;
        drop(state);
        let resident = map.resident(offset, size);
        let keep = room_to_keep && resident > 0;
        let made_large = (keep && may_grow && resident >= size / 2).then(|| remake(map, offset, size));
        // Where the hole cannot be punched, wiping gives the same contents (and keeps the pages).
        if made_large != Some(true) && resident > 0 && (keep || !map.punch(offset, size)) {
            map.wipe_resident(offset, size);
        }
        state = shared.lock();
        state.busy = false;
        match made_large {
            Some(true) => drop(state.large.insert(offset)),
            Some(false) => state.refused += 1,
            None => {}
        }
        if keep {
            state.clean.entry((size, by)).or_default().push(offset);
            state.clean_bytes += size;
        } else {
            state.large.remove(&offset);
            state.punched.push((offset, size));
        }
    }
}

/// New pages for the block, large ones but for its end, all zeros. False where the kernel does not make them.
fn remake(map: &Mapping, offset: u64, size: u64) -> bool {
    let room = extent(size);
    if !map.punch(offset, size) || !map.make_large(offset, room) {
        return false;
    }
    // The last page is cut to the block. The kernel splits it into the largest pieces there are, each of which it maps at one
    // fault; a whole large page that reaches over the end of a client's mapping it would map by 4 KiB.
    room == size || map.punch(offset + size, room - size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remade_block_is_zero_and_its_neighbour_is_untouched() {
        let map = Mapping::new(32 << 20).expect("a mapping");
        let (offset, size) = (4u64 << 20, 5u64 << 20);
        let end = offset + extent(size);
        assert!(
            map.fill(offset, size, 0xa5) && map.fill(end, 4096, 0x5a) && map.fill(offset - 4096, 4096, 0x5a)
        );
        let large = remake(&map, offset, size);
        let mut bytes = vec![1; size as usize];
        assert!(map.read(offset, &mut bytes));
        assert!(bytes.iter().all(|b| *b == 0), "large: {large}");
        if large {
            // The block keeps its pages, and none beyond its end.
            assert_eq!(map.resident(offset, extent(size)), size);
        }
        for at in [offset - 4096, end] {
            let mut page = [0; 4096];
            assert!(map.read(at, &mut page));
            assert_eq!(page, [0x5a; 4096], "at {at:#x}");
        }
    }
}
