//! Histories of GPU address ranges, bounded.

use std::collections::HashMap;

use crate::model::facts::{BindEvent, RangeHistory};

/// Distinct ranges and events kept. A run of the largest matrix arm has some thousands.
const MAX_RANGES: usize = 1 << 18;
const MAX_EVENTS: usize = 1 << 21;

#[derive(Debug, Default)]
pub(crate) struct Histories {
    list: Vec<RangeHistory>,
    by_key: HashMap<((u64, u32), u64, u64), usize>,
    events: usize,
    /// Events not kept.
    pub(crate) dropped: u64,
}

impl Histories {
    /// `space` is (device file, VM), the file 0 where a log does not tell files apart. The event's range, or `None`
    /// when the limits are reached.
    pub(crate) fn add(
        &mut self,
        space: (u64, u32),
        start: u64,
        size: u64,
        event: BindEvent,
    ) -> Option<usize> {
        if self.events >= MAX_EVENTS {
            self.dropped += 1;
            return None;
        }
        let next = self.list.len();
        let index = match self.by_key.get(&(space, start, size)) {
            Some(&index) => index,
            None if next < MAX_RANGES => {
                self.by_key.insert((space, start, size), next);
                self.list.push(RangeHistory { vm: space.1, start, size, events: Vec::new() });
                next
            }
            None => {
                self.dropped += 1;
                return None;
            }
        };
        self.events += 1;
        self.add_to(index, event);
        Some(index)
    }

    /// One more event of a range that is known.
    pub(crate) fn add_to(&mut self, index: usize, event: BindEvent) {
        if let Some(history) = self.list.get_mut(index) {
            history.events.push(event);
        }
    }

    pub(crate) fn into_list(self) -> Vec<RangeHistory> {
        self.list
    }
}
