//! The system calls that the test clients make, as a driver makes them.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An ioctl with a pointer argument; the errno as error.
pub fn ioctl(fd: i32, request: u32, arg: *mut u8) -> Result<i32, i32> {
    // SAFETY: the tests pass either a buffer as large as the request says or, on purpose, an address that the
    // kernel (or its model) must refuse.
    let r = unsafe { libc::ioctl(fd, request as libc::c_ulong, arg) };
    if r < 0 { Err(errno()) } else { Ok(r) }
}

pub fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// open(2) by path; the errno as error.
pub fn open(path: &CStr, flags: i32) -> Result<OwnedFd, i32> {
    open_at(libc::AT_FDCWD, path, flags)
}

pub fn open_at(dir: i32, path: &CStr, flags: i32) -> Result<OwnedFd, i32> {
    // SAFETY: a C string; the result is a new descriptor.
    unsafe {
        let fd = libc::openat(dir, path.as_ptr(), flags);
        if fd < 0 { Err(errno()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// openat(2) with a null path.
pub fn open_null() -> Result<OwnedFd, i32> {
    // SAFETY: the kernel refuses a null path with EFAULT.
    unsafe {
        let fd = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, std::ptr::null::<u8>(), 0);
        if fd < 0 { Err(errno()) } else { Ok(OwnedFd::from_raw_fd(fd as i32)) }
    }
}

/// Maps memory, page aligned; panics if the kernel refuses.
pub fn map(len: usize, prot: i32, flags: i32, fd: i32, offset: u64) -> *mut u8 {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let p = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd, offset as i64) };
    assert_ne!(p, libc::MAP_FAILED, "mmap: {}", io::Error::last_os_error());
    p.cast()
}

/// Maps a file shared over part of a mapping that `map` gave.
pub fn map_at(at: *mut u8, len: usize, fd: i32, offset: u64) {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
    // SAFETY: the caller owns the `len` bytes at `at` and has nothing there.
    let p = unsafe { libc::mmap(at.cast(), len, prot, flags, fd, offset as i64) };
    assert_eq!(p, at.cast(), "mmap: {}", io::Error::last_os_error());
}

pub fn unmap(at: *mut u8, len: usize) {
    // SAFETY: the tests unmap what `map` gave and use it no more.
    unsafe { libc::munmap(at.cast(), len) };
}

/// memcpy between two mappings.
pub fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller maps `len` bytes at both places, which do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

pub fn poke(at: *mut u8, value: u64) {
    // SAFETY: the tests poke into writable mappings of theirs, eight-byte aligned.
    unsafe { at.cast::<u64>().write_volatile(value) };
}

pub fn peek(at: *mut u8) -> u64 {
    // SAFETY: as `poke`.
    unsafe { at.cast::<u64>().read_volatile() }
}

/// Runs `child` in a forked process and gives its pid.
pub fn fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the clients that fork have one thread besides the idle main thread of the test harness.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(child()),
            pid => pid,
        }
    }
}

/// The raw status of a child.
pub fn wait(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: the status is writable.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status
}

pub fn kill_thread(pid: i32, tid: i32, signal: i32) {
    // SAFETY: integers only.
    unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) };
}

pub fn kill(pid: i32, signal: i32) {
    // SAFETY: integers only.
    unsafe { libc::kill(pid, signal) };
}

/// A handler without SA_RESTART that adds to a counter.
pub fn count_signal(signal: i32) {
    extern "C" fn handler(_: i32) {
        super::SIGNALS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    // SAFETY: a zeroed sigaction with a handler that only touches an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as extern "C" fn(i32) as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

pub fn gettid() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::gettid() }
}

pub fn dup(fd: &OwnedFd, close_on_exec: bool) -> OwnedFd {
    let command = if close_on_exec { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
    // SAFETY: integers only; the result is a new descriptor.
    unsafe {
        let copy = libc::fcntl(fd.as_raw_fd(), command, 3);
        assert!(copy >= 0);
        OwnedFd::from_raw_fd(copy)
    }
}

/// A descriptor that exec has left to us.
pub fn inherited(fd: i32) -> OwnedFd {
    // SAFETY: the test passed the number of a descriptor that it left open for this process.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

pub fn stat(path: &CStr) -> libc::stat {
    // SAFETY: a C string and a writable structure.
    unsafe {
        let mut out: libc::stat = std::mem::zeroed();
        assert_eq!(libc::stat(path.as_ptr(), &raw mut out), 0, "stat: {}", io::Error::last_os_error());
        out
    }
}

pub fn fstat(fd: i32) -> libc::stat {
    // SAFETY: a writable structure.
    unsafe {
        let mut out: libc::stat = std::mem::zeroed();
        assert_eq!(libc::syscall(libc::SYS_fstat, fd, &raw mut out), 0);
        out
    }
}

/// newfstatat(2) on the descriptor itself, as glibc's fstat does it.
pub fn fstat_at(fd: i32) -> libc::stat {
    // SAFETY: an empty C string and a writable structure.
    unsafe {
        let mut out: libc::stat = std::mem::zeroed();
        let r = libc::syscall(libc::SYS_newfstatat, fd, c"".as_ptr(), &raw mut out, libc::AT_EMPTY_PATH);
        assert_eq!(r, 0);
        out
    }
}

pub fn statx(dir: i32, path: &CStr, flags: i32) -> libc::statx {
    // SAFETY: a C string and a writable structure.
    unsafe {
        let mut out: libc::statx = std::mem::zeroed();
        let r = libc::statx(dir, path.as_ptr(), flags, libc::STATX_BASIC_STATS, &raw mut out);
        assert_eq!(r, 0, "statx: {}", io::Error::last_os_error());
        out
    }
}

pub fn access(path: &CStr, mode: i32) -> Result<(), i32> {
    // SAFETY: a C string.
    if unsafe { libc::access(path.as_ptr(), mode) } == 0 { Ok(()) } else { Err(errno()) }
}

/// Asks for an extended attribute as `ls -l` does; bytes of its value.
pub fn attribute(path: &CStr, follow: bool) -> Result<usize, i32> {
    let name = c"system.posix_acl_access";
    let call = if follow { libc::getxattr } else { libc::lgetxattr };
    // SAFETY: C strings; no room is given, so nothing is written.
    let r = unsafe { call(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
    usize::try_from(r).map_err(|_| errno())
}

/// Bytes of the list of all extended attributes' names.
pub fn attributes(path: &CStr, follow: bool) -> Result<usize, i32> {
    let call = if follow { libc::listxattr } else { libc::llistxattr };
    // SAFETY: a C string; no room is given, so nothing is written.
    let r = unsafe { call(path.as_ptr(), std::ptr::null_mut(), 0) };
    usize::try_from(r).map_err(|_| errno())
}

/// getpid by the 32-bit system call gate; the result as the kernel leaves it.
pub fn getpid_32() -> i32 {
    let result: i32;
    // SAFETY: int 0x80 with getpid's number (20) reads no memory; a kernel without 32-bit calls raises SIGSEGV,
    // which is why the test makes the call in a child. rbx is not touched.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("eax") 20 => result, out("r8") _, out("r9") _, out("r10") _,
            out("r11") _, options(nostack));
    }
    result
}

/// Sends one descriptor over a socket.
pub fn send_fd(socket: i32, fd: i32) {
    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
    let fds = [fd];
    let rights = [ControlMessage::ScmRights(&fds)];
    sendmsg::<()>(socket, &[io::IoSlice::new(b"x")], &rights, MsgFlags::empty(), None).unwrap();
}

pub fn receive_fd(socket: i32) -> OwnedFd {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    let mut byte = [0u8; 1];
    let mut space = nix::cmsg_space!(std::os::fd::RawFd);
    let mut iov = [io::IoSliceMut::new(&mut byte)];
    let message = recvmsg::<()>(socket, &mut iov, Some(&mut space), MsgFlags::empty()).unwrap();
    let mut rights = message.cmsgs().unwrap();
    match rights.next() {
        // SAFETY: the kernel has just installed this descriptor for us.
        Some(ControlMessageOwned::ScmRights(fds)) => unsafe { OwnedFd::from_raw_fd(fds[0]) },
        other => panic!("{other:?}"),
    }
}
