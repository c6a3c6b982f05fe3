//! Client memory behind user pointers, as one dispatch sees it.
//!
//! Rule of coherence: a dispatch sees a page as it was when its first access came near it; what the dispatch writes
//! is in the client's memory when the dispatch has ended, before its post-sync write, and only the bytes that it wrote
//! are changed there. (The hardware promises no more to a kernel without system-scope fences.) Nothing is kept from one
//! dispatch to the next.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::{ClientMem, ProcessId};

/// Bytes that are fetched at once, and their pages.
const CHUNK: u64 = 64 << 10;
const PAGE: u64 = 4096;
const PAGES: u64 = CHUNK / PAGE;

/// A stretch of client memory wanted here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub process: ProcessId,
    pub addr: u64,
    pub len: usize,
}

/// The way to client memory: directly, or through the thread that may touch it.
pub(super) trait Fetch {
    /// The bytes; `None` when the client has no such memory (any more).
    fn fetch(&mut self, want: Want) -> Option<Vec<u8>>;
}

impl Fetch for &dyn ClientMem {
    fn fetch(&mut self, want: Want) -> Option<Vec<u8>> {
        let mut bytes = vec![0; want.len];
        self.read(want.process, want.addr, &mut bytes).ok().map(|()| bytes)
    }
}

type Key = (ProcessId, u64);
type Shared = Arc<Mutex<Chunk>>;

/// Pages in use by a dispatch. Shared by the threads that execute it.
#[derive(Default)]
pub(super) struct UserPages {
    chunks: Mutex<HashMap<Key, Shared>>,
}

/// A chunk that a view used last: saves the way through the table.
#[derive(Default)]
pub(super) struct Recent(Option<(Key, Shared)>);

struct Chunk {
    bytes: Vec<u8>,
    /// Pages that are here.
    here: u64,
    /// Pages that were asked for and do not exist.
    lost: u64,
    /// One bit a byte.
    dirty: Vec<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere cannot leave these half-changed in a way that matters: the dispatch fails as a whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A piece of client memory inside one mapping: its address, and the mapping's bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub process: ProcessId,
    pub addr: u64,
    /// Client addresses that the same binding covers: what may be fetched along.
    pub window: (u64, u64),
}

impl UserPages {
    fn chunk(&self, recent: &mut Recent, key: Key) -> Shared {
        if let Some((known, chunk)) = &recent.0
            && *known == key
        {
            return Arc::clone(chunk);
        }
        let mut chunks = lock(&self.chunks);
        let chunk = match chunks.entry(key) {
            Entry::Occupied(slot) => Arc::clone(slot.get()),
            Entry::Vacant(slot) => Arc::clone(slot.insert(Arc::new(Mutex::new(Chunk::new())))),
        };
        recent.0 = Some((key, Arc::clone(&chunk)));
        chunk
    }

    /// Calls `part` with the chunk, the offset in it and the range of the whole access, for every chunk that
    /// `len` bytes at `place` touch. Stops at memory that is not there; false then.
    fn visit(
        &self,
        recent: &mut Recent,
        fetch: &mut impl Fetch,
        place: Place,
        len: usize,
        mut part: impl FnMut(&mut Chunk, usize, std::ops::Range<usize>),
    ) -> bool {
        let mut done = 0;
        while done < len {
            let addr = place.addr + done as u64;
            let base = addr / CHUNK * CHUNK;
            let at = (addr - base) as usize;
            let n = (len - done).min(CHUNK as usize - at);
            let chunk = self.chunk(recent, (place.process, base));
            let mut chunk = lock(&chunk);
            if !chunk.bring(fetch, place, base, at, n) {
                return false;
            }
            part(&mut chunk, at, done..done + n);
            done += n;
        }
        true
    }

    pub fn read(&self, recent: &mut Recent, fetch: &mut impl Fetch, place: Place, buf: &mut [u8]) -> bool {
        let len = buf.len();
        self.visit(recent, fetch, place, len, |chunk, at, range| {
            let n = range.len();
            if let (Some(to), Some(from)) = (buf.get_mut(range), chunk.bytes.get(at..at + n)) {
                to.copy_from_slice(from);
            }
        })
    }

    pub fn write(&self, recent: &mut Recent, fetch: &mut impl Fetch, place: Place, data: &[u8]) -> bool {
        self.visit(recent, fetch, place, data.len(), |chunk, at, range| {
            let n = range.len();
            if let (Some(from), Some(to)) = (data.get(range), chunk.bytes.get_mut(at..at + n)) {
                to.copy_from_slice(from);
            }
            chunk.mark(at, n);
        })
    }

    /// As [`crate::eu::GpuMemory::atomic`], for an address that is a multiple of `size`.
    pub fn update(
        &self,
        recent: &mut Recent,
        fetch: &mut impl Fetch,
        place: Place,
        size: usize,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        let mut old = None;
        self.visit(recent, fetch, place, size, |chunk, at, _| {
            let Some(bytes) = chunk.bytes.get_mut(at..at + size) else { return };
            let mut wide = [0u8; 8];
            wide.iter_mut().zip(bytes.iter()).for_each(|(to, from)| *to = *from);
            let value = u64::from_le_bytes(wide);
            old = Some(value);
            if let Some(new) = update(value) {
                bytes.iter_mut().zip(new.to_le_bytes()).for_each(|(to, from)| *to = from);
                chunk.mark(at, size);
            }
        });
        old
    }

    /// Gives the client what was written. Returns the bytes that its memory does not take any more.
    pub fn write_back(self, client: &dyn ClientMem) -> u64 {
        let mut refused = 0;
        for ((process, base), chunk) in self.chunks.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let chunk = lock(&chunk);
            let pieces: Vec<(u64, &[u8])> = chunk
                .dirty_runs()
                .filter_map(|(at, n)| Some((base + at as u64, chunk.bytes.get(at..at + n)?)))
                .collect();
            if client.write_pieces(process, &pieces).is_ok() {
                continue;
            }
            for (addr, bytes) in pieces {
                if client.write(process, addr, bytes).is_err() {
                    refused += bytes.len() as u64;
                }
            }
        }
        refused
    }
}

impl Chunk {
    fn new() -> Chunk {
        let size = CHUNK as usize;
        Chunk { bytes: vec![0; size], here: 0, lost: 0, dirty: vec![0; size / 64] }
    }

    /// Makes the pages of `n` bytes at `at` present. False when one of them does not exist.
    fn bring(&mut self, fetch: &mut impl Fetch, place: Place, base: u64, at: usize, n: usize) -> bool {
        let (first, last) = (at as u64 / PAGE, (at + n.max(1) - 1) as u64 / PAGE);
        for page in first..=last {
            if self.here >> page & 1 == 0 && !self.load(fetch, place, base, page) {
                return false;
            }
        }
        true
    }

    /// Fetches `page` with what follows it in its binding, or by itself where that is not all there.
    fn load(&mut self, fetch: &mut impl Fetch, place: Place, base: u64, page: u64) -> bool {
        if self.lost >> page & 1 != 0 {
            return false;
        }
        let end = place.window.1.saturating_sub(base).min(CHUNK).div_ceil(PAGE);
        let mut to = page + 1;
        while to < end.min(PAGES) && (self.here | self.lost) >> to & 1 == 0 {
            to += 1;
        }
        for to in [to, page + 1] {
            let (from, len) = ((page * PAGE) as usize, ((to - page) * PAGE) as usize);
            let want = Want { process: place.process, addr: base + page * PAGE, len };
            if let Some(bytes) = fetch.fetch(want)
                && let Some(slot) = self.bytes.get_mut(from..from + len)
                && slot.len() == bytes.len()
            {
                slot.copy_from_slice(&bytes);
                for page in page..to {
                    self.here |= 1 << page;
                }
                return true;
            }
        }
        self.lost |= 1 << page;
        false
    }

    fn mark(&mut self, at: usize, n: usize) {
        let mut bit = at;
        while bit < at + n {
            let (word, low) = (bit / 64, bit % 64);
            let count = (64 - low).min(at + n - bit);
            if let Some(word) = self.dirty.get_mut(word) {
                *word |= u64::MAX >> (64 - count) << low;
            }
            bit += count;
        }
    }

    /// Offset and length of each stretch of written bytes.
    fn dirty_runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let is = |bit: usize| self.dirty.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0);
        // Whole words are skipped at once.
        let next = move |from: usize, want: bool| {
            let skip = if want { 0 } else { u64::MAX };
            let mut bit = from;
            while bit < CHUNK as usize && is(bit) != want {
                bit += if bit.is_multiple_of(64) && self.dirty.get(bit / 64) == Some(&skip) { 64 } else { 1 };
            }
            bit.min(CHUNK as usize)
        };
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = next(at, true);
            at = next(start, false);
            (start < CHUNK as usize).then_some((start, at - start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::FakeMemory;

    const ME: ProcessId = ProcessId(1);

    fn place(addr: u64, window: (u64, u64)) -> Place {
        Place { process: ME, addr, window }
    }

    #[test]
    fn user_pages_give_back_the_written_bytes_alone() {
        let memory = FakeMemory::default();
        let start = 0x7f00_0000_0000u64;
        memory.map(start, 3 * CHUNK, true, false);
        memory.poke(start, &vec![1; 3 * CHUNK as usize]);
        let client: &dyn ClientMem = &memory;
        let pages = UserPages::default();
        let (mut recent, mut fetch) = (Recent::default(), client);
        let window = (start, start + 3 * CHUNK);
        let edge = start + CHUNK - 3;
        assert!(pages.write(&mut recent, &mut fetch, place(edge, window), &[7; 130]));
        let mut back = [0u8; 132];
        assert!(pages.read(&mut recent, &mut fetch, place(edge - 1, window), &mut back));
        assert_eq!((back[0], back[1], back[130], back[131]), (1, 7, 7, 1));
        // The client stores beside it meanwhile, in the same pages.
        memory.poke(edge - 1, &[9]);
        memory.poke(edge + 130, &[9]);
        assert_eq!(pages.write_back(client), 0);
        let now = memory.peek(edge - 2, 134);
        assert_eq!((&now[..2], now[131], now[132], now[133]), (&[1u8, 9][..], 7, 9, 1));
        assert!(now[2..132].iter().all(|b| *b == 7));
    }

    #[test]
    fn user_pages_that_are_gone_are_not_there_and_their_neighbours_are() {
        let memory = FakeMemory::default();
        let start = 0x7f00_0000_0000u64;
        memory.map(start, PAGE, true, false);
        memory.map(start + 2 * PAGE, PAGE, true, false);
        let client: &dyn ClientMem = &memory;
        let pages = UserPages::default();
        let (mut recent, mut fetch) = (Recent::default(), client);
        let window = (start, start + 3 * PAGE);
        let mut byte = [0];
        let mut there =
            |page: u64| pages.read(&mut recent, &mut fetch, place(start + page * PAGE, window), &mut byte);
        assert_eq!([there(0), there(1), there(2)], [true, false, true]);
        assert!(pages.write(&mut recent, &mut fetch, place(start, window), &[5; 8]));
        memory.unmap(start);
        assert_eq!(pages.write_back(client), 8);
    }

    #[test]
    fn user_updates_return_the_old_value() {
        let memory = FakeMemory::default();
        memory.map(0x10_0000, PAGE, true, false);
        memory.poke(0x10_0010, &[5, 0, 0, 0]);
        let client: &dyn ClientMem = &memory;
        let pages = UserPages::default();
        let (mut recent, mut fetch) = (Recent::default(), client);
        let at = place(0x10_0010, (0x10_0000, 0x10_1000));
        let old = pages.update(&mut recent, &mut fetch, at, 4, &mut |old| Some(old + 1));
        assert_eq!(old, Some(5));
        assert_eq!(pages.write_back(client), 0);
        assert_eq!(memory.peek(0x10_0010, 4), [6, 0, 0, 0]);
    }
}
