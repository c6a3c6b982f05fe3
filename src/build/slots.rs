//! How many compilations run side by side, over all variants that are being built; who came first is served first.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Shared by all builders of a run.
#[derive(Debug)]
pub struct Slots {
    total: usize,
    state: Mutex<State>,
    freed: Condvar,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    busy: usize,
    /// (turn, ticket) of those who wait.
    waiting: BTreeSet<(u64, u64)>,
    tickets: u64,
}

/// A place in the order of variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(u64);

/// The right to compile, until it is dropped.
#[derive(Debug)]
pub struct Slot<'a>(&'a Slots);

/// How long a waiter sleeps before it looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);

impl Slots {
    /// 0 = one for each core.
    pub fn new(total: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let total = if total == 0 { cores() } else { total };
        Slots { total, state: Mutex::default(), freed: Condvar::new(), turns: AtomicU64::new(0) }
    }

    pub fn total(&self) -> usize {
        self.total
    }

    /// The next turn: it goes before all later ones.
    pub fn turn(&self) -> Turn {
        Turn(self.turns.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits for a slot; `None` when `stop` says so.
    pub fn take(&self, turn: Turn, stop: impl Fn() -> bool) -> Option<Slot<'_>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.tickets += 1;
        let me = (turn.0, state.tickets);
        state.waiting.insert(me);
        let got = loop {
            if stop() {
                break false;
            }
            if state.busy < self.total && state.waiting.first() == Some(&me) {
                state.busy += 1;
                break true;
            }
            let waited = self.freed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        state.waiting.remove(&me);
        drop(state);
        // The next in line may have a slot too, or has become the first.
        self.freed.notify_all();
        // Lazily: a slot that was never taken must not be given back.
        got.then(|| Slot(self))
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).busy -= 1;
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn never_more_than_there_are() {
        let slots = Slots::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _slot = slots.take(slots.turn(), || false).unwrap();
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
    }

    #[test]
    fn the_earlier_turn_is_served_first() {
        let slots = Slots::new(1);
        let (early, late) = (slots.turn(), slots.turn());
        let held = slots.take(slots.turn(), || false).unwrap();
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for turn in [late, early] {
                let (slots, order) = (&slots, &order);
                scope.spawn(move || {
                    let _slot = slots.take(turn, || false).unwrap();
                    order.lock().unwrap().push(turn);
                });
            }
            while slots.state.lock().unwrap().waiting.len() < 2 {
                std::thread::yield_now();
            }
            drop(held);
        });
        assert_eq!(order.into_inner().unwrap(), [early, late]);
    }

    #[test]
    fn who_is_not_wanted_any_more_leaves_the_line() {
        let slots = Slots::new(1);
        let held = slots.take(slots.turn(), || false).unwrap();
        assert!(slots.take(slots.turn(), || true).is_none());
        drop(held);
        assert!(slots.take(slots.turn(), || false).is_some());
    }
}
