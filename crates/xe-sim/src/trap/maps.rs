//! The kernel's check of a user-pointer range, on the mappings of a client.
//!
//! Rule (`mm/hmm.c` as xe calls it, design of the userptr path): pages are looked at in order; the first that has
//! no readable mapping is -EFAULT, the first in a mapping without `VM_WRITE` is -EPERM unless the bind is READONLY.
//! What backs the pages does not matter, with two exceptions: pages beyond the end of a mapped file, and mappings
//! of the device itself (`VM_IO`/`VM_PFNMAP` in the real driver), are -EFAULT.
//!
//! Not modelled: other `VM_IO`/`VM_PFNMAP` mappings (`[vvar]`, PCI resources), whose flag is not shown here.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::AsFd;

use super::sys::{self, Among};
use crate::client::{Access, Errno};

const EFAULT: Errno = Errno(libc::EFAULT);
const EPERM: Errno = Errno(libc::EPERM);
const PAGE: u64 = 4096;

/// Identity of a file, to know the device's own mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileKey {
    pub major: u32,
    pub minor: u32,
    pub inode: u64,
}

/// One mapping of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vma {
    pub start: u64,
    pub end: u64,
    pub readable: bool,
    pub writable: bool,
    /// `None` for anonymous memory.
    pub file: Option<FileKey>,
    pub shared: bool,
    /// Of the file's bytes at `start`.
    pub offset: u64,
}

/// `/proc/PID/maps` of one address space, kept open.
pub(super) struct Maps {
    file: File,
    /// PROCMAP_QUERY is not there: read the text instead.
    text_only: bool,
}

impl Maps {
    pub(super) fn open(pid: u32) -> io::Result<Maps> {
        Ok(Maps { file: File::open(format!("/proc/{pid}/maps"))?, text_only: false })
    }

    #[cfg(test)]
    pub(super) fn use_text(&mut self) {
        self.text_only = true;
    }

    /// Checks `[addr, addr + len)`. The outer error means that the address space is gone (exec, exit).
    ///
    /// `last_page_readable` tells whether a page can be read: asked once per file mapping, for its last page in the
    /// range, since only the end of a file can be missing.
    pub(super) fn check(
        &mut self,
        addr: u64,
        len: u64,
        access: Access,
        device: FileKey,
        mut last_page_readable: impl FnMut(u64) -> bool,
    ) -> io::Result<Result<(), Errno>> {
        if !self.text_only {
            let query = |at: u64| self.query(at, Among::All);
            match check_range(addr, len, access, device, query, &mut last_page_readable) {
                Err(e) if e.raw_os_error() == Some(libc::ENOTTY) => self.text_only = true,
                other => return other,
            }
        }
        let vmas = self.read()?;
        let query = |at: u64| Ok(vmas.iter().find(|v| v.end > at).copied());
        check_range(addr, len, access, device, query, last_page_readable)
    }

    /// The mapping that covers `addr`.
    pub(super) fn at(&mut self, addr: u64) -> io::Result<Option<Vma>> {
        let covers = |vma: &Vma| vma.start <= addr && addr < vma.end;
        if !self.text_only {
            match self.query(addr, Among::All) {
                Err(e) if e.raw_os_error() == Some(libc::ENOTTY) => self.text_only = true,
                other => return Ok(other?.filter(covers)),
            }
        }
        Ok(self.read()?.into_iter().find(covers))
    }

    /// Which ranges (offset, bytes) of a file are mapped shared.
    pub(super) fn shared_ranges_of(&mut self, file: FileKey) -> io::Result<Vec<(u64, u64)>> {
        if !self.text_only {
            match self.shared_files() {
                Err(e) if e.raw_os_error() == Some(libc::ENOTTY) => self.text_only = true,
                other => return Ok(ranges_of(file, other?)),
            }
        }
        Ok(ranges_of(file, self.read()?))
    }

    fn shared_files(&self) -> io::Result<Vec<Vma>> {
        let mut vmas = Vec::new();
        let mut at = 0;
        while let Some(vma) = self.query(at, Among::SharedFiles)? {
            if vma.end <= at {
                break;
            }
            at = vma.end;
            vmas.push(vma);
        }
        Ok(vmas)
    }

    /// The mapping that covers `at`, or the next one above it.
    fn query(&self, at: u64, among: Among) -> io::Result<Option<Vma>> {
        match sys::procmap_query(self.file.as_fd(), at, among) {
            Ok(q) => Ok(Some(Vma::from_query(&q))),
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// All mappings, from the text.
    fn read(&mut self) -> io::Result<Vec<Vma>> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        if text.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        Ok(text.lines().filter_map(Vma::from_line).collect())
    }
}

fn ranges_of(file: FileKey, vmas: Vec<Vma>) -> Vec<(u64, u64)> {
    let of_file = |vma: &Vma| vma.shared && vma.file == Some(file);
    vmas.into_iter().filter(of_file).map(|vma| (vma.offset, vma.end - vma.start)).collect()
}

impl Vma {
    fn from_query(q: &sys::ProcmapQuery) -> Vma {
        let file =
            (q.inode != 0).then_some(FileKey { major: q.dev_major, minor: q.dev_minor, inode: q.inode });
        Vma {
            start: q.vma_start,
            end: q.vma_end,
            readable: q.vma_flags & 1 != 0,
            writable: q.vma_flags & 2 != 0,
            file,
            shared: q.vma_flags & 8 != 0,
            offset: q.vma_offset,
        }
    }

    /// `start-end perms offset major:minor inode path`, numbers in hex but for the inode.
    fn from_line(line: &str) -> Option<Vma> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let perms = words.next()?.as_bytes();
        let offset = words.next()?;
        let (major, minor) = words.next()?.split_once(':')?;
        let inode: u64 = words.next()?.parse().ok()?;
        let hex = |s| u64::from_str_radix(s, 16).ok();
        let dev = |s| u32::from_str_radix(s, 16).ok();
        Some(Vma {
            start: hex(start)?,
            end: hex(end)?,
            readable: perms.first() == Some(&b'r'),
            writable: perms.get(1) == Some(&b'w'),
            file: (inode != 0).then_some(FileKey { major: dev(major)?, minor: dev(minor)?, inode }),
            shared: perms.get(3) == Some(&b's'),
            offset: hex(offset)?,
        })
    }
}

/// The rule itself. `next` gives the mapping that covers an address, or the first one above it.
fn check_range(
    addr: u64,
    len: u64,
    access: Access,
    device: FileKey,
    next: impl Fn(u64) -> io::Result<Option<Vma>>,
    mut last_page_readable: impl FnMut(u64) -> bool,
) -> io::Result<Result<(), Errno>> {
    let Some(end) = addr.checked_add(len) else { return Ok(Err(EFAULT)) };
    let mut at = addr;
    while at < end {
        let Some(vma) = next(at)? else { return Ok(Err(EFAULT)) };
        if vma.start > at || !vma.readable || vma.file == Some(device) || vma.end <= at {
            return Ok(Err(EFAULT));
        }
        if access == Access::Write && !vma.writable {
            return Ok(Err(EPERM));
        }
        let stop = vma.end.min(end);
        if vma.file.is_some() && !last_page_readable((stop - 1) & !(PAGE - 1)) {
            return Ok(Err(EFAULT));
        }
        at = stop;
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests;
