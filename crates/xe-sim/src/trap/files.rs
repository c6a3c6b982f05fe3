//! Open file descriptions of the device nodes: which one a client's descriptor is, and when one is gone.
//!
//! Each is a fresh open of the arena's memfd with an open-file-description lock on the byte whose offset is its
//! [`FileId`]. The kernel drops that lock with the last reference — descriptors after `dup`, `fork` or `exec`,
//! descriptors on their way through a socket, and mappings — which is exactly when a real driver is told of the
//! close. For speed the supervisor also holds a reference of its own (a *pin*) and compares by kcmp; [`Files::sweep`]
//! lets go of the pins, looks at the locks, and the next request finds its file by the lock and pins it again.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::maps::FileKey;
use super::sys;
use crate::client::FileId;

struct OpenFile {
    minor: u32,
    pin: Option<OwnedFd>,
}

pub(super) struct Files {
    open: BTreeMap<FileId, OpenFile>,
    /// Where a file was seen last; checked at each use.
    hints: HashMap<(u32, i32), FileId>,
    /// An open of our own, to ask for the locks of others.
    probe: OwnedFd,
    arena: FileKey,
    own_pid: u32,
}

impl Files {
    pub(super) fn new(arena: BorrowedFd<'_>) -> io::Result<Files> {
        let stat = sys::fstat(arena)?;
        let arena_key = FileKey {
            major: nix::sys::stat::major(stat.st_dev) as u32,
            minor: nix::sys::stat::minor(stat.st_dev) as u32,
            inode: stat.st_ino,
        };
        Ok(Files {
            open: BTreeMap::new(),
            hints: HashMap::new(),
            probe: reopen(arena, OFlag::O_RDWR)?,
            arena: arena_key,
            own_pid: std::process::id(),
        })
    }

    /// The arena's memfd as `/proc/PID/maps` names it.
    pub(super) fn arena(&self) -> FileKey {
        self.arena
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn minor(&self, file: FileId) -> Option<u32> {
        self.open.get(&file).map(|f| f.minor)
    }

    /// Makes the file description that a client will get as `file`. `flags` are the client's; only the access
    /// mode and `O_NONBLOCK` are kept.
    pub(super) fn create(&mut self, file: FileId, minor: u32, flags: i32) -> io::Result<BorrowedFd<'_>> {
        let kept = OFlag::from_bits_truncate(flags) & (OFlag::O_ACCMODE | OFlag::O_NONBLOCK);
        let fd = reopen(self.probe.as_fd(), kept)?;
        let write = kept & OFlag::O_ACCMODE != OFlag::O_RDONLY;
        sys::ofd_lock(fd.as_fd(), offset(file)?, write)?;
        let slot = self.open.entry(file).or_insert(OpenFile { minor, pin: None });
        let pin: &OwnedFd = slot.pin.insert(fd);
        Ok(pin.as_fd())
    }

    pub(super) fn remove(&mut self, file: FileId) {
        self.open.remove(&file);
        self.hints.retain(|_, f| *f != file);
    }

    /// The file behind descriptor `fd` of thread `tid`; `None` if it is not one of the device's.
    ///
    /// `pidfd` is that thread's process, for taking a reference.
    pub(super) fn identify(&mut self, tid: u32, fd: i32, pidfd: Option<BorrowedFd<'_>>) -> Option<FileId> {
        if self.open.is_empty() || fd < 0 {
            return None;
        }
        let hint = self.hints.get(&(tid, fd)).copied();
        if let Some(file) = hint
            && self.is_pinned_at(file, tid, fd)
        {
            return Some(file);
        }
        let pinned = self.open.keys().copied().find(|f| Some(*f) != hint && self.is_pinned_at(*f, tid, fd));
        let found = match pinned {
            Some(file) => file,
            None if self.open.values().all(|f| f.pin.is_some()) => return None,
            None => self.by_lock(tid, fd, pidfd)?,
        };
        self.hints.insert((tid, fd), found);
        Some(found)
    }

    /// Forgets the files that no client refers to any more, and returns them.
    pub(super) fn sweep(&mut self) -> Vec<FileId> {
        self.hints.clear();
        for file in self.open.values_mut() {
            file.pin = None;
        }
        let gone = |file: &FileId| {
            offset(*file).and_then(|at| sys::ofd_locked(self.probe.as_fd(), at)).is_ok_and(|held| !held)
        };
        let dead: Vec<FileId> = self.open.keys().copied().filter(gone).collect();
        for file in &dead {
            self.open.remove(file);
        }
        dead
    }

    fn is_pinned_at(&self, file: FileId, tid: u32, fd: i32) -> bool {
        let pin = self.open.get(&file).and_then(|f| f.pin.as_ref());
        pin.is_some_and(|pin| sys::same_file(tid, fd, self.own_pid, pin.as_fd()).unwrap_or(false))
    }

    /// Finds the file by its lock as `/proc/TID/fdinfo/FD` shows it, and pins it if that can be done.
    fn by_lock(&mut self, tid: u32, fd: i32, pidfd: Option<BorrowedFd<'_>>) -> Option<FileId> {
        let info = std::fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}")).ok()?;
        let file = info.lines().find_map(|l| lock_offset(l, self.arena.inode)).map(FileId)?;
        self.open.get(&file)?;
        // Without a pin (a thread with a descriptor table of its own) the file is found this way each time.
        let pin = pidfd.and_then(|p| sys::pidfd_getfd(p, fd).ok());
        if let Some(pin) = pin
            && sys::same_file(tid, fd, self.own_pid, pin.as_fd()).unwrap_or(false)
            && let Some(slot) = self.open.get_mut(&file)
        {
            slot.pin = Some(pin);
        }
        Some(file)
    }
}

fn offset(file: FileId) -> io::Result<i64> {
    i64::try_from(file.0).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))
}

/// A new open file description of the same file.
fn reopen(fd: BorrowedFd<'_>, flags: OFlag) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd as _;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    Ok(nix::fcntl::open(path.as_str(), flags | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// `lock:⇥1: OFDLCK  ADVISORY  WRITE -1 00:01:1042 5 5` → 5, if the lock is on `inode`.
fn lock_offset(line: &str, inode: u64) -> Option<u64> {
    let mut words = line.strip_prefix("lock:")?.split_ascii_whitespace();
    let (kind, file, start) = (words.nth(1)?, words.nth(3)?, words.next()?);
    let on: u64 = file.rsplit(':').next()?.parse().ok()?;
    if kind == "OFDLCK" && on == inode { start.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena() -> OwnedFd {
        nix::sys::memfd::memfd_create(c"test", nix::sys::memfd::MFdFlags::MFD_CLOEXEC).unwrap()
    }

    #[test]
    fn lock_line_gives_its_offset_only_for_the_right_kind_and_inode() {
        let line = "lock:\t1: OFDLCK  ADVISORY  WRITE -1 00:01:1042 5 5";
        assert_eq!(lock_offset(line, 1042), Some(5));
        assert_eq!(lock_offset(line, 1043), None);
        assert_eq!(lock_offset("lock:\t1: POSIX  ADVISORY  WRITE 12 00:01:1042 5 5", 1042), None);
        assert_eq!(lock_offset("lock:\t1: OFDLCK", 1042), None);
        assert_eq!(lock_offset("pos:\t0", 1042), None);
    }

    #[test]
    fn file_lives_as_long_as_any_duplicate() {
        use std::os::fd::AsRawFd as _;
        let arena = arena();
        let mut files = Files::new(arena.as_fd()).unwrap();
        let me = std::process::id();
        let pidfd = sys::pidfd_open(me).unwrap();
        let client = files.create(FileId(3), 128, libc::O_RDWR).unwrap().try_clone_to_owned().unwrap();
        let other = files.create(FileId(4), 128, libc::O_RDONLY).unwrap().try_clone_to_owned().unwrap();
        let copy = client.try_clone().unwrap();
        let find = |files: &mut Files, fd: &OwnedFd| files.identify(me, fd.as_raw_fd(), Some(pidfd.as_fd()));
        assert_eq!(find(&mut files, &copy), Some(FileId(3)));
        assert_eq!(find(&mut files, &other), Some(FileId(4)));
        assert_eq!(find(&mut files, &arena), None);
        drop(client);
        assert_eq!(files.sweep(), []);
        // Unpinned now: found by the lock, and pinned again.
        assert_eq!(find(&mut files, &copy), Some(FileId(3)));
        assert_eq!(find(&mut files, &copy), Some(FileId(3)));
        assert_eq!(find(&mut files, &arena), None);
        drop(copy);
        assert_eq!(files.sweep(), [FileId(3)]);
        drop(other);
        assert_eq!(files.sweep(), [FileId(4)]);
        assert!(files.is_empty());
    }
}
