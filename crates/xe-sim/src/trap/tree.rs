//! The private directory tree that stands for the device's files: `/dev/dri`, sysfs of the card and the links to it.
//!
//! Real directories, files and relative links under a temporary directory, so that listing them needs no help once
//! they are open. What the tree says is in `sysfs.rs`.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::stat::Mode;

use super::sysfs;
use crate::profile::Profile;

const PREFIX: &str = "xe-sim-";
const LOCK: &str = ".lock";
const PCI_DEVICES: &str = "/sys/bus/pci/devices";

/// A device node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub minor: u32,
    key: (u64, u64),
}

pub(super) struct Tree {
    path: PathBuf,
    fd: OwnedFd,
    nodes: [Node; 2],
    /// Paths that are served from here with all that is below them.
    roots: Vec<String>,
    /// Entries of /sys/bus/pci/devices that are ours, and those of the host that are hidden.
    own_pci: Vec<String>,
    hidden_pci: Vec<String>,
    /// Held as long as the tree is in use: a tree without it is left over from a killed run.
    _lock: Flock<fs::File>,
}

impl Tree {
    /// Builds the tree in a new directory below `parent`, after removing what killed runs left there.
    pub(super) fn build(parent: &Path, profile: &Profile) -> io::Result<Tree> {
        sweep(parent);
        let path = fs::canonicalize(nix::unistd::mkdtemp(&parent.join(format!("{PREFIX}XXXXXX")))?)?;
        let built = Tree::fill(&path, profile);
        if built.is_err() {
            let _ = fs::remove_dir_all(&path);
        }
        built
    }

    fn fill(path: &Path, profile: &Profile) -> io::Result<Tree> {
        let lock = fs::File::create(path.join(LOCK))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, e)| io::Error::from(e))?;
        let pci = profile.pci;
        for entry in sysfs::entries(profile) {
            let at = path.join(entry.path.trim_start_matches('/'));
            if let Some(dir) = at.parent() {
                fs::create_dir_all(dir)?;
            }
            match entry.what {
                sysfs::What::Link(to) => std::os::unix::fs::symlink(to, at)?,
                sysfs::What::File(bytes) => {
                    fs::write(&at, bytes)?;
                    fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o444))?;
                }
            }
        }
        let node = |minor: u32, name: String| -> io::Result<Node> {
            let m = fs::metadata(path.join("dev/dri").join(name))?;
            Ok(Node { minor, key: (m.dev(), m.ino()) })
        };
        let nodes = [
            node(profile.render_minor, format!("renderD{}", profile.render_minor))?,
            node(profile.card_minor, format!("card{}", profile.card_minor))?,
        ];
        let own_pci: Vec<String> =
            pci.bridges.iter().copied().chain([pci.address]).map(str::to_owned).collect();
        let hidden_pci = list_host_pci(path, &own_pci);
        let bridge = pci.bridges.first().copied().unwrap_or(pci.address);
        let mut roots = vec![
            "/dev/dri".to_owned(),
            "/sys/class/drm".to_owned(),
            "/sys/bus/pci/drivers/xe".to_owned(),
            format!("/sys/devices/pci0000:00/{bridge}"),
        ];
        // Directories on the way that the host does not have (no PCI bus in many virtual machines).
        let ways = ["/sys/dev/char", "/sys/devices/pci0000:00", "/sys/bus/pci", "/sys/class"];
        roots.extend(ways.iter().filter(|p| !Path::new(p).exists()).map(|p| (*p).to_owned()));
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let fd = nix::fcntl::open(path, flags, Mode::empty())?;
        Ok(Tree { path: path.to_owned(), fd, nodes, roots, own_pci, hidden_pci, _lock: lock })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A path inside the tree as the client should see it: the tree's own directory taken off.
    pub(super) fn strip<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let rest = path.strip_prefix(self.path.as_os_str().as_bytes())?;
        match rest.first() {
            None => Some(b"/"),
            Some(b'/') => Some(rest),
            Some(_) => None,
        }
    }

    /// Whether an absolute path without `.`, `..` and doubled slashes belongs to the simulated device.
    pub(super) fn owns(&self, path: &[u8]) -> bool {
        let below = |root: &str| {
            path.strip_prefix(root.as_bytes()).is_some_and(|r| r.is_empty() || r.first() == Some(&b'/'))
        };
        if path.starts_with(b"/sys/dev/char/226:") || self.roots.iter().any(|r| below(r)) {
            return true;
        }
        let Some(rest) = path.strip_prefix(PCI_DEVICES.as_bytes()) else { return false };
        match rest.strip_prefix(b"/") {
            None => rest.is_empty(),
            Some(rest) => {
                let name = rest.split(|b| *b == b'/').next().unwrap_or_default();
                self.own_pci.iter().chain(&self.hidden_pci).any(|n| n.as_bytes() == name)
            }
        }
    }

    /// Whether a file of the tree (by device and inode) is a device node.
    pub(super) fn node(&self, dev: u64, ino: u64) -> Option<Node> {
        self.nodes.iter().copied().find(|n| n.key == (dev, ino))
    }

    /// `/dev/dri/…` of a node.
    pub(super) fn node_path(&self, minor: u32) -> String {
        if minor >= 128 { format!("/dev/dri/renderD{minor}") } else { format!("/dev/dri/card{minor}") }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Adds the host's PCI devices to the listing, but for graphics cards, which are returned.
fn list_host_pci(root: &Path, own: &[String]) -> Vec<String> {
    let dir = root.join(PCI_DEVICES.trim_start_matches('/'));
    let mut hidden = Vec::new();
    for entry in fs::read_dir(PCI_DEVICES).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if own.contains(&name) {
            continue;
        }
        if entry.path().join("drm").exists() {
            hidden.push(name);
        } else if let Ok(to) = fs::read_link(entry.path()) {
            // A missing entry would only shorten a listing.
            let _ = std::os::unix::fs::symlink(to, dir.join(name));
        }
    }
    hidden
}

/// Removes trees of this user whose lock nobody holds.
fn sweep(parent: &Path) {
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let path = entry.path();
        let mine = fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir() && m.uid() == own);
        // A tree that has no lock file yet is just being made.
        let Some(lock) = mine.then(|| fs::File::open(path.join(LOCK)).ok()).flatten() else { continue };
        if Flock::lock(lock, FlockArg::LockExclusiveNonblock).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
