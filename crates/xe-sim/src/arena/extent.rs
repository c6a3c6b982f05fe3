//! Free extents of the arena, first fit, neighbours joined. All of them read as zeros.

use std::collections::BTreeMap;

pub(super) struct Extents {
    /// Offset → length.
    free: BTreeMap<u64, u64>,
}

impl Extents {
    pub(super) fn new(start: u64, end: u64) -> Extents {
        let mut free = BTreeMap::new();
        if end > start {
            free.insert(start, end - start);
        }
        Extents { free }
    }

    /// `size` bytes at a multiple of `align`.
    pub(super) fn take(&mut self, size: u64, align: u64) -> Option<u64> {
        let fits = |offset: u64, len: u64| {
            let start = offset.checked_next_multiple_of(align)?;
            (start.checked_add(size)? <= offset + len).then_some(start)
        };
        let (&offset, &len, start) =
            self.free.iter().find_map(|(offset, len)| Some((offset, len, fits(*offset, *len)?)))?;
        self.free.remove(&offset);
        if start > offset {
            self.free.insert(offset, start - offset);
        }
        let (end, free_end) = (start + size, offset + len);
        if free_end > end {
            self.free.insert(end, free_end - end);
        }
        Some(start)
    }

    pub(super) fn give(&mut self, offset: u64, len: u64) {
        let (mut offset, mut len) = (offset, len);
        if let Some((&before, &before_len)) = self.free.range(..offset).next_back()
            && before + before_len == offset
        {
            self.free.remove(&before);
            offset = before;
            len += before_len;
        }
        if let Some(after_len) = self.free.remove(&(offset + len)) {
            len += after_len;
        }
        self.free.insert(offset, len);
    }
}
