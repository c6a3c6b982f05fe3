//! What the device may know of its clients, and the one way it reaches their memory.
//!
//! The device never sees a file descriptor, a path or a `/proc` entry; the trap layer provides them.

/// A client process (thread group), as the trap layer numbers it: the Linux tgid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// One open file description of the device node. `dup` and `fork` share it, a second `open` gets another: the
/// kernel's `struct drm_file`, which owns GEM handles, VMs and exec queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// A Linux errno, positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

/// Who issued a request.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub file: FileId,
    pub process: ProcessId,
    pub thread: u32,
}

/// What a user-pointer bind asks of the pages, as `hmm_range_fault` is asked by xe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `DRM_XE_VM_BIND_FLAG_READONLY`: readable pages suffice.
    Read,
    /// Everything else: a page in a VMA without `VM_WRITE` is -EPERM (`mm/hmm.c`, `hmm_vma_fault`).
    Write,
}

/// The memory of client processes. Addresses are CPU virtual addresses of `process`.
///
/// Errors are what the kernel's `copy_from_user` / `hmm_range_fault` would give: `EFAULT`, `EPERM`.
pub trait ClientMem {
    /// Fills `buf` from `addr`, or fails with nothing promised about `buf`.
    fn read(&self, process: ProcessId, addr: u64, buf: &mut [u8]) -> Result<(), Errno>;
    /// Writes all of `buf` at `addr`, or fails.
    fn write(&self, process: ProcessId, addr: u64, buf: &[u8]) -> Result<(), Errno>;
    /// Writes every piece at its address, with as few system calls as it can; all or an error.
    fn write_pieces(&self, process: ProcessId, pieces: &[(u64, &[u8])]) -> Result<(), Errno> {
        pieces.iter().try_for_each(|(addr, bytes)| self.write(process, *addr, bytes))
    }
    /// The kernel's check of a user-pointer range before it is bound. `len` in bytes, both page aligned.
    fn check_range(&self, process: ProcessId, addr: u64, len: u64, access: Access) -> Result<(), Errno>;
    /// Fills the arena's `dst` from client memory with no buffer in between (one `process_vm_readv`).
    fn read_into(&self, process: ProcessId, addr: u64, dst: &crate::arena::Span<'_>) -> Result<(), Errno>;
    /// The other way round (one `process_vm_writev`).
    fn write_from(&self, process: ProcessId, addr: u64, src: &crate::arena::Span<'_>) -> Result<(), Errno>;
    /// Whether the page at `addr` belongs to a mapping of a file (for fault rules that select on it).
    fn is_file(&self, process: ProcessId, addr: u64) -> bool {
        let _ = (process, addr);
        false
    }
    /// Ranges (offset, length in bytes) of the arena's memfd that any client process still has mapped: the memory of
    /// a closed BO is not reused before its last mapping is gone. `None`: not known, nothing is held back.
    fn arena_mappings(&self) -> Option<Vec<(u64, u64)>> {
        None
    }
}

/// Answer to one ioctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Done(i64),
    Failed(Errno),
    /// The caller sleeps (WAIT_USER_FENCE). The device reports the end through [`crate::device::Device::advance`].
    Parked(WaitId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitId(pub u64);

/// How the client's main process ended. Both absent: the supervisor was stopped first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientExit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}
