//! The one sparse memory behind all buffer objects.
//!
//! A memfd that the supervisor maps once and that every client maps through its device descriptor: the offset that
//! `GEM_MMAP_OFFSET` returns is an offset in this file. Pages that nobody touched cost nothing.

mod sys;

use std::io;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

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

pub struct Arena {
    map: Arc<sys::Mapping>,
}

impl Arena {
    /// Makes an arena of `bytes` (rounded up to 64 KiB); nothing of it is resident yet.
    pub fn new(bytes: u64) -> io::Result<Arena> {
        let map = Arc::new(sys::Mapping::new(bytes)?);
        Ok(Arena { map })
    }

    /// The memfd, for the descriptors that clients get.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.map.fd()
    }
}
