//! The mapping of the arena's memfd: the only place of the device half that touches shared memory by pointer.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use super::{LARGE_PAGE, Span};

const PAGE: u64 = 4096;

/// One `MAP_SHARED | MAP_NORESERVE` mapping of a memfd at a multiple of a large page, unmapped on drop.
pub(super) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    fd: OwnedFd,
    _room: Room,
}

/// Address space: a reservation that the mapping lies in.
struct Room {
    at: *mut u8,
    len: usize,
}

impl Room {
    fn new(len: usize) -> io::Result<Room> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing; the result is checked.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Room { at: at.cast(), len }) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mmap in `new`; what was mapped inside is owned with it, and
        // `Span`s borrow that owner, so none is left.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

// SAFETY: the mapping is plain shared memory owned by this value; all access goes through raw-pointer copies below,
// which never form references to its bytes, so threads (and client processes) may touch it at the same time with no
// worse outcome than torn data.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn new(bytes: u64) -> io::Result<Mapping> {
        use nix::fcntl::{FcntlArg, SealFlag};
        use nix::sys::memfd::{MFdFlags, memfd_create};
        let len = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let fd = memfd_create(c"xe-sim", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        let size = i64::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
        nix::unistd::ftruncate(&fd, size)?;
        // A client that truncated its device descriptor would take the memory away under the device's feet (SIGBUS).
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        nix::fcntl::fcntl(&fd, FcntlArg::F_ADD_SEALS(seals))?;
        let large = LARGE_PAGE as usize;
        let room =
            Room::new(len.checked_add(large).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?)?;
        let before = (room.at as usize).next_multiple_of(large) - room.at as usize;
        // SAFETY: before < large, so the result is inside the room, with at least `len` bytes behind it.
        let at = unsafe { room.at.add(before) };
        // SAFETY: the fixed address lies with all `len` bytes in the room just reserved, which nobody else uses; the
        // descriptor is valid, and the result is checked.
        let base = unsafe {
            libc::mmap(
                at.cast(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED,
                fd.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base: NonNull<u8> =
            NonNull::new(base.cast()).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        Ok(Mapping { base, bytes: len, fd, _room: room })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// The address of `offset`, if `len` bytes from there lie inside.
    fn at(&self, offset: u64, len: u64) -> Option<*mut u8> {
        if offset.checked_add(len)? > self.bytes as u64 {
            return None;
        }
        // SAFETY: offset <= bytes, so the result stays inside the mapping (or one past its end).
        Some(unsafe { self.base.as_ptr().add(offset as usize) })
    }

    /// False when the range is not inside the arena.
    pub(super) fn read(&self, offset: u64, buf: &mut [u8]) -> bool {
        let Some(src) = self.at(offset, buf.len() as u64) else { return false };
        // SAFETY: `src` is valid for buf.len() bytes (checked by `at`); `buf` is private memory of ours, so the two
        // cannot overlap.
        unsafe { std::ptr::copy_nonoverlapping(src, buf.as_mut_ptr(), buf.len()) };
        true
    }

    pub(super) fn write(&self, offset: u64, buf: &[u8]) -> bool {
        let Some(dst) = self.at(offset, buf.len() as u64) else { return false };
        // SAFETY: as in `read`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(buf.as_ptr(), dst, buf.len()) };
        true
    }

    /// memmove inside the arena.
    pub(super) fn copy(&self, src: u64, dst: u64, len: u64) -> bool {
        let (Some(s), Some(d)) = (self.at(src, len), self.at(dst, len)) else { return false };
        // SAFETY: both ranges were checked; `copy` allows overlap.
        unsafe { std::ptr::copy(s, d, len as usize) };
        true
    }

    /// See [`super::Arena::update`].
    pub(super) fn update(
        &self,
        offset: u64,
        size: usize,
        update: &mut dyn FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};
        let at = self.at(offset, size as u64)?;
        if !offset.is_multiple_of(size as u64) {
            return None;
        }
        macro_rules! swap {
            ($atomic:ident, $word:ty) => {{
                // SAFETY: `at` is valid for `size` bytes (checked by `at()`) as long as `self` lives, and aligned: the
                // mapping starts on a page and the offset is a multiple of the size. No reference to the bytes exists
                // anywhere, and whoever else touches them does so as another process would.
                let word = unsafe { $atomic::from_ptr(at.cast::<$word>()) };
                let mut old = word.load(Relaxed);
                while let Some(new) = update(u64::from(old)) {
                    match word.compare_exchange_weak(old, new as $word, Relaxed, Relaxed) {
                        Ok(_) => break,
                        Err(now) => old = now,
                    }
                }
                Some(u64::from(old))
            }};
        }
        match size {
            2 => swap!(AtomicU16, u16),
            4 => swap!(AtomicU32, u32),
            8 => swap!(AtomicU64, u64),
            _ => None,
        }
    }

    pub(super) fn fill(&self, offset: u64, len: u64, byte: u8) -> bool {
        let Some(dst) = self.at(offset, len) else { return false };
        // SAFETY: range checked.
        unsafe { std::ptr::write_bytes(dst, byte, len as usize) };
        true
    }

    /// Writes zeros to the pages of a page-aligned range that are in memory; the others are holes and read as zeros.
    pub(super) fn wipe_resident(&self, offset: u64, len: u64) {
        self.for_resident(offset, len, |from, len| {
            self.fill(from, len, 0);
        });
    }

    /// Bytes of a page-aligned range that are in memory.
    pub(super) fn resident(&self, offset: u64, len: u64) -> u64 {
        let mut bytes = 0;
        self.for_resident(offset, len, |_, len| bytes += len);
        bytes
    }

    /// Calls `each` with the resident stretches (offset, length) of a page-aligned range. Where the kernel does not say,
    /// all is taken for resident.
    fn for_resident(&self, offset: u64, len: u64, mut each: impl FnMut(u64, u64)) {
        const CHUNK: u64 = 4 << 20;
        let mut pages = [0u8; (CHUNK / PAGE) as usize];
        let mut done = 0;
        while done < len {
            let n = CHUNK.min(len - done);
            let Some(at) = self.at(offset + done, n) else { return };
            // SAFETY: `at` is page aligned and valid for `n` bytes; `pages` holds one byte for each page of `n`.
            let known = unsafe { libc::mincore(at.cast(), n as usize, pages.as_mut_ptr().cast()) } == 0;
            let count = n.div_ceil(PAGE) as usize;
            let mut page = 0;
            while page < count {
                let resident = |p: usize| !known || pages.get(p).is_some_and(|b| b & 1 != 0);
                let start = page;
                while page < count && resident(page) {
                    page += 1;
                }
                if page > start {
                    let from = start as u64 * PAGE;
                    each(offset + done + from, (page as u64 * PAGE).min(n) - from);
                }
                page += 1;
            }
            done += n;
        }
    }

    /// Makes a range of whole large pages resident as large pages, whatever `shmem_enabled` says; its contents stay. False
    /// where the kernel does not do that (before 6.1, memory in pieces): the range is as good as before, but slower.
    pub(super) fn make_large(&self, offset: u64, len: u64) -> bool {
        let Some(at) = self.at(offset, len) else { return false };
        // The kernel makes nothing of a large page's place where there is no page at all.
        for page in (0..len).step_by(LARGE_PAGE as usize) {
            // SAFETY: page < len, and `at` is valid for `len` bytes. Volatile: it is the page fault that is wanted.
            unsafe { at.add(page as usize).read_volatile() };
        }
        // SAFETY: the range is inside the mapping (checked by `at`); the call does not change its contents.
        unsafe { libc::madvise(at.cast(), len as usize, libc::MADV_COLLAPSE) == 0 }
    }

    /// Frees the pages of a range; false when the kernel refuses.
    pub(super) fn punch(&self, offset: u64, len: u64) -> bool {
        use nix::fcntl::{FallocateFlags, fallocate};
        let (Ok(offset), Ok(len)) = (i64::try_from(offset), i64::try_from(len)) else { return false };
        let mode = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(&self.fd, mode, offset, len).is_ok()
    }

    pub(super) fn span(&self, offset: u64, len: u64) -> Option<Span<'_>> {
        let at = self.at(offset, len)?;
        Some(Span { at, len, _arena: std::marker::PhantomData })
    }
}

impl Span<'_> {
    /// For `process_vm_readv`/`process_vm_writev` and the like.
    ///
    /// The memory may change under the reader at any time: use it for system calls only, never build a reference.
    pub(crate) fn as_iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.at.cast(), iov_len: self.len as usize }
    }

    /// Copies `bytes` into the span, as far as both reach. For fakes that have no system call at hand.
    pub fn store(&self, bytes: &[u8]) {
        let n = bytes.len().min(self.len as usize);
        // SAFETY: the span is valid for `len` bytes while its arena is borrowed; `bytes` is private memory of ours.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at, n) };
    }

    /// Copies the span into `bytes`, as far as both reach.
    pub fn load(&self, bytes: &mut [u8]) {
        let n = bytes.len().min(self.len as usize);
        // SAFETY: as in `store`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(self.at, bytes.as_mut_ptr(), n) };
    }
}
