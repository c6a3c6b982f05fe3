//! The simulated device: dispatch of requests to the objects of the xe driver.

mod bind;
mod core;
mod exec;
mod gem;
pub mod interval;
mod objects;
mod query;
mod queue;
mod sync;
mod syncobj;
pub mod vm;
mod vms;
mod wait;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use crate::arena::Arena;
use crate::client::{Caller, ClientExit, ClientMem, Errno, FileId, ProcessId, Reply, WaitId};
use crate::cs::Counters;
use crate::eu::{Geometry, KernelCache};
use crate::fault::{BindKind, Effect, FaultPlan, Point};
pub use crate::launch::Attendant;
use crate::profile::Profile;
use crate::trace::{Event, Summary, TRACE_VERSION, TraceSink};
use crate::uapi::ioc::{self, Request};
use crate::uapi::wire::{Argument, MAX_ARGUMENT};
use objects::{Bo, BoId, File, QueueKey, VmKey};
use queue::Queue;
use vm::Vm;
use wait::Wait;

/// What [`Device::advance`] did and when it wants to be called again.
#[derive(Debug)]
pub struct Progress {
    /// Parked waits that ended, with the ioctl's result for the caller.
    pub finished: Vec<(WaitId, Result<i64, Errno>)>,
    /// Some queue executed at least one command.
    pub advanced: bool,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing can change before the next request.
    Idle,
    /// A queue or a wait watches memory that the client may write without a trap: call again soon.
    Poll,
    /// A parked wait times out then, and nothing else can change before.
    At(Instant),
}

/// A request's result before it becomes a [`Reply`].
#[derive(Debug)]
enum Outcome {
    Value(i64),
    Parked(WaitId),
}

type Served = Result<Outcome, Errno>;

const fn fail(errno: i32) -> Errno {
    Errno(errno)
}

const EINVAL: Errno = fail(libc::EINVAL);
const ENOENT: Errno = fail(libc::ENOENT);
const ENOMEM: Errno = fail(libc::ENOMEM);
const EOPNOTSUPP: Errno = fail(libc::EOPNOTSUPP);

/// `EINVAL` unless the condition holds.
fn require(condition: bool) -> Result<(), Errno> {
    if condition { Ok(()) } else { Err(EINVAL) }
}

#[derive(Debug, Default)]
struct Counts {
    /// Requests by number.
    ioctls: BTreeMap<u32, u64>,
    failed: BTreeMap<(u32, i32), u64>,
    unsupported: BTreeMap<String, u64>,
    injected: BTreeMap<String, u64>,
    handler_ns: u64,
    served: u64,
}

/// Waits for a dispatch however long it takes.
struct Nobody;

impl Attendant for Nobody {}

/// One simulated card with all its clients' objects.
pub struct Device {
    profile: &'static Profile,
    arena: Arena,
    mem: Box<dyn ClientMem>,
    trace: TraceSink,
    faults: FaultPlan,
    files: BTreeMap<FileId, File>,
    bos: BTreeMap<BoId, Bo>,
    vms: BTreeMap<VmKey, Vm>,
    queues: BTreeMap<QueueKey, Queue>,
    waits: Vec<Wait>,
    parting: gem::Parting,
    /// Source of file, object, VM, queue and wait numbers; none is reused.
    last_key: u64,
    usage: gem::Usage,
    counts: Counts,
    counters: Counters,
    /// Decoded kernels, by address.
    kernels: KernelCache,
    geometry: Option<Geometry>,
    attendant: Box<dyn Attendant>,
}

impl Device {
    pub fn attend(&mut self, attendant: impl Attendant + 'static) {
        self.attendant = Box::new(attendant);
    }

    pub fn new(
        profile: &'static Profile,
        arena: Arena,
        mem: Box<dyn ClientMem>,
        trace: TraceSink,
        faults: FaultPlan,
    ) -> Device {
        let mut device = Device {
            profile,
            arena,
            mem,
            trace,
            faults,
            files: BTreeMap::new(),
            bos: BTreeMap::new(),
            vms: BTreeMap::new(),
            queues: BTreeMap::new(),
            waits: Vec::new(),
            parting: gem::Parting::default(),
            last_key: 0,
            usage: gem::Usage::default(),
            counts: Counts::default(),
            counters: Counters::default(),
            kernels: KernelCache::default(),
            geometry: profile.geometry(),
            attendant: Box::new(Nobody),
        };
        device.trace.emit(Event::Start {
            version: TRACE_VERSION,
            device: profile.product.to_owned(),
            profile: profile.name.to_owned(),
            executes_kernels: device.geometry.is_some(),
            faults: device.faults.texts(),
        });
        device
    }

    pub fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// The memfd that clients get as their device descriptor.
    pub fn arena_fd(&self) -> BorrowedFd<'_> {
        self.arena.fd()
    }

    /// The memory behind all objects.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Hands buffered trace lines to their writer. It is the caller who knows when there is time for that; urgent events and
    /// full buffers do not wait for it.
    pub fn flush_trace(&mut self) {
        self.trace.flush();
    }

    /// Why the trace is not whole, if it is not.
    pub fn trace_trouble(&self) -> Option<String> {
        self.trace.trouble().map(ToString::to_string)
    }

    /// Whether trace lines wait to be handed on.
    pub fn trace_waits(&self) -> bool {
        self.trace.waits()
    }

    fn key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    /// A client opened the device node.
    pub fn open(&mut self, process: ProcessId) -> FileId {
        let file = FileId(self.key());
        self.files.insert(file, File::new());
        self.trace.emit(Event::Open { file: file.0, process: process.0 });
        file
    }

    /// The last descriptor of an open file description is gone: everything it owned goes with it.
    pub fn close(&mut self, file: FileId) {
        let Some(gone) = self.files.remove(&file) else { return };
        self.waits.retain(|w| w.file != file);
        for queue in gone.queues.values() {
            self.drop_queue(*queue);
        }
        for vm in gone.vms.values() {
            self.drop_vm(*vm);
        }
        for bo in gone.handles.values() {
            self.drop_handle(*bo);
        }
        self.trace.emit(Event::Close { file: file.0 });
        self.trace.flush();
    }

    /// A client process ended (its files are closed one by one by the caller).
    pub fn process_gone(&mut self, process: ProcessId) {
        self.waits.retain(|w| w.process != process);
    }

    /// The caller of a parked wait was interrupted or died: forget it.
    pub fn cancel_wait(&mut self, wait: WaitId) {
        self.waits.retain(|w| w.id != wait);
    }

    /// Serves one DRM ioctl. `cmd` is the request number as passed by the client, `arg` its argument.
    ///
    /// Sizes, copying and errors follow the kernel's `drm_ioctl()`: the client's struct may be shorter or longer than
    /// the kernel's, the copy out happens even when the request failed.
    pub fn ioctl(&mut self, caller: &Caller, cmd: u32, arg: u64) -> Reply {
        let began = Instant::now();
        let request = Request::decode(cmd);
        *self.counts.ioctls.entry(request.nr).or_default() += 1;
        let served = self.serve(caller, request, arg);
        let reply = match served {
            Ok(Outcome::Value(value)) => Reply::Done(value),
            Ok(Outcome::Parked(wait)) => Reply::Parked(wait),
            Err(errno) => {
                self.count_failure(caller.file, request.nr, errno);
                Reply::Failed(errno)
            }
        };
        self.counts.served += 1;
        self.counts.handler_ns += u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        reply
    }

    fn count_failure(&mut self, file: FileId, nr: u32, errno: Errno) {
        *self.counts.failed.entry((nr, errno.0)).or_default() += 1;
        self.trace.emit(Event::IoctlFailed { file: file.0, nr, name: ioc::name(nr), errno: errno.0 });
    }

    fn serve(&mut self, caller: &Caller, request: Request, arg: u64) -> Served {
        if request.kind != ioc::DRM_TYPE {
            return Err(fail(libc::ENOTTY));
        }
        if !self.files.contains_key(&caller.file) {
            return Err(fail(libc::EBADF));
        }
        let Some(spec) = ioc::spec(request.nr) else {
            return Err(self.unsupported(caller.file, request.nr, "no such request", EINVAL));
        };
        if !spec.render {
            return Err(fail(libc::EACCES));
        }
        let ours = Request::decode(spec.cmd);
        let size = request.size.min(ours.size).min(MAX_ARGUMENT);
        let mut argument: Argument = [0; MAX_ARGUMENT];
        let bytes = argument.get_mut(..size).unwrap_or_default();
        if request.input && ours.input {
            self.mem.read(caller.process, arg, bytes)?;
        }
        let served = self.call(caller, request.nr, &mut argument, arg);
        if request.output && ours.output {
            let bytes = argument.get(..size).unwrap_or_default();
            self.mem.write(caller.process, arg, bytes)?;
        }
        served
    }

    fn call(&mut self, caller: &Caller, nr: u32, a: &mut Argument, arg: u64) -> Served {
        let done = |result: Result<(), Errno>| result.map(|()| Outcome::Value(0));
        match nr {
            ioc::VERSION => done(self.version(caller, a)),
            ioc::GET_CAP => done(self.get_cap(a)),
            ioc::GEM_CLOSE => done(self.gem_close(caller, a)),
            ioc::XE_DEVICE_QUERY => done(self.device_query(caller, a)),
            ioc::XE_GEM_CREATE => done(self.gem_create(caller, a)),
            ioc::XE_GEM_MMAP_OFFSET => done(self.gem_mmap_offset(caller, a)),
            ioc::XE_VM_CREATE => done(self.vm_create(caller, a)),
            ioc::XE_VM_DESTROY => done(self.vm_destroy(caller, a)),
            ioc::XE_VM_BIND => done(self.vm_bind(caller, a)),
            ioc::XE_VM_GET_PROPERTY => done(self.vm_get_property(caller, a)),
            ioc::XE_MADVISE => done(self.madvise(caller, a)),
            ioc::XE_EXEC_QUEUE_CREATE => done(self.queue_create(caller, a)),
            ioc::XE_EXEC_QUEUE_DESTROY => done(self.queue_destroy(caller, a)),
            ioc::XE_EXEC_QUEUE_GET_PROPERTY => done(self.queue_get_property(caller, a)),
            ioc::XE_EXEC_QUEUE_SET_PROPERTY => done(self.queue_set_property(caller, a)),
            ioc::XE_EXEC => done(self.exec(caller, a)),
            ioc::XE_WAIT_USER_FENCE => self.wait_user_fence(caller, a, arg),
            ioc::SYNCOBJ_CREATE..=ioc::SYNCOBJ_EVENTFD => self.syncobj(caller, nr, a, arg),
            _ => Err(self.unsupported(caller.file, nr, "not modelled", EOPNOTSUPP)),
        }
    }

    /// Counts and traces a request (or a part of one) that the model does not have, and passes the errno through.
    fn unsupported(&mut self, file: FileId, nr: u32, detail: &str, errno: Errno) -> Errno {
        let name = ioc::name(nr);
        *self.counts.unsupported.entry(format!("{name} ({detail})")).or_default() += 1;
        self.trace.emit(Event::UnsupportedIoctl {
            file: file.0,
            nr,
            name,
            detail: detail.to_owned(),
            errno: errno.0,
        });
        errno
    }

    fn file(&self, caller: &Caller) -> Result<&File, Errno> {
        self.files.get(&caller.file).ok_or(fail(libc::EBADF))
    }

    fn file_mut(&mut self, caller: &Caller) -> Result<&mut File, Errno> {
        self.files.get_mut(&caller.file).ok_or(fail(libc::EBADF))
    }

    /// Applies fault rules at `point`. `Ok(true)` asks a wait never to look at its fence.
    fn inject(&mut self, point: Point, kind: BindKind) -> Result<bool, Errno> {
        let Some((effect, rule)) = self.faults.hit(point, kind) else { return Ok(false) };
        let rule = rule.to_owned();
        let errno = match effect {
            Effect::Fail(errno) => errno.0,
            Effect::Never => 0,
        };
        *self.counts.injected.entry(rule.clone()).or_default() += 1;
        self.trace.emit(Event::FaultInjected { rule, at: format!("{point:?}"), errno });
        match effect {
            Effect::Fail(errno) => Err(errno),
            Effect::Never => Ok(true),
        }
    }

    /// Runs queues that can go on, ends waits. Cheap when there is nothing to do.
    pub fn advance(&mut self) -> Progress {
        let began = Instant::now();
        let (advanced, queues_watch) = self.run_queues();
        let (finished, waits) = self.check_waits(began);
        let next = if queues_watch { Next::Poll } else { waits };
        if next == Next::Idle {
            self.release_fresh_parting();
        }
        if advanced || !finished.is_empty() {
            self.counts.handler_ns += u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        }
        Progress { finished, advanced, next }
    }

    /// Writes the summary event and returns it.
    pub fn finish(&mut self, exit: ClientExit) -> Summary {
        self.trace.flush();
        let counts = &self.counts;
        let summary = Summary {
            ioctls: counts.ioctls.iter().map(|(nr, n)| (ioc::name(*nr), *n)).collect(),
            failed: counts
                .failed
                .iter()
                .map(|((nr, errno), n)| (format!("{} {}", ioc::name(*nr), ioc::errno_name(*errno)), *n))
                .collect(),
            unsupported_ioctls: counts.unsupported.clone(),
            unsupported_commands: self.counters.unsupported.clone(),
            injected: counts.injected.clone(),
            dispatches: self.counters.dispatches,
            hazards: self.counters.hazards,
            unmapped_reads: self.counters.unmapped_reads,
            unmapped_writes: self.counters.unmapped_writes,
            copied_bytes: self.counters.copied_bytes,
            executed: self.counters.executed,
            instructions: self.counters.instructions,
            executing_ns: self.counters.executing_ns,
            native_dispatches: self.counters.native_dispatches,
            native_bytes: self.counters.native_bytes,
            sampled_groups: self.counters.sampled_groups,
            kernel_unmapped_read: self.counters.kernel_unmapped_read,
            kernel_unmapped_written: self.counters.kernel_unmapped_written,
            notifications: counts.served,
            handler_ns: counts.handler_ns,
            lost_events: self.trace.lost(),
            exit_code: exit.code,
            signal: exit.signal,
        };
        self.trace.emit(Event::Summary(summary.clone()));
        summary
    }
}
