//! Answers to trapped calls: DRM requests go to the device, file-system calls to the private tree, the rest back to
//! the kernel.

use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;

use super::calls::{self, Ask, Named};
use super::listener::{Call, Sent};
use super::supervisor::{Parked, Supervisor};
use super::sys;
use crate::client::{Caller, FileId, ProcessId, Reply};

impl Supervisor {
    pub(super) fn serve(&mut self, call: &Call) -> io::Result<()> {
        if call.foreign {
            if !self.told_foreign {
                let _ = writeln!(
                    io::stderr(),
                    "repro-matrix sim: a 32-bit program was refused: only x86-64 clients are simulated"
                );
                self.told_foreign = true;
            }
            return self.reply(call, Err(libc::ENOSYS));
        }
        if call.nr == libc::SYS_ioctl {
            return self.ioctl(call);
        }
        let Some((named, ask)) = calls::read(call) else { return self.pass_on(call) };
        if named.path == 0 && named.empty_is_fd {
            return self.on_descriptor(call, named.dir, ask);
        }
        let Ok(path) = self.shared.read_path(call.tid, named.path) else { return self.pass_on(call) };
        if path.is_empty() {
            return if named.empty_is_fd {
                self.on_descriptor(call, named.dir, ask)
            } else {
                self.pass_on(call)
            };
        }
        self.on_path(call, named, path, ask)
    }

    fn reply(&self, call: &Call, result: Result<i64, i32>) -> io::Result<()> {
        self.shared.listener.reply(call.id, result).map(drop)
    }

    fn pass_on(&self, call: &Call) -> io::Result<()> {
        self.shared.listener.pass_on(call.id).map(drop)
    }

    fn process(&self, tid: u32) -> io::Result<ProcessId> {
        self.shared.processes.borrow_mut().of_thread(tid)
    }

    fn identify(&mut self, tid: u32, fd: i32) -> Option<(ProcessId, FileId)> {
        if self.files.is_empty() {
            return None;
        }
        let process = self.process(tid).ok()?;
        let processes = self.shared.processes.borrow();
        let file = self.files.identify(tid, fd, processes.pidfd(process))?;
        Some((process, file))
    }

    /// Minor number of the device node that descriptor `fd` of thread `tid` is an open of.
    fn node_of(&mut self, tid: u32, fd: i32) -> Option<u32> {
        self.identify(tid, fd).and_then(|(_, file)| self.files.minor(file))
    }

    fn ioctl(&mut self, call: &Call) -> io::Result<()> {
        let Some((process, file)) = self.identify(call.tid, call.int(0)) else { return self.pass_on(call) };
        let caller = Caller { file, process, thread: call.tid };
        self.last_caller.is(&caller);
        match self.device.ioctl(&caller, call.ptr(1) as u32, call.ptr(2)) {
            Reply::Done(value) => self.reply(call, Ok(value)),
            Reply::Failed(errno) => self.reply(call, Err(errno.0)),
            Reply::Parked(wait) => {
                self.parked.insert(wait, Parked { call: call.id, tid: call.tid });
                Ok(())
            }
        }
    }

    /// fstat and the like on an open device.
    fn on_descriptor(&mut self, call: &Call, fd: i32, ask: Ask) -> io::Result<()> {
        let Some(minor) = self.node_of(call.tid, fd) else { return self.pass_on(call) };
        match calls::find(&self.tree, self.tree.node_path(minor).as_bytes(), true) {
            Ok(found) => self.tell(call, &found, ask),
            Err(_) => self.pass_on(call),
        }
    }

    fn on_path(&mut self, call: &Call, named: Named, path: Vec<u8>, ask: Ask) -> io::Result<()> {
        if path.starts_with(b"/proc/") {
            return self.on_own_descriptor(call, &path, ask);
        }
        let absolute = calls::absolute(&self.shared, &self.tree, call.tid, named.dir, path);
        let Some(path) = absolute.filter(|path| calls::owned(&self.tree, path)) else {
            return self.pass_on(call);
        };
        match ask {
            Ask::Refuse => self.reply(call, Err(libc::EACCES)),
            Ask::Open { flags } => {
                let flags = match self.open_flags(call, flags) {
                    Ok(flags) => flags,
                    Err(errno) => return self.reply(call, Err(errno)),
                };
                self.open(call, &path, flags)
            }
            Ask::ReadLink { to, room } => {
                let text = calls::find(&self.tree, &path, false).and_then(|found| calls::read_link(&found));
                match text {
                    Ok(text) => self.tell_link(call, &text, to, room),
                    Err(e) => self.not_found(call, &path, &e),
                }
            }
            Ask::Stat { follow, .. }
            | Ask::Statx { follow, .. }
            | Ask::Attribute { follow }
            | Ask::Attributes { follow } => match calls::find(&self.tree, &path, follow) {
                Ok(found) => self.tell(call, &found, ask),
                Err(e) => self.not_found(call, &path, &e),
            },
            Ask::Access { .. } => match calls::find(&self.tree, &path, true) {
                Ok(found) => self.tell(call, &found, ask),
                Err(e) => self.not_found(call, &path, &e),
            },
        }
    }

    fn open_flags(&self, call: &Call, flags: i32) -> Result<i32, i32> {
        if call.nr != libc::SYS_openat2 {
            return Ok(flags);
        }
        // struct open_how: flags, mode, resolve.
        let mut how = [0u8; 8];
        self.shared.read(call.tid, call.ptr(2), &mut how).map_err(|e| e.0)?;
        i32::try_from(u64::from_ne_bytes(how)).map_err(|_| libc::EINVAL)
    }

    fn open(&mut self, call: &Call, path: &[u8], flags: i32) -> io::Result<()> {
        let close_on_exec = flags & libc::O_CLOEXEC != 0;
        let found = match calls::find(&self.tree, path, flags & libc::O_NOFOLLOW == 0) {
            Ok(found) => found,
            Err(e) => return self.not_found(call, path, &e),
        };
        if let Some(errno) = calls::open_error(&found, flags) {
            return self.reply(call, Err(errno));
        }
        let node = found.node.filter(|_| flags & libc::O_PATH == 0);
        let Some(minor) = node else {
            return match calls::open(&self.tree, path, flags) {
                Ok(fd) => self.shared.listener.reply_fd(call.id, fd.as_fd(), close_on_exec).map(drop),
                Err(e) => self.fail(call, &e),
            };
        };
        self.open_node(call, minor, flags)
    }

    fn open_node(&mut self, call: &Call, minor: u32, flags: i32) -> io::Result<()> {
        let close_on_exec = flags & libc::O_CLOEXEC != 0;
        // A good moment to notice what was closed: an application opens a device rarely.
        self.close_unused();
        let process = match self.process(call.tid) {
            Ok(process) => process,
            Err(e) => return self.fail(call, &e),
        };
        let file = self.device.open(process);
        match self.files.create(file, minor, flags) {
            Ok(fd) => {
                let sent = self.shared.listener.reply_fd(call.id, fd, close_on_exec)?;
                if sent != Sent::Yes {
                    self.files.remove(file);
                    self.device.close(file);
                }
                Ok(())
            }
            Err(e) => {
                self.device.close(file);
                self.fail(call, &e)
            }
        }
    }

    /// Answers what stat, statx or access asks of a file of the tree.
    fn tell(&self, call: &Call, found: &calls::Found, ask: Ask) -> io::Result<()> {
        let written = match ask {
            Ask::Stat { to, .. } => {
                let stat = found.node.map_or(found.stat, |minor| calls::as_node(found.stat, minor));
                self.shared.write(call.tid, to, sys::bytes_of_stat(&stat))
            }
            Ask::Statx { to, mask, .. } => match sys::statx_fd(found.fd.as_fd(), 0, mask) {
                Ok(statx) => {
                    let statx = found.node.map_or(statx, |minor| calls::as_node_x(statx, minor));
                    self.shared.write(call.tid, to, sys::bytes_of_statx(&statx))
                }
                Err(e) => return self.fail(call, &e),
            },
            Ask::Access { mode } => {
                let denied = found.node.is_none() && mode & libc::W_OK != 0
                    || found.node.is_some() && mode & libc::X_OK != 0;
                return self.reply(call, if denied { Err(libc::EACCES) } else { Ok(0) });
            }
            // The device's files have no extended attributes.
            Ask::Attribute { .. } => return self.reply(call, Err(libc::ENODATA)),
            Ask::Attributes { .. } => return self.reply(call, Ok(0)),
            Ask::Open { .. } | Ask::ReadLink { .. } | Ask::Refuse => return self.pass_on(call),
        };
        self.reply(call, written.map(|()| 0).map_err(|e| e.0))
    }

    fn tell_link(&self, call: &Call, text: &[u8], to: u64, room: u64) -> io::Result<()> {
        let Ok(room) = usize::try_from(room) else { return self.reply(call, Err(libc::EINVAL)) };
        if room == 0 {
            return self.reply(call, Err(libc::EINVAL));
        }
        let text = text.get(..text.len().min(room)).unwrap_or_default();
        let written = self.shared.write(call.tid, to, text);
        self.reply(call, written.map(|()| text.len() as i64).map_err(|e| e.0))
    }

    /// `/proc/self/fd/N`: for a device or a directory of the tree it shows, and leads to, what the client opened.
    fn on_own_descriptor(&mut self, call: &Call, path: &[u8], ask: Ask) -> io::Result<()> {
        let Some((who, fd)) = calls::descriptor(path, call.tid) else { return self.pass_on(call) };
        if let Some(minor) = self.node_of(who, fd) {
            let name = self.tree.node_path(minor);
            return match ask {
                Ask::ReadLink { to, room } => self.tell_link(call, name.as_bytes(), to, room),
                Ask::Open { flags } => match self.open_flags(call, flags) {
                    Ok(flags) => self.open(call, name.as_bytes(), flags),
                    Err(errno) => self.reply(call, Err(errno)),
                },
                Ask::Stat { follow: true, .. } | Ask::Statx { follow: true, .. } | Ask::Access { .. } => {
                    match calls::find(&self.tree, name.as_bytes(), true) {
                        Ok(found) => self.tell(call, &found, ask),
                        Err(e) => self.fail(call, &e),
                    }
                }
                _ => self.pass_on(call),
            };
        }
        let Ask::ReadLink { to, room } = ask else { return self.pass_on(call) };
        match std::fs::read_link(format!("/proc/{who}/fd/{fd}")) {
            Ok(target) => match self.tree.strip(target.as_os_str().as_bytes()) {
                Some(inside) => self.tell_link(call, inside, to, room),
                None => self.pass_on(call),
            },
            Err(_) => self.pass_on(call),
        }
    }

    /// A path that leaves the tree by `..` may name a file of the host.
    fn not_found(&self, call: &Call, path: &[u8], error: &io::Error) -> io::Result<()> {
        if error.raw_os_error() == Some(libc::ENOENT) && !calls::ends_in(&self.tree, path) {
            return self.pass_on(call);
        }
        self.fail(call, error)
    }

    fn fail(&self, call: &Call, error: &io::Error) -> io::Result<()> {
        self.reply(call, Err(error.raw_os_error().unwrap_or(libc::EIO)))
    }
}
