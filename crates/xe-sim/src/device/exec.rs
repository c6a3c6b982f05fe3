//! EXEC, and running what was submitted.

use std::time::{Duration, Instant};

use super::objects::QueueKey;
use super::sync::{Signal, Syncs};
use super::{Device, ENOENT, fail, require};
use crate::client::{Caller, Errno};
use crate::cs::memory::GpuMemory;
use crate::cs::{Ids, Machine, Stop};
use crate::fault::{BindKind, Point};
use crate::trace::{EngineClass, Event};
use crate::uapi::wire::{Argument, Exec};

/// How long a job may stand still in a VM without LR mode (xe: `job_timeout_ms`, 5 s).
const JOB_TIMEOUT: Duration = Duration::from_secs(5);

/// One submitted batch.
#[derive(Debug)]
pub struct Job {
    batch: u64,
    syncs: Syncs,
    submitted: Instant,
    started: bool,
}

/// What became of a queue when it was given a chance to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    /// No work left.
    Empty,
    /// Work is left that waits for memory or for another queue.
    Waits,
}

impl Device {
    pub(super) fn exec(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let e = Exec::load(a);
        require(
            e.extensions() == 0
                && e.pad0() == 0
                && e.pad12() == 0
                && e.reserved0() == 0
                && e.reserved1() == 0,
        )?;
        let key = self.queue_key(caller, e.exec_queue_id())?;
        let queue = self.queues.get(&key).ok_or(ENOENT)?;
        require(queue.class != EngineClass::VmBind && e.num_batch_buffer() <= 1)?;
        let result = self.submit(caller, key, &e);
        let errno = result.err().map_or(0, |e| e.0);
        self.trace.emit(Event::Exec {
            file: caller.file.0,
            queue: e.exec_queue_id(),
            addr: e.address(),
            errno,
        });
        result?;
        self.run_queue(key);
        Ok(())
    }

    fn submit(&mut self, caller: &Caller, key: QueueKey, e: &Exec) -> Result<(), Errno> {
        if self.queues.get(&key).is_some_and(|q| q.banned) {
            return Err(fail(libc::ECANCELED));
        }
        self.inject(Point::Exec, BindKind::Other)?;
        let syncs = self.read_syncs(caller, e.syncs(), e.num_syncs(), true)?;
        let Some(queue) = self.queues.get_mut(&key) else { return Err(ENOENT) };
        if e.num_batch_buffer() == 1 {
            queue.jobs.push_back(Job {
                batch: e.address(),
                syncs,
                submitted: Instant::now(),
                started: false,
            });
        } else {
            // No batch: the kernel signals the fences when the work before it is done; none is modelled before it.
            for signal in syncs.signals {
                self.signal_exec(key, signal);
            }
        }
        Ok(())
    }

    /// Gives every queue a chance. Returns whether any command was executed, and whether some queue still has work.
    pub(super) fn run_queues(&mut self) -> (bool, bool) {
        let keys: Vec<QueueKey> = self
            .queues
            .iter()
            .filter(|(_, q)| !q.jobs.is_empty() && !q.banned)
            .map(|(key, _)| *key)
            .collect();
        let (mut advanced, mut left) = (false, false);
        for key in keys {
            let (progress, ran) = self.run_queue(key);
            advanced |= progress;
            left |= ran == Ran::Waits;
        }
        (advanced, left)
    }

    fn run_queue(&mut self, key: QueueKey) -> (bool, Ran) {
        let mut progress = false;
        loop {
            let Some(queue) = self.queues.get_mut(&key) else { return (progress, Ran::Empty) };
            if queue.banned {
                return (progress, Ran::Empty);
            }
            let file = queue.file;
            let Some(job) = queue.jobs.front_mut() else { return (progress, Ran::Empty) };
            if !job.started {
                let waits = std::mem::take(&mut job.syncs.waits);
                let ready = waits.iter().all(|(handle, point)| self.syncobj_reached(file, *handle, *point));
                let Some(queue) = self.queues.get_mut(&key) else { return (progress, Ran::Empty) };
                let Some(job) = queue.jobs.front_mut() else { return (progress, Ran::Empty) };
                if !ready {
                    job.syncs.waits = waits;
                    return (progress, Ran::Waits);
                }
                job.started = true;
                job.submitted = Instant::now();
                let batch = job.batch;
                queue.context.start(batch);
            }
            let (moved, stop) = self.execute(key);
            progress |= moved;
            match stop {
                Stop::Done => {
                    let job = self.queues.get_mut(&key).and_then(|q| q.jobs.pop_front());
                    for signal in job.map(|j| j.syncs.signals).unwrap_or_default() {
                        self.signal_exec(key, signal);
                    }
                }
                Stop::Budget => return (true, Ran::Waits),
                Stop::Parked => {
                    if !moved && self.job_timed_out(key) {
                        self.ban(key, "job timed out (5 s without progress)".to_owned());
                        return (progress, Ran::Empty);
                    }
                    if moved && let Some(job) = self.queues.get_mut(&key).and_then(|q| q.jobs.front_mut()) {
                        job.submitted = Instant::now();
                    }
                    return (progress, Ran::Waits);
                }
                Stop::Fault(reason) => {
                    self.ban(key, reason);
                    return (progress, Ran::Empty);
                }
            }
        }
    }

    /// Whether the front job of a queue outside LR mode stood still too long.
    fn job_timed_out(&self, key: QueueKey) -> bool {
        let Some(queue) = self.queues.get(&key) else { return false };
        let long_running = self.vms.get(&queue.vm).is_some_and(|vm| vm.long_running);
        !long_running && queue.jobs.front().is_some_and(|j| j.submitted.elapsed() > JOB_TIMEOUT)
    }

    fn execute(&mut self, key: QueueKey) -> (bool, Stop) {
        let Device {
            queues, vms, arena, mem, trace, counters, profile, kernels, geometry, attendant, ..
        } = self;
        let Some(queue) = queues.get_mut(&key) else { return (false, Stop::Done) };
        let Some(vm) = vms.get(&queue.vm) else {
            return (false, Stop::Fault("the queue's VM was destroyed".to_owned()));
        };
        let mut machine = Machine {
            ids: Ids { file: queue.file.0, queue: queue.id, vm: queue.vm_id },
            family: profile.family,
            memory: GpuMemory { vm, arena, client: mem.as_ref() },
            ctx: &mut queue.context,
            trace,
            counters,
            kernels,
            geometry: *geometry,
            attendant: attendant.as_ref(),
        };
        machine.run()
    }

    /// A user fence of EXEC is written through the queue's VM, as by the job's last commands.
    fn signal_exec(&mut self, key: QueueKey, signal: Signal) {
        let Some(queue) = self.queues.get(&key) else { return };
        let (file, id, vm_id) = (queue.file, queue.id, queue.vm_id);
        match signal {
            Signal::Syncobj { handle, point } => self.syncobj_signal(file, handle, point),
            Signal::User { addr, value } => {
                let Some(vm) = self.vms.get(&queue.vm) else { return };
                let memory = GpuMemory { vm, arena: &self.arena, client: self.mem.as_ref() };
                let touch = memory.write(addr, &value.to_le_bytes());
                if touch.missed == 0 {
                    return;
                }
                let scratch = vm.scratch;
                self.counters.unmapped_writes += 1;
                self.trace.emit(Event::UnmappedAccess {
                    file: file.0,
                    vm: vm_id,
                    queue: id,
                    addr: touch.first,
                    write: true,
                    bytes: touch.missed,
                    by: "EXEC user fence".to_owned(),
                    scratch,
                });
                if !scratch {
                    self.ban(key, format!("page fault: user fence at unbound {:#x}", touch.first));
                }
            }
        }
    }

    /// The kernel's answer to a fault or hang: the queue never runs again and its work is dropped.
    fn ban(&mut self, key: QueueKey, reason: String) {
        let Some(queue) = self.queues.get_mut(&key) else { return };
        queue.banned = true;
        queue.jobs.clear();
        let (file, id) = (queue.file.0, queue.id);
        self.trace.emit(Event::QueueBanned { file, queue: id, reason });
    }
}
