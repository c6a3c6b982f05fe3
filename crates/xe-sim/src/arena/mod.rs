//! The one sparse memory behind all buffer objects.
//!
//! A memfd that the supervisor maps once and that every client maps through its device descriptor: the offset that
//! `GEM_MMAP_OFFSET` returns is an offset in this file. Pages that nobody touched cost nothing, and every block
//! handed out reads as zeros. A fresh block has no pages; a recycled one of 2 MiB and more has large ones where the
//! kernel makes them, so that a client which maps it anew has one page fault where it would have had 512.

mod extent;
mod scrub;
mod sys;

use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use extent::Extents;
use scrub::{Block, Scrubber};

/// Granularity of blocks, bytes: the page size that DG2's local memory needs.
pub const BLOCK: u64 = 64 << 10;
/// A large page of x86-64, bytes: a block from this size on has all pages that it touches for itself.
const LARGE_PAGE: u64 = 2 << 20;

/// Who touches a block first. Blocks are recycled among their kind: what clients had mapped has its pages, which are worth
/// most to the next client; an object that only the device uses is often never touched at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    Client,
    Device,
}

/// A stretch of arena memory, shared with running clients (its bytes may change under the reader).
pub struct Span<'a> {
    at: *mut u8,
    len: u64,
    _arena: PhantomData<&'a ()>,
}

impl Span<'_> {
    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The arena and its allocator. Offsets and lengths are bytes.
pub struct Arena {
    map: Arc<sys::Mapping>,
    extents: Extents,
    scrubber: Scrubber,
}

impl Arena {
    /// Makes an arena of `bytes` (rounded down to 64 KiB); nothing of it is resident yet. Fails as memfd_create, mmap
    /// and thread creation do.
    pub fn new(bytes: u64) -> io::Result<Arena> {
        let bytes = bytes / BLOCK * BLOCK;
        let map = Arc::new(sys::Mapping::new(bytes)?);
        // Offset 0 is never handed out: clients may take it for "no offset".
        let extents = Extents::new(BLOCK, bytes);
        let scrubber = Scrubber::start(Arc::clone(&map))?;
        Ok(Arena { map, extents, scrubber })
    }

    /// The memfd, for the descriptors that clients get.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.map.fd()
    }

    pub fn bytes(&self) -> u64 {
        self.map.bytes()
    }

    /// A block of at least `bytes` that reads as zeros; `None` when the arena is full.
    ///
    /// Prefers a recycled block of the same size and use: its pages are resident already, which is what makes many
    /// short-lived objects cheap.
    pub fn alloc(&mut self, bytes: u64, by: Use) -> Option<u64> {
        let size = block_size(bytes)?;
        if let Some(offset) = self.scrubber.take(size, by) {
            return Some(offset);
        }
        self.scrubber.drain_punched(&mut self.extents);
        if let Some(offset) = self.extents.take(extent(size), alignment(size)) {
            return Some(offset);
        }
        self.scrubber.give_back_all(&mut self.extents);
        self.extents.take(extent(size), alignment(size))
    }

    /// Returns the block that `alloc(bytes)` gave; `by` is who may have touched it. Its contents are wiped on a helper
    /// thread before it is reused.
    pub fn free(&mut self, offset: u64, bytes: u64, by: Use) {
        if let Some(size) = block_size(bytes) {
            self.scrubber.recycle(Block { offset, size, by });
        }
    }

    /// Fills `buf` from the arena. False, with nothing read, when the range is not inside.
    pub fn read(&self, offset: u64, buf: &mut [u8]) -> bool {
        self.map.read(offset, buf)
    }

    pub fn write(&self, offset: u64, buf: &[u8]) -> bool {
        self.map.write(offset, buf)
    }

    /// memmove inside the arena. Much that does not overlap goes over two of the host's cores.
    pub fn copy(&self, src: u64, dst: u64, len: u64) -> bool {
        if len < LARGE_PAGE || src.abs_diff(dst) < len {
            return self.map.copy(src, dst, len);
        }
        let half = len / 2 / BLOCK * BLOCK;
        let (first, second) = rayon::join(
            || self.map.copy(src, dst, half),
            || self.map.copy(src.saturating_add(half), dst.saturating_add(half), len - half),
        );
        first && second
    }

    pub fn fill(&self, offset: u64, len: u64, byte: u8) -> bool {
        self.map.fill(offset, len, byte)
    }

    /// Replaces the `size` bytes (2, 4 or 8) at `offset` by what `update` makes of them, or leaves them for `None`, in
    /// one step: clients and other threads may do the same at the same moment, and `update` is asked again if they did.
    /// Returns the old value; `None` where `offset` is no multiple of `size`, or the range not inside.
    pub fn update(
        &self,
        offset: u64,
        size: usize,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        self.map.update(offset, size, update)
    }

    /// For system calls that move bytes between the arena and a client.
    pub fn span(&self, offset: u64, len: u64) -> Option<Span<'_>> {
        self.map.span(offset, len)
    }
}

fn alignment(size: u64) -> u64 {
    if size >= LARGE_PAGE { LARGE_PAGE } else { BLOCK }
}

fn block_size(bytes: u64) -> Option<u64> {
    if bytes == 0 {
        return None;
    }
    // Never so large that the extent around it would not be a number.
    bytes.checked_next_multiple_of(BLOCK).filter(|size| *size <= u64::MAX / 2)
}

/// Bytes of the arena that a block of this size takes.
fn extent(size: u64) -> u64 {
    if size < LARGE_PAGE { size } else { size.next_multiple_of(LARGE_PAGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arena_recycled_block_is_zero() {
        let mut arena = Arena::new(64 << 20).expect("arena");
        // Small and large: wiped in place and given back to the kernel.
        for size in [4096u64, 3 << 20, 40 << 20] {
            for round in 0..4 {
                let at = arena.alloc(size, Use::Client).expect("room");
                let mut buf = vec![1; size as usize];
                assert!(arena.read(at, &mut buf));
                assert!(buf.iter().all(|b| *b == 0), "size {size}, round {round}");
                assert!(arena.fill(at, size, 0xa5));
                arena.free(at, size, Use::Client);
            }
        }
    }

    #[test]
    fn arena_full_gives_none_and_freeing_gives_room_again() {
        let mut arena = Arena::new(BLOCK * 9).expect("arena");
        let blocks: Vec<u64> = std::iter::from_fn(|| arena.alloc(BLOCK, Use::Device)).collect();
        assert_eq!(blocks.len(), 8, "the first block is never used");
        assert!(arena.alloc(1, Use::Client).is_none());
        for b in &blocks {
            arena.free(*b, BLOCK, Use::Device);
        }
        assert!(arena.alloc(8 * BLOCK, Use::Client).is_some(), "neighbours join");
    }

    #[test]
    fn arena_access_outside_is_refused() {
        let arena = Arena::new(BLOCK).expect("arena");
        assert!(!arena.write(BLOCK - 4, &[0; 8]));
        assert!(!arena.read(u64::MAX, &mut [0; 1]));
        assert!(arena.span(0, BLOCK + 1).is_none());
        assert!(arena.span(0, BLOCK).is_some_and(|s| s.len() == BLOCK));
    }
}
