//! File-system calls on the device's files: open, stat, access, readlink and the like.
//!
//! A call whose path does not belong to the simulated device is passed on to the kernel untouched.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::listener::Call;
use super::remote::Shared;
use super::sys;
use super::tree::Tree;

/// What a call asks, whatever its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Open {
        flags: i32,
    },
    /// `follow`: symbolic links at the end of the path.
    Stat {
        to: u64,
        follow: bool,
    },
    Statx {
        to: u64,
        follow: bool,
        mask: u32,
    },
    Access {
        mode: i32,
    },
    ReadLink {
        to: u64,
        room: u64,
    },
    /// The value of an extended attribute.
    Attribute {
        follow: bool,
    },
    /// The names of all extended attributes.
    Attributes {
        follow: bool,
    },
    /// Changes nothing that may be changed: refused on the device's files.
    Refuse,
}

/// The place a call names: a directory descriptor and a path, or a descriptor alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub dir: i32,
    /// Address of the path in the client; 0 = none (fstat).
    pub path: u64,
    /// An empty path means the descriptor itself.
    pub empty_is_fd: bool,
}

/// The number and arguments of a trapped call as a question; `None`: not a path call.
pub(super) fn read(call: &Call) -> Option<(Named, Ask)> {
    let here = |path: usize| Named { dir: libc::AT_FDCWD, path: call.ptr(path), empty_is_fd: false };
    let at = |flags: i32| Named {
        dir: call.int(0),
        path: call.ptr(1),
        empty_is_fd: flags & libc::AT_EMPTY_PATH != 0,
    };
    let follow = |flags: i32| flags & libc::AT_SYMLINK_NOFOLLOW == 0;
    Some(match call.nr {
        libc::SYS_open => (here(0), Ask::Open { flags: call.int(1) }),
        libc::SYS_openat => (at(0), Ask::Open { flags: call.int(2) }),
        // The flags are in a structure, read by the supervisor.
        libc::SYS_openat2 => (at(0), Ask::Open { flags: 0 }),
        libc::SYS_creat => (here(0), Ask::Refuse),
        libc::SYS_chdir => (here(0), Ask::Refuse),
        libc::SYS_stat => (here(0), Ask::Stat { to: call.ptr(1), follow: true }),
        libc::SYS_lstat => (here(0), Ask::Stat { to: call.ptr(1), follow: false }),
        libc::SYS_fstat => (
            Named { dir: call.int(0), path: 0, empty_is_fd: true },
            Ask::Stat { to: call.ptr(1), follow: true },
        ),
        libc::SYS_newfstatat => {
            let flags = call.int(3);
            (at(flags), Ask::Stat { to: call.ptr(2), follow: follow(flags) })
        }
        libc::SYS_statx => {
            let flags = call.int(2);
            let mask = call.int(3) as u32;
            (at(flags), Ask::Statx { to: call.ptr(4), follow: follow(flags), mask })
        }
        libc::SYS_access => (here(0), Ask::Access { mode: call.int(1) }),
        libc::SYS_faccessat | libc::SYS_faccessat2 => (at(0), Ask::Access { mode: call.int(2) }),
        libc::SYS_getxattr => (here(0), Ask::Attribute { follow: true }),
        libc::SYS_lgetxattr => (here(0), Ask::Attribute { follow: false }),
        libc::SYS_listxattr => (here(0), Ask::Attributes { follow: true }),
        libc::SYS_llistxattr => (here(0), Ask::Attributes { follow: false }),
        libc::SYS_readlink => (here(0), Ask::ReadLink { to: call.ptr(1), room: call.ptr(2) }),
        libc::SYS_readlinkat => (at(0), Ask::ReadLink { to: call.ptr(2), room: call.ptr(3) }),
        _ => return None,
    })
}

/// The absolute path that the call names, as the client sees it, with nothing resolved.
pub(super) fn absolute(shared: &Shared, tree: &Tree, tid: u32, dir: i32, path: Vec<u8>) -> Option<Vec<u8>> {
    if path.first() == Some(&b'/') {
        return Some(path);
    }
    let link = match dir {
        libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
        fd => format!("/proc/{tid}/fd/{fd}"),
    };
    let base = std::fs::read_link(link).ok()?.into_os_string().into_vec();
    if !shared.listener.current_is_valid() {
        return None;
    }
    let base = tree.strip(&base).map_or(base.clone(), <[u8]>::to_vec);
    Some([base.as_slice(), b"/", path.as_slice()].concat())
}

/// Without doubled slashes, `.` and `..`, as text: links are not followed.
fn collapse(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut out = Vec::with_capacity(path.len());
    for part in parts {
        out.push(b'/');
        out.extend_from_slice(part);
    }
    if out.is_empty() { b"/".to_vec() } else { out }
}

/// What comes before the first `..`.
fn before_up(path: &[u8]) -> Option<&[u8]> {
    let within = path.windows(4).position(|w| w == b"/../").and_then(|at| path.get(..at));
    within.or_else(|| path.strip_suffix(b"/.."))
}

/// Whether the simulated device has this path. `..` after a link cannot be taken as text, so what comes before the
/// first `..` counts too.
pub(super) fn owned(tree: &Tree, path: &[u8]) -> bool {
    tree.owns(&collapse(path)) || before_up(path).is_some_and(|before| tree.owns(&collapse(before)))
}

/// Whether the path, taken as text, ends in the tree.
pub(super) fn ends_in(tree: &Tree, path: &[u8]) -> bool {
    tree.owns(&collapse(path))
}

/// `/proc/self/fd/N`, `/proc/thread-self/fd/N` and `/proc/PID/fd/N`: the thread whose descriptor it is, and N.
pub(super) fn descriptor(path: &[u8], caller: u32) -> Option<(u32, i32)> {
    let rest = std::str::from_utf8(path).ok()?.strip_prefix("/proc/")?;
    let (who, fd) = rest.split_once("/fd/")?;
    let who = match who {
        "self" | "thread-self" => caller,
        pid => pid.parse().ok()?,
    };
    Some((who, fd.parse().ok()?))
}

/// A file of the tree, opened without looking into it.
pub(super) struct Found {
    pub fd: OwnedFd,
    pub stat: libc::stat,
    /// Minor number, if it is a device node.
    pub node: Option<u32>,
}

pub(super) fn find(tree: &Tree, path: &[u8], follow: bool) -> io::Result<Found> {
    let nofollow = if follow { 0 } else { libc::O_NOFOLLOW };
    let fd = open_inside(tree, path, libc::O_PATH | nofollow)?;
    let stat = sys::fstat(fd.as_fd())?;
    let node = tree.node(stat.st_dev, stat.st_ino).map(|node| node.minor);
    Ok(Found { fd, stat, node })
}

/// Opens a path of the tree. One that leaves the device's part of it by `..` is the host's: `/dev/dri/..` is `/dev`.
fn open_inside(tree: &Tree, path: &[u8], flags: i32) -> io::Result<OwnedFd> {
    let fd = sys::open_in_root(tree.fd(), &CString::new(path)?, flags)?;
    if before_up(path).is_none() {
        return Ok(fd);
    }
    let place = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()))?;
    match tree.strip(place.as_os_str().as_bytes()) {
        Some(inside) if !tree.owns(inside) => {
            let flags = OFlag::from_bits_truncate(flags) | OFlag::O_CLOEXEC;
            Ok(nix::fcntl::open(inside, flags, Mode::empty())?)
        }
        _ => Ok(fd),
    }
}

/// The errno that a link or a device node gives an open with these flags, if any.
pub(super) fn open_error(found: &Found, flags: i32) -> Option<i32> {
    if flags & libc::O_PATH != 0 {
        return None;
    }
    let exclusive = libc::O_CREAT | libc::O_EXCL;
    match found.stat.st_mode & libc::S_IFMT {
        _ if flags & exclusive == exclusive => Some(libc::EEXIST),
        libc::S_IFLNK => Some(libc::ELOOP),
        libc::S_IFDIR if flags & libc::O_ACCMODE != libc::O_RDONLY => Some(libc::EISDIR),
        _ if found.node.is_some() && flags & libc::O_DIRECTORY != 0 => Some(libc::ENOTDIR),
        _ => None,
    }
}

/// Opens a file of the tree that is no device node, for reading only: nothing in it can be changed.
pub(super) fn open(tree: &Tree, path: &[u8], flags: i32) -> io::Result<OwnedFd> {
    if flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0 {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let kept = flags & (libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_PATH | libc::O_NONBLOCK);
    open_inside(tree, path, kept)
}

/// The text of a link of the tree; EINVAL if it is none.
pub(super) fn read_link(found: &Found) -> io::Result<Vec<u8>> {
    if found.stat.st_mode & libc::S_IFMT != libc::S_IFLNK {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // The descriptor is the link itself (O_PATH and O_NOFOLLOW): an empty path names it.
    Ok(nix::fcntl::readlinkat(found.fd.as_fd(), "")?.into_vec())
}

/// What stat says of a device node.
pub(super) fn as_node(mut stat: libc::stat, minor: u32) -> libc::stat {
    stat.st_mode = libc::S_IFCHR | 0o666;
    stat.st_rdev = libc::makedev(226, minor);
    stat.st_size = 0;
    stat.st_blocks = 0;
    stat
}

/// What statx says of a device node.
pub(super) fn as_node_x(mut statx: libc::statx, minor: u32) -> libc::statx {
    statx.stx_mode = (libc::S_IFCHR | 0o666) as u16;
    statx.stx_rdev_major = 226;
    statx.stx_rdev_minor = minor;
    statx.stx_size = 0;
    statx.stx_blocks = 0;
    statx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_collapsed_as_text() {
        assert_eq!(collapse(b"//dev/./dri//x/../renderD128"), b"/dev/dri/renderD128");
        assert_eq!(collapse(b"/../.."), b"/");
    }

    #[test]
    fn descriptor_paths_are_recognised() {
        assert_eq!(descriptor(b"/proc/self/fd/7", 10), Some((10, 7)));
        assert_eq!(descriptor(b"/proc/thread-self/fd/7", 10), Some((10, 7)));
        assert_eq!(descriptor(b"/proc/9/fd/3", 10), Some((9, 3)));
        assert_eq!(descriptor(b"/proc/self/fd/x", 10), None);
        assert_eq!(descriptor(b"/proc/self/fdinfo/3", 10), None);
        assert_eq!(descriptor(b"/proc/self/fd/3/x", 10), None);
        assert_eq!(descriptor(b"/dev/dri", 10), None);
    }
}
