//! The bare loop's mappings.

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapMut, MmapOptions};

/// A read-only mapping of all of `file`.
pub fn source(file: &File) -> io::Result<Mmap> {
    // SAFETY: the file has no name; only this process, which does not change it any more, has it.
    unsafe { Mmap::map(file) }
}

/// A shared, writable mapping of `len` bytes of `file` from `offset` on.
pub fn target(file: &File, offset: u64, len: usize) -> io::Result<MmapMut> {
    // SAFETY: as above; one mapping of it lives at a time.
    unsafe { MmapOptions::new().offset(offset).len(len).map_mut(file) }
}
