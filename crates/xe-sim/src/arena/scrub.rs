//! Recycling of blocks off the hot path.
//!
//! A freed block goes to a helper thread. Up to [`KEEP`] bytes stay resident, wiped, in lists by size; anything
//! larger or beyond that is punched out of the memfd, which frees its pages and leaves zeros. If the device needs a
//! block before the helper got to it, the device wipes it itself.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

use super::extent::Extents;
use super::sys::Mapping;

/// Wiped memory kept resident for reuse, bytes.
const KEEP: u64 = 512 << 20;
/// Blocks above this are always given back to the kernel.
const LARGEST_KEPT: u64 = 64 << 20;

#[derive(Default)]
struct State {
    dirty: VecDeque<(u64, u64)>,
    clean: HashMap<u64, Vec<u64>>,
    clean_bytes: u64,
    punched: Vec<(u64, u64)>,
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

    pub(super) fn recycle(&self, offset: u64, size: u64) {
        self.shared.lock().dirty.push_back((offset, size));
        self.shared.wake.notify_one();
    }

    /// A recycled, wiped block of exactly `size`.
    pub(super) fn take(&self, size: u64) -> Option<u64> {
        let mut state = self.shared.lock();
        if let Some(offset) = state.clean.get_mut(&size).and_then(Vec::pop) {
            state.clean_bytes -= size;
            return Some(offset);
        }
        if size > LARGEST_KEPT {
            return None;
        }
        let index = state.dirty.iter().position(|(_, s)| *s == size)?;
        let (offset, _) = state.dirty.remove(index)?;
        drop(state);
        self.map.wipe_resident(offset, size);
        Some(offset)
    }

    pub(super) fn drain_punched(&self, extents: &mut Extents) {
        for (offset, len) in self.shared.lock().punched.drain(..) {
            extents.give(offset, len);
        }
    }

    /// Everything recycled so far goes back to the extents: for the moment when the arena looks full.
    pub(super) fn give_back_all(&self, extents: &mut Extents) {
        let mut state = self.shared.lock();
        while state.busy || !state.dirty.is_empty() {
            state = self.shared.idle.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        for (size, offsets) in state.clean.drain() {
            for offset in offsets {
                extents.give(offset, size);
            }
        }
        state.clean_bytes = 0;
        for (offset, len) in state.punched.drain(..) {
            extents.give(offset, len);
        }
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
    let mut state = shared.lock();
    loop {
        if state.stop {
            return;
        }
        let Some((offset, size)) = state.dirty.pop_front() else {
            shared.idle.notify_all();
            state = shared.wake.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            continue;
        };
        let keep = size <= LARGEST_KEPT && state.clean_bytes + size <= KEEP;
        state.busy = true;
        drop(state);
        // Where the hole cannot be punched, wiping gives the same contents (and keeps the pages).
        if keep || !map.punch(offset, size) {
            map.wipe_resident(offset, size);
        }
        state = shared.lock();
        state.busy = false;
        if keep {
            state.clean.entry(size).or_default().push(offset);
            state.clean_bytes += size;
        } else {
            state.punched.push((offset, size));
        }
    }
}
