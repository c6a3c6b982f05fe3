//! A map from disjoint address intervals to values, with the replace and split rules of a VM.

use std::collections::BTreeMap;

/// What an interval map holds: a value that can start later than it did.
pub trait Piece: Clone {
    /// The value for the part that starts `by` further on.
    fn advance(&self, by: u64) -> Self;
}

/// Disjoint half-open intervals. Addresses are below 2^63, so that ends do not overflow.
#[derive(Clone, Debug)]
pub struct IntervalMap<V> {
    /// Start → (length, value).
    map: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for IntervalMap<V> {
    fn default() -> Self {
        IntervalMap { map: BTreeMap::new() }
    }
}

/// An interval that [`IntervalMap::remove`] cut, and what is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut<V> {
    pub value: V,
    /// Pieces of the interval that stay in the map (0, 1 or 2).
    pub left: u8,
}

impl<V: Piece> IntervalMap<V> {
    /// The interval that holds `addr`: start, length, value (as of the start).
    pub fn get(&self, addr: u64) -> Option<(u64, u64, &V)> {
        let (&start, (len, value)) = self.map.range(..=addr).next_back()?;
        (addr - start < *len).then_some((start, *len, value))
    }

    /// The start of the first interval at or after `addr`.
    pub fn next_start(&self, addr: u64) -> Option<u64> {
        self.map.range(addr..).next().map(|(start, _)| *start)
    }

    /// Clears `[start, start + len)`, splitting intervals at its edges, and reports each interval that was cut.
    pub fn remove(&mut self, start: u64, len: u64, mut cut: impl FnMut(Cut<V>)) {
        let end = start.saturating_add(len);
        let mut from = match self.get(start) {
            Some((first, _, _)) => first,
            None => start,
        };
        // A range whose start lies behind its end would panic.
        while from < end {
            let Some((&at, _)) = self.map.range(from..end).next() else { return };
            let Some((piece_len, value)) = self.map.remove(&at) else { return };
            let piece_end = at + piece_len;
            let mut left = 0;
            if at < start {
                self.map.insert(at, (start - at, value.clone()));
                left += 1;
            }
            if piece_end > end {
                self.map.insert(end, (piece_end - end, value.advance(end - at)));
                left += 1;
            }
            cut(Cut { value, left });
            from = piece_end;
        }
    }

    /// Puts a value at `[start, start + len)`, which must have been cleared before.
    pub fn insert(&mut self, start: u64, len: u64, value: V) {
        debug_assert!(self.get(start).is_none() && self.next_start(start).is_none_or(|n| n >= start + len));
        self.map.insert(start, (len, value));
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, &V)> {
        self.map.iter().map(|(start, (len, value))| (*start, *len, value))
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct At(u32, u64);
    impl Piece for At {
        fn advance(&self, by: u64) -> Self {
            At(self.0, self.1 + by)
        }
    }

    #[test]
    fn interval_remove_in_the_middle_leaves_two_pieces() {
        let mut m = IntervalMap::default();
        m.insert(10, 10, At(1, 100));
        let mut cuts = Vec::new();
        m.remove(13, 4, |c| cuts.push(c));
        assert_eq!(cuts, [Cut { value: At(1, 100), left: 2 }]);
        assert_eq!(m.get(12), Some((10, 3, &At(1, 100))));
        assert_eq!(m.get(13), None);
        assert_eq!(m.get(17), Some((17, 3, &At(1, 107))));
    }

    proptest! {
        /// Against a table with one entry a page. The number of live pieces must follow from the cuts reported.
        #[test]
        fn interval_map_equals_a_table_of_pages(
            ops in proptest::collection::vec((any::<bool>(), 0u64..64, 1u64..24), 1..60)
        ) {
            let mut map = IntervalMap::default();
            let mut pages: Vec<Option<At>> = vec![None; 96];
            let mut pieces: i64 = 0;
            for (id, (insert, start, len)) in ops.into_iter().enumerate() {
                map.remove(start, len, |cut| pieces += i64::from(cut.left) - 1);
                for p in start..start + len {
                    pages[p as usize] = None;
                }
                if insert {
                    map.insert(start, len, At(id as u32, 0));
                    pieces += 1;
                    for p in start..start + len {
                        pages[p as usize] = Some(At(id as u32, p - start));
                    }
                }
                for (p, want) in pages.iter().enumerate() {
                    let p = p as u64;
                    let got = map.get(p).map(|(s, _, v)| v.advance(p - s));
                    prop_assert_eq!(&got, want, "page {}", p);
                }
                prop_assert_eq!(map.iter().count() as i64, pieces);
            }
        }
    }
}
