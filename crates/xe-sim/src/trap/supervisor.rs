//! The loop that answers trapped calls. One thread: a wait never blocks it, its reply is parked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::calls::{self, Ask, Named};
use super::files::Files;
use super::listener::{Call, Listener};
use super::remote::{self, Processes, RemoteMem, Shared};
use super::spawn::Client;
use super::tree::Tree;
use super::{SimOutcome, sys};
use crate::arena::Arena;
use crate::client::{Caller, ClientExit, ProcessId, Reply, WaitId};
use crate::device::{Device, Next};
use crate::fault::FaultPlan;
use crate::profile::Profile;
use crate::trace::TraceSink;

/// After the command's own end, how long other processes under the filter are waited for.
const LINGER: Duration = Duration::from_secs(2);
/// A queue that watches memory is looked at without sleeping for this long after something happened: a client that
/// has just written a ring's semaphore spins on the answer.
const SPIN: Duration = Duration::from_micros(30);
/// First and longest sleep between looks after that.
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_micros(500);
/// Parked callers are asked this often whether a signal waits for them or they died.
const PARKED_TICK: Duration = Duration::from_millis(5);

struct Parked {
    call: u64,
    tid: u32,
}

pub(super) struct Supervisor {
    shared: Rc<Shared>,
    device: Device,
    files: Files,
    tree: Tree,
    client: Client,
    signals: SignalFd,
    parked: HashMap<WaitId, Parked>,
    /// How the command ended, and when.
    ended: Option<(ClientExit, Instant)>,
    told_foreign: bool,
}

/// Why the loop ends.
enum Turn {
    GoOn,
    Finished,
}

impl Supervisor {
    pub(super) fn new(
        profile: &'static Profile,
        arena: Arena,
        trace: TraceSink,
        faults: FaultPlan,
        tree: Tree,
        client: Client,
    ) -> io::Result<Supervisor> {
        // A sleep of 20 µs is not to become 70.
        sys::set_timer_slack(1);
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            mask.add(signal);
        }
        pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&mask), None)?;
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let files = Files::new(arena.fd())?;
        let listener = Listener::new(client.listener.try_clone()?, true);
        let shared = Rc::new(Shared {
            listener,
            processes: RefCell::new(Processes::default()),
            device_file: files.arena(),
        });
        let memory = Box::new(RemoteMem(Rc::clone(&shared)));
        let device = Device::new(profile, arena, memory, trace, faults);
        Ok(Supervisor {
            shared,
            device,
            files,
            tree,
            client,
            signals,
            parked: HashMap::new(),
            ended: None,
            told_foreign: false,
        })
    }

    /// Serves until the client is gone.
    pub(super) fn run(mut self) -> io::Result<SimOutcome> {
        let mut last_event = Instant::now();
        let mut sleep = SHORTEST_SLEEP;
        loop {
            let progress = self.device.advance();
            for (wait, result) in progress.finished {
                self.end_wait(wait, result.map_err(|e| e.0))?;
            }
            if progress.advanced {
                last_event = Instant::now();
                sleep = SHORTEST_SLEEP;
            }
            let timeout = self.timeout(progress.next, last_event, &mut sleep);
            match self.turn(timeout, &mut last_event)? {
                Turn::GoOn => {}
                Turn::Finished => break,
            }
            if last_event.elapsed() < SPIN {
                sleep = SHORTEST_SLEEP;
            }
        }
        let exit = self.ended.map_or(ClientExit::default(), |(exit, _)| exit);
        let summary = self.device.finish(exit);
        Ok(SimOutcome { exit, summary })
    }

    /// How long the poll may sleep; `None`: until something comes.
    fn timeout(&self, next: Next, last_event: Instant, sleep: &mut Duration) -> Option<Duration> {
        let mut timeout = match next {
            Next::Idle => None,
            Next::At(when) => Some(when.saturating_duration_since(Instant::now())),
            Next::Poll if last_event.elapsed() < SPIN => Some(Duration::ZERO),
            Next::Poll => {
                let now = *sleep;
                *sleep = (*sleep * 2).min(LONGEST_SLEEP);
                Some(now)
            }
        };
        if !self.parked.is_empty() {
            timeout = Some(timeout.map_or(PARKED_TICK, |t| t.min(PARKED_TICK)));
        }
        if let Some((_, when)) = self.ended {
            let left = LINGER.saturating_sub(when.elapsed());
            timeout = Some(timeout.map_or(left, |t| t.min(left)));
        }
        timeout
    }

    /// One poll and what it brought.
    fn turn(&mut self, timeout: Option<Duration>, last_event: &mut Instant) -> io::Result<Turn> {
        if timeout.is_none_or(|t| t > SPIN) {
            self.device.flush_trace();
        }
        let shared = Rc::clone(&self.shared);
        let watched: Vec<(ProcessId, OwnedFd)> = Vec::new();
        let processes = shared.processes.borrow();
        let ids: Vec<ProcessId> = processes.pidfds().map(|(id, _)| id).collect();
        let mut fds = vec![
            PollFd::new(shared.listener.fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        if self.ended.is_none() {
            fds.push(PollFd::new(self.client.pidfd.as_fd(), PollFlags::POLLIN));
        }
        let first_process = fds.len();
        for id in &ids {
            if let Some(fd) = processes.pidfd(*id) {
                fds.push(PollFd::new(fd, PollFlags::POLLIN));
            }
        }
        drop(watched);
        let spec = timeout.map(TimeSpec::from);
        match ppoll(&mut fds, spec, None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        let got = |i: usize| fds.get(i).and_then(|fd| fd.revents()).unwrap_or(PollFlags::empty());
        let listener = got(0);
        let signalled = got(1).contains(PollFlags::POLLIN);
        let client_ended = self.ended.is_none() && got(2).contains(PollFlags::POLLIN);
        let gone: Vec<ProcessId> = ids
            .iter()
            .enumerate()
            .filter(|(i, _)| got(first_process + i).contains(PollFlags::POLLIN))
            .map(|(_, id)| *id)
            .collect();
        drop(fds);
        drop(processes);

        if listener.contains(PollFlags::POLLIN) {
            *last_event = Instant::now();
            if let Some(call) = shared.listener.receive()? {
                self.serve(&call)?;
                shared.listener.done();
            }
        }
        if signalled {
            self.pass_signals_on();
        }
        for process in gone {
            self.forget(process);
        }
        if client_ended {
            self.ended = self.reap().map(|exit| (exit, Instant::now()));
        }
        self.look_at_parked()?;
        let nobody_left = listener.contains(PollFlags::POLLHUP);
        let lingered = self.ended.is_some_and(|(_, when)| when.elapsed() >= LINGER);
        Ok(if self.ended.is_some() && (nobody_left || lingered) { Turn::Finished } else { Turn::GoOn })
    }

    fn reap(&self) -> Option<ClientExit> {
        match waitpid(Pid::from_raw(self.client.pid as i32), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => Some(ClientExit { code: Some(code), signal: None }),
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Some(ClientExit { code: None, signal: Some(signal as i32) })
            }
            Ok(_) => None,
            // Someone else has reaped it: how it ended is not known.
            Err(_) => Some(ClientExit::default()),
        }
    }

    fn pass_signals_on(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            if let Ok(signal) = Signal::try_from(info.ssi_signo as i32) {
                let _ = nix::sys::signal::kill(Pid::from_raw(self.client.pid as i32), signal);
            }
        }
    }

    fn forget(&mut self, process: ProcessId) {
        self.shared.processes.borrow_mut().forget(process);
        self.close_unused();
        self.device.process_gone(process);
    }

    /// Closes the files whose last descriptor and mapping is gone.
    fn close_unused(&mut self) {
        for file in self.files.sweep() {
            self.device.close(file);
        }
    }

    fn end_wait(&mut self, wait: WaitId, result: Result<i64, i32>) -> io::Result<()> {
        if let Some(parked) = self.parked.remove(&wait) {
            self.shared.listener.reply(parked.call, result)?;
        }
        Ok(())
    }

    /// A parked caller that died is forgotten; one that a signal waits for is answered as the kernel would.
    fn look_at_parked(&mut self) -> io::Result<()> {
        if self.parked.is_empty() {
            return Ok(());
        }
        let listener = &self.shared.listener;
        let over: Vec<WaitId> = self
            .parked
            .iter()
            .filter(|(_, p)| !listener.is_valid(p.call) || remote::signal_waits(p.tid))
            .map(|(wait, _)| *wait)
            .collect();
        for wait in over {
            self.device.cancel_wait(wait);
            self.end_wait(wait, Err(super::listener::EINTR))?;
        }
        Ok(())
    }

    fn serve(&mut self, call: &Call) -> io::Result<()> {
        if call.foreign {
            if !self.told_foreign {
                eprintln!(
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
        if named.path == 0 {
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

    fn identify(&mut self, tid: u32, fd: i32) -> Option<crate::client::FileId> {
        if self.files.is_empty() {
            return None;
        }
        let process = self.process(tid).ok()?;
        let processes = self.shared.processes.borrow();
        self.files.identify(tid, fd, processes.pidfd(process))
    }

    fn ioctl(&mut self, call: &Call) -> io::Result<()> {
        let Some(file) = self.identify(call.tid, call.int(0)) else { return self.pass_on(call) };
        let Ok(process) = self.process(call.tid) else { return self.pass_on(call) };
        let caller = Caller { file, process, thread: call.tid };
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
        let Some(minor) = self.identify(call.tid, fd).and_then(|file| self.files.minor(file)) else {
            return self.pass_on(call);
        };
        match calls::find(&self.tree, self.tree.node_path(minor).as_bytes(), true) {
            Ok(found) => self.tell(call, &found, ask),
            Err(_) => self.pass_on(call),
        }
    }

    fn on_path(&mut self, call: &Call, named: Named, path: Vec<u8>, ask: Ask) -> io::Result<()> {
        if let Ask::ReadLink { to, room } = ask
            && path.starts_with(b"/proc/")
        {
            return self.own_link(call, &path, to, room);
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
                    Err(e) => self.fail(call, &e),
                }
            }
            Ask::Stat { follow, .. } | Ask::Statx { follow, .. } => {
                match calls::find(&self.tree, &path, follow) {
                    Ok(found) => self.tell(call, &found, ask),
                    Err(e) => self.fail(call, &e),
                }
            }
            Ask::Access { .. } => match calls::find(&self.tree, &path, true) {
                Ok(found) => self.tell(call, &found, ask),
                Err(e) => self.fail(call, &e),
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
            Err(e) => return self.fail(call, &e),
        };
        let node = found.node.filter(|_| flags & libc::O_PATH == 0);
        let Some(minor) = node else {
            return match calls::open(&self.tree, path, flags) {
                Ok(fd) => self.shared.listener.reply_fd(call.id, fd.as_fd(), close_on_exec).map(drop),
                Err(e) => self.fail(call, &e),
            };
        };
        // A good moment to notice what was closed: an application opens a device rarely.
        self.close_unused();
        let process = match self.process(call.tid) {
            Ok(process) => process,
            Err(_) => return self.pass_on(call),
        };
        let file = self.device.open(process);
        match self.files.create(file, minor, flags) {
            Ok(fd) => {
                let sent = self.shared.listener.reply_fd(call.id, fd, close_on_exec)?;
                if sent != super::listener::Sent::Yes {
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

    /// `/proc/self/fd/N` of a device or of a directory of the tree shows what the client opened.
    fn own_link(&mut self, call: &Call, path: &[u8], to: u64, room: u64) -> io::Result<()> {
        let Ok(process) = self.process(call.tid) else { return self.pass_on(call) };
        let Some(fd) = calls::own_descriptor(path, call.tid, process.0) else { return self.pass_on(call) };
        if let Some(minor) = self.identify(call.tid, fd).and_then(|file| self.files.minor(file)) {
            let name = self.tree.node_path(minor);
            return self.tell_link(call, name.as_bytes(), to, room);
        }
        use std::os::unix::ffi::OsStrExt as _;
        match std::fs::read_link(format!("/proc/{}/fd/{fd}", call.tid)) {
            Ok(target) => match self.tree.strip(target.as_os_str().as_bytes()) {
                Some(inside) => self.tell_link(call, inside, to, room),
                None => self.pass_on(call),
            },
            Err(_) => self.pass_on(call),
        }
    }

    fn fail(&self, call: &Call, error: &io::Error) -> io::Result<()> {
        self.reply(call, Err(error.raw_os_error().unwrap_or(libc::EIO)))
    }
}
