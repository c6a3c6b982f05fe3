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

    pub(super) fn take(&mut self, size: u64) -> Option<u64> {
        let (&offset, &len) = self.free.iter().find(|(_, len)| **len >= size)?;
        self.free.remove(&offset);
        if len > size {
            self.free.insert(offset + size, len - size);
        }
        Some(offset)
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
