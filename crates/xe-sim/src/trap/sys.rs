//! System calls that neither std nor nix offers in the form needed here: the only unsafe code of the trap half.
//!
//! Sources: `linux/seccomp.h`, `linux/kcmp.h`, `linux/fs.h` (PROCMAP_QUERY), `process_vm_readv(2)`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_void};

use crate::arena::Span;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h`: the reply wakes the client on this CPU (Linux 6.6).
const SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: u64 = 1;
const KCMP_FILE: c_long = 0;
/// `_IOWR(0x66, 17, struct procmap_query)`, Linux 6.11.
const PROCMAP_QUERY: u64 = 0xc068_6611;
/// The most that one `process_vm_*` call moves (`MAX_RW_COUNT` for 4 KiB pages).
const MAX_TRANSFER: usize = 0x7fff_f000;

fn check(r: c_long) -> io::Result<c_long> {
    if r < 0 { Err(io::Error::last_os_error()) } else { Ok(r) }
}

/// Sets no_new_privs and installs `filter` on the calling thread; returns the listener (close-on-exec).
///
/// Async-signal-safe: no allocation. Waits are killable only, where the kernel can (5.19): once a request has been
/// taken it is not started twice because of a signal.
pub(super) fn install_filter(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    // SAFETY: plain prctl with integer arguments.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    let len = u16::try_from(filter.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let prog = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut() };
    let install = |flags: u64| {
        // SAFETY: `prog` points at `len` instructions that live through the call; the kernel copies and does not
        // write them.
        check(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const prog)
        })
    };
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let fd = match install(listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => install(listener)?,
        other => other?,
    };
    // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Whether the kernel knows a seccomp filter flag: it checks flags before the (null) program, hence EFAULT.
pub(super) fn filter_flag_known(flags: u64) -> bool {
    // SAFETY: a null program is refused with EFAULT and nothing is installed.
    let r = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::null::<libc::sock_fprog>(),
        )
    };
    r < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Asks that the process gets `SIGKILL` when the thread that made it dies; fails if that has happened already.
///
/// Async-signal-safe.
pub(super) fn die_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: plain prctl with integer arguments.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }.into())?;
    // SAFETY: getppid has no preconditions.
    if unsafe { libc::getppid() } as u32 == parent {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Gives the calling thread the signal state that a program expects at its start: this mask, and SIGPIPE not ignored
/// (the Rust runtime ignores it, and an ignored signal stays ignored over exec). Async-signal-safe.
pub(super) fn prepare_signals(mask: &libc::sigset_t) {
    // SAFETY: a valid mask and a disposition without a handler; neither call can fail with these arguments.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

/// Niceness of thread `tid`; 0 is this one.
pub(super) fn niceness(tid: u32) -> io::Result<i32> {
    // SAFETY: integers only. The system call answers 20 - niceness, so that no answer is negative (getpriority(2)).
    let answer =
        unsafe { libc::syscall(libc::SYS_getpriority, c_long::from(libc::PRIO_PROCESS), c_long::from(tid)) };
    Ok(20 - check(answer)? as i32)
}

/// Gives thread `tid` a niceness; 0 is this one.
pub(super) fn set_niceness(tid: u32, nice: i32) -> io::Result<()> {
    // SAFETY: integers only.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS, tid, nice) }.into()).map(drop)
}

/// The calling thread's timer slack, ns.
pub(super) fn timer_slack() -> u64 {
    // SAFETY: plain prctl.
    u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }).unwrap_or(0)
}

/// Sets the calling thread's timer slack in ns; 0 is the default. Async-signal-safe.
pub(super) fn set_timer_slack(ns: u64) {
    // SAFETY: plain prctl; failure leaves the slack as it was, which is only slower.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// Sends one descriptor with one byte of payload. Async-signal-safe: no allocation.
pub(super) fn send_fd(socket: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = 0u8;
    let mut iov = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0u64; 4];
    // SAFETY: all-zero is a valid msghdr.
    let mut msg: libc::msghdr = unsafe { std::mem::zeroed() };
    msg.msg_iov = &raw mut iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE is arithmetic only.
    msg.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<c_int>() as u32) } as usize;
    // SAFETY: `control` is aligned for cmsghdr and 32 bytes long, CMSG_SPACE(4) = 24; the header is therefore in
    // bounds, and so are the four bytes after it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const msg);
        if header.is_null() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
        std::ptr::write_unaligned(libc::CMSG_DATA(header).cast::<c_int>(), fd.as_raw_fd());
    }
    // SAFETY: `msg` points at live buffers.
    check(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const msg, 0) } as c_long).map(drop)
}

/// Takes one notification; `None` if the caller died between poll and here.
pub(super) fn notif_recv(listener: BorrowedFd<'_>) -> io::Result<Option<libc::seccomp_notif>> {
    // SAFETY: plain integers; the kernel demands a zeroed structure.
    let mut notif: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is as large as the request number says, and writable.
    let r = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV as _, &raw mut notif) };
    match check(r.into()) {
        Ok(_) => Ok(Some(notif)),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => Ok(None),
        Err(e) => Err(e),
    }
}

pub(super) fn notif_send(listener: BorrowedFd<'_>, resp: &libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the kernel copies the structure; its size is encoded in the request number.
    let r =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND as _, resp as *const _) };
    check(r.into()).map(drop)
}

pub(super) fn notif_id_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the kernel reads eight bytes.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _, &raw const id) == 0 }
}

/// Puts a copy of `fd` into the caller's table and answers its call with the new number, in one step.
pub(super) fn notif_addfd_send(
    listener: BorrowedFd<'_>,
    id: u64,
    fd: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<i32> {
    let add = libc::seccomp_notif_addfd {
        id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: fd.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    // SAFETY: the kernel copies the structure; its size is encoded in the request number.
    let r =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD as _, &raw const add) };
    check(r.into()).map(|fd| fd as i32)
}

/// Replies wake the client on this CPU, or where the scheduler likes; false where the kernel has no choice (before 6.6).
pub(super) fn notif_wake_here(listener: BorrowedFd<'_>, here: bool) -> bool {
    let flags = if here { SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP } else { 0 };
    // SAFETY: the flags are passed by value.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as _, flags) == 0 }
}

/// Whether descriptor `fd` of thread `tid` and our `ours` are one open file description.
pub(super) fn same_file(tid: u32, fd: i32, own_pid: u32, ours: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: kcmp takes integers only.
    check(unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            c_long::from(tid),
            c_long::from(own_pid),
            KCMP_FILE,
            c_long::from(fd),
            c_long::from(ours.as_raw_fd()),
        )
    })
    .map(|order| order == 0)
}

/// Whether thread `tid` exists and belongs to process `pid`.
pub(super) fn is_thread_of(pid: u32, tid: u32) -> bool {
    // SAFETY: signal 0 is a check and delivers nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, c_long::from(pid), c_long::from(tid), 0 as c_long) == 0 }
}

pub(super) fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: integers only; the result is a new descriptor that we own.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, c_long::from(pid), 0 as c_long) })?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A copy of descriptor `fd` of the process behind `pidfd`.
pub(super) fn pidfd_getfd(pidfd: BorrowedFd<'_>, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: integers only; the result is a new descriptor that we own.
    let fd = check(unsafe {
        libc::syscall(libc::SYS_pidfd_getfd, c_long::from(pidfd.as_raw_fd()), c_long::from(fd), 0 as c_long)
    })?;
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Fills `buf` from `addr` of thread `tid`; short only where the next byte cannot be read.
pub(super) fn read_remote(tid: u32, addr: u64, buf: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
    transfer(tid, addr, local, Direction::FromClient)
}

pub(super) fn write_remote(tid: u32, addr: u64, buf: &[u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: buf.as_ptr().cast_mut().cast(), iov_len: buf.len() };
    transfer(tid, addr, local, Direction::ToClient)
}

/// Writes every piece at its address, many in one call. Returns the bytes written; fewer than all of them where an
/// address does not take what it should.
pub(super) fn write_remote_pieces(tid: u32, pieces: &[(u64, &[u8])]) -> io::Result<usize> {
    /// What the kernel takes at once (`UIO_MAXIOV`).
    const AT_ONCE: usize = 1024;
    let mut done = 0;
    for some in pieces.chunks(AT_ONCE) {
        let iovec = |base: *mut c_void, len| libc::iovec { iov_base: base, iov_len: len };
        let ours: Vec<_> = some.iter().map(|(_, b)| iovec(b.as_ptr().cast_mut().cast(), b.len())).collect();
        let theirs: Vec<_> = some.iter().map(|(addr, b)| iovec(*addr as *mut c_void, b.len())).collect();
        let n = ours.len() as libc::c_ulong;
        // SAFETY: `ours` describes slices that live through the call and are only read; `theirs` is checked by the kernel
        // against the other process's address space.
        let r = unsafe { libc::process_vm_writev(tid as i32, ours.as_ptr(), n, theirs.as_ptr(), n, 0) };
        if r < 0 {
            return Err(io::Error::last_os_error());
        }
        done += r as usize;
        if r as usize != some.iter().map(|(_, b)| b.len()).sum::<usize>() {
            break;
        }
    }
    Ok(done)
}

pub(super) fn read_remote_span(tid: u32, addr: u64, span: &Span<'_>) -> io::Result<usize> {
    transfer(tid, addr, span.as_iovec(), Direction::FromClient)
}

pub(super) fn write_remote_span(tid: u32, addr: u64, span: &Span<'_>) -> io::Result<usize> {
    transfer(tid, addr, span.as_iovec(), Direction::ToClient)
}

#[derive(Clone, Copy)]
enum Direction {
    FromClient,
    ToClient,
}

/// `local` describes memory that is ours for the time of the call (a slice or an arena span of the callers above).
fn transfer(tid: u32, addr: u64, local: libc::iovec, direction: Direction) -> io::Result<usize> {
    let mut done = 0;
    while done < local.iov_len {
        let len = (local.iov_len - done).min(MAX_TRANSFER);
        // SAFETY: done < iov_len, so the pointer stays inside the caller's buffer.
        let base = unsafe { local.iov_base.cast::<u8>().add(done) }.cast::<c_void>();
        let ours = libc::iovec { iov_base: base, iov_len: len };
        let theirs = libc::iovec { iov_base: (addr.wrapping_add(done as u64)) as *mut c_void, iov_len: len };
        // SAFETY: `ours` is valid for `len` bytes in the direction of the copy; `theirs` is checked by the kernel
        // against the other process's address space.
        let r = unsafe {
            match direction {
                Direction::FromClient => libc::process_vm_readv(tid as i32, &ours, 1, &theirs, 1, 0),
                Direction::ToClient => libc::process_vm_writev(tid as i32, &ours, 1, &theirs, 1, 0),
            }
        };
        match r {
            n if n > 0 => done += n as usize,
            0 => break,
            _ if done > 0 => break,
            _ => return Err(io::Error::last_os_error()),
        }
    }
    Ok(done)
}

/// `struct procmap_query` of `linux/fs.h`, 104 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ProcmapQuery {
    size: u64,
    query_flags: u64,
    query_addr: u64,
    pub vma_start: u64,
    pub vma_end: u64,
    pub vma_flags: u64,
    vma_page_size: u64,
    pub vma_offset: u64,
    pub inode: u64,
    pub dev_major: u32,
    pub dev_minor: u32,
    vma_name_size: u32,
    build_id_size: u32,
    vma_name_addr: u64,
    build_id_addr: u64,
}

const _: () = assert!(size_of::<ProcmapQuery>() == 104);

/// Which mappings a query looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    All,
    /// `MAP_SHARED` ones of files.
    SharedFiles,
}

/// The mapping that covers `addr` or the next one above it; ENOENT if there is none, ENOTTY before Linux 6.11.
pub(super) fn procmap_query(maps: BorrowedFd<'_>, addr: u64, among: Among) -> io::Result<ProcmapQuery> {
    const SHARED: u64 = 0x08;
    const COVERING_OR_NEXT_VMA: u64 = 0x10;
    const FILE_BACKED: u64 = 0x20;
    let filter = match among {
        Among::All => 0,
        Among::SharedFiles => SHARED | FILE_BACKED,
    };
    let mut query = ProcmapQuery {
        size: size_of::<ProcmapQuery>() as u64,
        query_flags: COVERING_OR_NEXT_VMA | filter,
        query_addr: addr,
        ..ProcmapQuery::default()
    };
    // SAFETY: the structure is as large as its `size` field says; no name or build-id buffer is asked for.
    check(unsafe { libc::ioctl(maps.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) }.into())?;
    Ok(query)
}

/// Takes a lock owned by the open file description on the byte at `offset`: gone with its last reference.
pub(super) fn ofd_lock(file: BorrowedFd<'_>, offset: i64, write: bool) -> io::Result<()> {
    let lock = one_byte_lock(offset, write);
    // SAFETY: the kernel reads the structure.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }.into()).map(drop)
}

/// Whether some other open file description holds a lock on the byte at `offset`.
pub(super) fn ofd_locked(probe: BorrowedFd<'_>, offset: i64) -> io::Result<bool> {
    let mut lock = one_byte_lock(offset, true);
    // SAFETY: the kernel reads and writes the structure.
    check(unsafe { libc::fcntl(probe.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) }.into())?;
    Ok(c_int::from(lock.l_type) != libc::F_UNLCK)
}

fn one_byte_lock(offset: i64, write: bool) -> libc::flock {
    // SAFETY: all-zero is a valid flock; OFD locks demand l_pid = 0.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = if write { libc::F_WRLCK } else { libc::F_RDLCK } as _;
    lock.l_whence = libc::SEEK_SET as _;
    lock.l_start = offset;
    lock.l_len = 1;
    lock
}

/// `statx(2)` on an open descriptor.
pub(super) fn statx_fd(fd: BorrowedFd<'_>, flags: i32, mask: u32) -> io::Result<libc::statx> {
    let flags = flags | libc::AT_EMPTY_PATH;
    // SAFETY: plain integers.
    let mut out: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an empty path with AT_EMPTY_PATH names the descriptor; `out` is writable.
    let r = unsafe { libc::statx(fd.as_raw_fd(), c"".as_ptr(), flags, mask, &raw mut out) };
    check(r.into())?;
    Ok(out)
}

/// The bytes of a kernel structure, to be written into a client.
pub(super) fn bytes_of_stat(stat: &libc::stat) -> &[u8] {
    // SAFETY: `stat` is plain data; its padding was zeroed when fstat filled a zeroed structure (nix) or is never
    // read by the kernel's copy either.
    unsafe { std::slice::from_raw_parts((stat as *const libc::stat).cast(), size_of::<libc::stat>()) }
}

pub(super) fn bytes_of_statx(statx: &libc::statx) -> &[u8] {
    // SAFETY: as above; `statx_fd` starts from a zeroed structure.
    unsafe { std::slice::from_raw_parts((statx as *const libc::statx).cast(), size_of::<libc::statx>()) }
}

/// `fstat(2)` into a zeroed structure.
pub(super) fn fstat(fd: BorrowedFd<'_>) -> io::Result<libc::stat> {
    // SAFETY: plain integers.
    let mut out: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `out` is writable.
    check(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut out) }.into())?;
    Ok(out)
}

/// `openat2(2)` with `RESOLVE_IN_ROOT`: absolute links and `..` cannot leave `root`.
pub(super) fn open_in_root(root: BorrowedFd<'_>, path: &CStr, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain integers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_IN_ROOT;
    // SAFETY: the path is a C string, the structure has the size that is passed.
    let fd = check(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            c_long::from(root.as_raw_fd()),
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    })?;
    // SAFETY: a new descriptor that we own.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Runs `child` in a forked process, which ends with the returned status; gives its pid.
///
/// `child` must be async-signal-safe (no allocation, no locks), as other threads may have been cut off in the
/// middle of anything.
pub(super) fn fork_and(child: impl FnOnce() -> u8) -> io::Result<u32> {
    // SAFETY: the child runs only `child`, whose contract is above, and leaves by _exit: no destructors, no atexit.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(child().into()),
            pid => check(pid.into()).map(|pid| pid as u32),
        }
    }
}

/// Strings as `execve(2)` takes them: pointers that end with a null.
pub(super) struct CStrings {
    // Kept because `pointers` point into them.
    _strings: Vec<std::ffi::CString>,
    pointers: Vec<*const libc::c_char>,
}

impl CStrings {
    pub(super) fn new(strings: Vec<std::ffi::CString>) -> CStrings {
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect();
        CStrings { _strings: strings, pointers }
    }
}

/// Replaces the process by another program; returns only if that fails. Async-signal-safe: no allocation.
pub(super) fn exec(path: &CStr, argv: &CStrings, envp: &CStrings) -> io::Error {
    // SAFETY: C strings and null-terminated arrays of pointers to C strings that live through the call.
    unsafe { libc::execve(path.as_ptr(), argv.pointers.as_ptr(), envp.pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// For the child between fork and exec.
pub(super) fn write_all_signal_safe(fd: BorrowedFd<'_>, bytes: &[u8]) {
    // SAFETY: the buffer is valid for its length; the child can do nothing about a failure.
    unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

/// Takes ownership of a descriptor that a system call has just made for us (`SCM_RIGHTS`).
pub(super) fn own(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller passes a number that recvmsg has just installed in this process and nobody else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
