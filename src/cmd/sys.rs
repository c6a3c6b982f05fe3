//! Mapping of input files: device binaries may be larger than memory should be.

use std::fs::File;

use memmap2::Mmap;

/// Maps a file for reading.
pub fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the mapping is private and only read, as bytes without any meaning to the type system. If another
    // process changes the file meanwhile, other bytes are read; if it cuts the file short, the process ends by SIGBUS.
    unsafe { Mmap::map(file) }
}
