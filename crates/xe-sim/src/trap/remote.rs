//! Client processes and their memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Instant;

use super::listener::{Listener, TRUSTED};
use super::maps::{FileKey, Maps};
use super::others::{Other, Others};
use super::sys;
use crate::arena::Span;
use crate::client::{Access, ClientMem, Errno, ProcessId};

const EFAULT: Errno = Errno(libc::EFAULT);

struct Process {
    /// Readable when the whole thread group has ended; the last reference, so that the watch ends with it.
    pidfd: OwnedFd,
    maps: Option<Maps>,
    /// A thread that called recently: the way into the address space after the main thread has ended.
    thread: u32,
}

/// Processes that have touched the device, by thread group id.
pub(super) struct Processes {
    known: HashMap<ProcessId, Process>,
    /// Thread id → process and when that was last known to be so, as ids are given again.
    threads: HashMap<u32, (ProcessId, Instant)>,
    /// Told of their ends.
    others: Rc<Others>,
}

impl Processes {
    pub(super) fn new(others: Rc<Others>) -> Processes {
        Processes { known: HashMap::new(), threads: HashMap::new(), others }
    }

    /// The process of thread `tid`, which has a call waiting.
    pub(super) fn of_thread(&mut self, tid: u32) -> io::Result<ProcessId> {
        let now = Instant::now();
        if let Some((process, seen)) = self.threads.get_mut(&tid)
            && (now.duration_since(*seen) < TRUSTED || sys::is_thread_of(process.0, tid))
            && let Some(p) = self.known.get_mut(process)
        {
            *seen = now;
            p.thread = tid;
            return Ok(*process);
        }
        let process = ProcessId(tgid(tid)?);
        if let std::collections::hash_map::Entry::Vacant(slot) = self.known.entry(process) {
            let pidfd = sys::pidfd_open(process.0)?;
            self.others.watch(Other::Gone(process), pidfd.as_fd())?;
            slot.insert(Process { pidfd, maps: None, thread: tid });
        }
        self.threads.insert(tid, (process, now));
        Ok(process)
    }

    pub(super) fn pidfd(&self, process: ProcessId) -> Option<BorrowedFd<'_>> {
        self.known.get(&process).map(|p| p.pidfd.as_fd())
    }

    pub(super) fn forget(&mut self, process: ProcessId) {
        self.known.remove(&process);
        self.threads.retain(|_, (p, _)| *p != process);
    }

    fn thread(&self, process: ProcessId) -> Option<u32> {
        self.known.get(&process).map(|p| p.thread)
    }
}

/// `Tgid:` of `/proc/TID/status`.
pub(super) fn tgid(tid: u32) -> io::Result<u32> {
    status_field(tid, "Tgid:")?.parse().map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))
}

/// One field of `/proc/TID/status`, without blanks.
fn status_field(tid: u32, name: &str) -> io::Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status"))?;
    let line = status.lines().find_map(|l| l.strip_prefix(name));
    line.map(|l| l.trim().to_owned()).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
}

/// Whether a signal waits that thread `tid` would act on: pending for the thread and neither blocked nor ignored.
pub(super) fn signal_waits(tid: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{tid}/status")) else { return false };
    signal_waits_by(&status)
}

fn signal_waits_by(status: &str) -> bool {
    let mask = |name| {
        let text = status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or_default();
        u64::from_str_radix(text.trim(), 16).unwrap_or(0)
    };
    let pending = mask("SigPnd:") | mask("ShdPnd:");
    pending & !mask("SigBlk:") & !mask("SigIgn:") != 0
}

/// What the trap layer shares between the supervisor and the device's view of client memory.
pub(super) struct Shared {
    pub listener: Listener,
    pub processes: RefCell<Processes>,
    /// The arena's memfd, to know mappings of the device.
    pub device_file: FileKey,
}

impl Shared {
    /// Reads memory of a thread whose call is being served. The caller's id is checked afterwards: had the thread
    /// died, its number might by now belong to a stranger.
    pub(super) fn read(&self, tid: u32, addr: u64, buf: &mut [u8]) -> Result<(), Errno> {
        whole(sys::read_remote(tid, addr, buf), buf.len())?;
        if self.listener.current_is_valid() { Ok(()) } else { Err(EFAULT) }
    }

    pub(super) fn write(&self, tid: u32, addr: u64, buf: &[u8]) -> Result<(), Errno> {
        if !self.listener.current_is_valid() {
            return Err(EFAULT);
        }
        whole(sys::write_remote(tid, addr, buf), buf.len())
    }

    /// A C string of at most `PATH_MAX` bytes, without its end.
    pub(super) fn read_path(&self, tid: u32, addr: u64) -> Result<Vec<u8>, Errno> {
        const PATH_MAX: usize = 4096;
        let mut out = Vec::with_capacity(256);
        let mut chunk = [0u8; 256];
        loop {
            let at = addr.wrapping_add(out.len() as u64);
            // Never across a page's end: what follows may not be mapped.
            let room = (4096 - (at & 4095) as usize).min(chunk.len());
            let Some(part) = chunk.get_mut(..room) else { return Err(EFAULT) };
            self.read(tid, at, part)?;
            if let Some(end) = part.iter().position(|b| *b == 0) {
                out.extend_from_slice(part.get(..end).unwrap_or_default());
                return Ok(out);
            }
            out.extend_from_slice(part);
            if out.len() >= PATH_MAX {
                return Err(Errno(libc::ENAMETOOLONG));
            }
        }
    }

    /// Calls `f` with a thread of the process that still has its memory.
    fn with_thread<T>(&self, process: ProcessId, f: impl Fn(u32) -> io::Result<T>) -> io::Result<T> {
        match f(process.0) {
            // The main thread has ended and others have not.
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {
                match self.processes.borrow().thread(process) {
                    Some(tid) if tid != process.0 && sys::is_thread_of(process.0, tid) => f(tid),
                    _ => Err(e),
                }
            }
            other => other,
        }
    }

    fn check_range(
        &self,
        process: ProcessId,
        addr: u64,
        len: u64,
        access: Access,
    ) -> io::Result<Result<(), Errno>> {
        let readable = |page: u64| {
            let read_one = |tid| sys::read_remote(tid, page, &mut [0u8; 1]);
            matches!(self.with_thread(process, read_one), Ok(1))
        };
        self.with_maps(process, |maps| maps.check(addr, len, access, self.device_file, readable))
    }

    /// Calls `f` with the mappings of a process; a second time, with fresh ones, if it has executed another program.
    fn with_maps<T>(&self, process: ProcessId, f: impl Fn(&mut Maps) -> io::Result<T>) -> io::Result<T> {
        let gone = || io::Error::from_raw_os_error(libc::ESRCH);
        let (thread, kept) = {
            let mut processes = self.processes.borrow_mut();
            let known = processes.known.get_mut(&process).ok_or_else(gone)?;
            (known.thread, known.maps.take())
        };
        let open = || Maps::open(process.0).or_else(|_| Maps::open(thread));
        let mut maps = match kept {
            Some(maps) => maps,
            None => open()?,
        };
        let result = match f(&mut maps) {
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {
                maps = open()?;
                f(&mut maps)
            }
            other => other,
        };
        if let Some(known) = self.processes.borrow_mut().known.get_mut(&process) {
            known.maps = Some(maps);
        }
        result
    }
}

fn whole(r: io::Result<usize>, want: usize) -> Result<(), Errno> {
    match r {
        Ok(n) if n == want => Ok(()),
        _ => Err(EFAULT),
    }
}

/// The device's view of client memory.
pub(super) struct RemoteMem(pub Rc<Shared>);

impl ClientMem for RemoteMem {
    fn read(&self, process: ProcessId, addr: u64, buf: &mut [u8]) -> Result<(), Errno> {
        let len = buf.len();
        let buf = RefCell::new(buf);
        whole(self.0.with_thread(process, |tid| sys::read_remote(tid, addr, &mut buf.borrow_mut())), len)?;
        if self.0.listener.current_is_valid() { Ok(()) } else { Err(EFAULT) }
    }

    fn write(&self, process: ProcessId, addr: u64, buf: &[u8]) -> Result<(), Errno> {
        if !self.0.listener.current_is_valid() {
            return Err(EFAULT);
        }
        whole(self.0.with_thread(process, |tid| sys::write_remote(tid, addr, buf)), buf.len())
    }

    fn write_pieces(&self, process: ProcessId, pieces: &[(u64, &[u8])]) -> Result<(), Errno> {
        if pieces.is_empty() {
            return Ok(());
        }
        if !self.0.listener.current_is_valid() {
            return Err(EFAULT);
        }
        let len = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        whole(self.0.with_thread(process, |tid| sys::write_remote_pieces(tid, pieces)), len)
    }

    fn check_range(&self, process: ProcessId, addr: u64, len: u64, access: Access) -> Result<(), Errno> {
        self.0.check_range(process, addr, len, access).unwrap_or(Err(EFAULT))
    }

    fn is_file(&self, process: ProcessId, addr: u64) -> bool {
        let vma = self.0.with_maps(process, |maps| maps.at(addr));
        matches!(vma, Ok(Some(vma)) if vma.file.is_some())
    }

    fn arena_mappings(&self) -> Option<Vec<(u64, u64)>> {
        let processes: Vec<ProcessId> = self.0.processes.borrow().known.keys().copied().collect();
        let mut ranges = Vec::new();
        for process in processes {
            // One that cannot be looked at has ended, and has nothing mapped.
            let found = self.0.with_maps(process, |maps| maps.shared_ranges_of(self.0.device_file));
            ranges.extend(found.unwrap_or_default());
        }
        Some(ranges)
    }

    fn read_into(&self, process: ProcessId, addr: u64, dst: &Span<'_>) -> Result<(), Errno> {
        let len = usize::try_from(dst.len()).map_err(|_| EFAULT)?;
        whole(self.0.with_thread(process, |tid| sys::read_remote_span(tid, addr, dst)), len)
    }

    fn write_from(&self, process: ProcessId, addr: u64, src: &Span<'_>) -> Result<(), Errno> {
        let len = usize::try_from(src.len()).map_err(|_| EFAULT)?;
        whole(self.0.with_thread(process, |tid| sys::write_remote_span(tid, addr, src)), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_signal_that_would_be_acted_on_waits() {
        let status = |pending: &str, shared: &str, blocked: &str, ignored: &str| {
            format!(
                "Name:\tx\nSigPnd:\t{pending}\nShdPnd:\t{shared}\nSigBlk:\t{blocked}\nSigIgn:\t{ignored}\n"
            )
        };
        let zero = "0000000000000000";
        let int = "0000000000000002";
        for (text, want) in [
            (status(zero, zero, zero, zero), false),
            (status(int, zero, zero, zero), true),
            (status(zero, int, zero, zero), true),
            (status(zero, int, int, zero), false),
            (status(int, zero, zero, int), false),
            (String::new(), false),
        ] {
            assert_eq!(signal_waits_by(&text), want, "{text}");
        }
    }

    #[test]
    fn thread_belongs_to_its_process() {
        let me = std::process::id();
        let tid = nix::unistd::gettid().as_raw() as u32;
        let mut processes = Processes::new(Rc::new(Others::new().unwrap()));
        assert_eq!(processes.of_thread(tid).unwrap(), ProcessId(me));
        // From the cache this time.
        assert_eq!(processes.of_thread(tid).unwrap(), ProcessId(me));
        assert!(processes.of_thread(u32::MAX - 1).is_err());
    }
}
