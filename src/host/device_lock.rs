//! One measurement at a time on a card: whatever else runs on it changes what is measured.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

/// Held for the length of a matrix run or of a search. The lock is on the device node itself: it needs no directory that all users may
/// write to, and it is gone with the process.
#[derive(Debug)]
pub struct DeviceLock(#[allow(dead_code, reason = "held, not read")] Flock<File>);

/// Why a card could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    #[error("{name} is being measured by another repro-matrix ({path} is locked)", path = path.display())]
    Busy { name: String, path: PathBuf },
    #[error("{name}: {path}: {error}", path = path.display())]
    Io { name: String, path: PathBuf, error: std::io::Error },
}

/// Locks the device `name` at `node`.
pub fn lock(name: &str, node: &Path) -> Result<DeviceLock, NotLocked> {
    let io = |error| NotLocked::Io { name: name.to_owned(), path: node.to_owned(), error };
    let file = File::open(node).map_err(io)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(held) => Ok(DeviceLock(held)),
        Err((_, nix::Error::EWOULDBLOCK)) => {
            Err(NotLocked::Busy { name: name.to_owned(), path: node.to_owned() })
        }
        Err((_, errno)) => Err(io(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_measurement_is_refused_until_the_first_ends() {
        let dir = tempfile::tempdir().expect("tempdir");
        let node = dir.path().join("renderD128");
        std::fs::write(&node, "").expect("node");
        let first = lock("pci:0000:09:00.0", &node).expect("free");
        let second = lock("pci:0000:09:00.0", &node).expect_err("held").to_string();
        assert!(second.contains("is being measured by another repro-matrix"), "{second}");
        drop(first);
        assert!(lock("pci:0000:09:00.0", &node).is_ok());
    }
}
