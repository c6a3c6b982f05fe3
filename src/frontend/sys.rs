//! What the reproducers need of the operating system below the safe crates: host memory of a chosen kind, the page
//! cache's state, the inherited result descriptor, the C library's output buffers. The only unsafe code of the front
//! ends outside the driver's bindings.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::ptr::NonNull;

/// Host memory that is given back when dropped: a mapping, or memory of malloc's allocator.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    length: usize,
    writable: bool,
    from: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Mapped,
    Allocated,
}

// SAFETY: the region owns its memory, and nothing in it is tied to a thread.
unsafe impl Send for Region {}

impl Region {
    /// Maps the start of a file. A shared writable mapping needs a file opened for writing.
    pub fn map_file(file: &File, length: usize, shared: bool, writable: bool) -> Result<Self> {
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        Region::map(length, kind, writable, file.as_raw_fd())
    }

    /// Maps anonymous memory, writable; see [`Region::make_read_only`].
    pub fn map_anonymous(length: usize, shared: bool) -> Result<Self> {
        let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        Region::map(length, kind | libc::MAP_ANONYMOUS, true, -1)
    }

    fn map(length: usize, flags: i32, writable: bool, fd: RawFd) -> Result<Self> {
        if length == 0 {
            return Err(Error::new(ErrorKind::InvalidInput, "a mapping of no bytes"));
        }
        let prot = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: no address is asked for, so no existing mapping is touched; the result is checked below.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, prot, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| Error::other("mmap gave address 0"))?;
        Ok(Region { start, length, writable, from: Origin::Mapped })
    }

    /// Page-aligned memory from malloc's allocator; zeroed.
    pub fn allocate(length: usize) -> Result<Self> {
        let page = page_size();
        let length = length.max(1).next_multiple_of(page);
        // SAFETY: the alignment is a power of two and the length its multiple, as aligned_alloc asks.
        let start = unsafe { libc::aligned_alloc(page, length) };
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(Error::from(ErrorKind::OutOfMemory));
        };
        // SAFETY: `length` bytes were just allocated here, and nobody else knows them.
        unsafe { start.as_ptr().write_bytes(0, length) };
        Ok(Region { start, length, writable: true, from: Origin::Allocated })
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All bytes, for reading. Every region is readable for as long as it lives. (A file that is cut short under a
    /// mapping makes reads end in SIGBUS, as in any program: the harness's files do not change.)
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` and `length` describe readable memory that the region owns until it is dropped.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Writes `byte` to the first `length` bytes. A region that was mapped read-only stays as it is.
    pub fn fill(&mut self, byte: u8, length: usize) {
        if self.writable {
            // SAFETY: the memory is writable (make_read_only consumes the region), the range is clamped to it, and
            // `&mut self` means that no reference into it is alive.
            unsafe { self.start.as_ptr().write_bytes(byte, length.min(self.length)) }
        }
    }

    /// Takes the right to write away: `mprotect(PROT_READ)`.
    pub fn make_read_only(self) -> Result<ReadOnly> {
        self.protect(libc::PROT_READ)?;
        Ok(ReadOnly(self))
    }

    fn protect(&self, prot: i32) -> Result<()> {
        // SAFETY: the range is this region's own, whole pages; no reference into it is alive (`self` is borrowed).
        match unsafe { libc::mprotect(self.start.as_ptr().cast(), self.length, prot) } {
            0 => Ok(()),
            _ => Err(Error::last_os_error()),
        }
    }

    /// Pages of the first `length` bytes that are in memory: (pages, resident), by mincore(2).
    pub fn resident(&self, length: usize) -> Result<(u64, u64)> {
        let length = length.min(self.length);
        let mut state = vec![0u8; length.div_ceil(page_size())];
        // SAFETY: the range is inside this mapping and `state` has a byte for each of its pages.
        match unsafe { libc::mincore(self.start.as_ptr().cast(), length, state.as_mut_ptr()) } {
            0 => Ok((state.len() as u64, state.iter().filter(|byte| **byte & 1 == 1).count() as u64)),
            _ => Err(Error::last_os_error()),
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        match self.from {
            Origin::Mapped => {
                // SAFETY: the mapping is this region's own and nothing refers to it any more.
                unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
            }
            Origin::Allocated => {
                // The allocator writes into memory that it gets back.
                let _ = self.protect(libc::PROT_READ | libc::PROT_WRITE);
                // SAFETY: it came from aligned_alloc and is given back once.
                unsafe { libc::free(self.start.as_ptr().cast()) };
            }
        }
    }
}

/// A region that can no longer be written.
#[derive(Debug)]
pub struct ReadOnly(Region);

impl ReadOnly {
    pub fn region(&self) -> &Region {
        &self.0
    }
}

pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

/// The inherited descriptor `fd`, if it is open. To be called once for one descriptor, before others are opened.
pub fn inherited(fd: RawFd) -> Result<File> {
    // SAFETY: F_GETFD changes nothing; an invalid number gives an error.
    if fd < 3 || unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return Err(Error::new(
            ErrorKind::InvalidInput,
            format!("descriptor {fd} is not an open one above 2"),
        ));
    }
    // SAFETY: the descriptor is open, was named for this purpose by whoever started the process, and has no other
    // owner in it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Makes C's stdout line-buffered: the driver prints with printf, and into a pipe that would come in blocks, long
/// after the lines of this program that it belongs between.
pub fn line_buffer_c_stdout() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: called before any thread of the driver exists; no buffer is handed over, so none must outlive the call.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

/// Writes out what C's streams hold back.
pub fn flush_c_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Ends the process at once, running nothing of the driver's: it may hold locks that would never come free.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn regions_hold_what_is_written_and_survive_protection() {
        for mut region in [
            Region::allocate(10_000).unwrap(),
            Region::map_anonymous(8192, false).unwrap(),
            Region::map_anonymous(4096, true).unwrap(),
        ] {
            region.fill(7, 5000);
            assert_eq!(region.bytes()[..4096], [7; 4096]);
            let fixed = region.make_read_only().unwrap();
            assert_eq!(fixed.region().bytes()[0], 7);
        }
    }

    #[test]
    fn a_read_only_region_is_not_writable() {
        let mut region = Region::map_anonymous(4096, false).unwrap();
        region.fill(1, 4096);
        let address = region.start.as_ptr() as usize;
        let region = region.make_read_only().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let inside = |line: &&str| {
            let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
            let at = |text| usize::from_str_radix(text, 16).unwrap();
            (at(start)..at(end)).contains(&address)
        };
        let line = maps.lines().find(inside).unwrap();
        assert!(line.split(' ').nth(1).unwrap().starts_with("r--"), "{line}");
        drop(region);
    }

    #[test]
    fn file_mappings_show_the_file_and_its_pages() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[3; 12288]).unwrap();
        for (shared, writable) in [(false, false), (false, true), (true, false), (true, true)] {
            let region = Region::map_file(&file, 12288, shared, writable).unwrap();
            assert_eq!(region.bytes()[12287], 3);
            assert_eq!(region.resident(12288).unwrap(), (3, 3), "just read");
        }
        assert!(Region::map_file(&file, 0, false, false).is_err());
    }

    #[test]
    fn only_an_open_descriptor_is_taken() {
        assert!(inherited(-1).is_err());
        assert!(inherited(1).is_err());
        assert!(inherited(9999).is_err());
    }
}
