//! Exec queues: creation, properties, destruction.

use std::collections::VecDeque;

use super::exec::Job;
use super::objects::{QueueKey, VmKey};
use super::{Device, EINVAL, ENOENT, fail, require};
use crate::client::{Caller, Errno, FileId};
use crate::cs::Context;
use crate::fault::{BindKind, Point};
use crate::trace::{EngineClass, Event};
use crate::uapi::ioc;
use crate::uapi::wire::{Argument, Destroy, EngineInstance, ExtSetProperty, QueueCreate, QueueProperty};

const FLAG_LOW_LATENCY: u32 = 1;
const MAX_PLACEMENTS: u16 = 8;
/// Extensions in one chain (xe: `MAX_USER_EXTENSIONS`).
const MAX_EXTENSIONS: u32 = 16;

/// An exec queue with its own streamer context.
#[derive(Debug)]
pub struct Queue {
    pub file: FileId,
    pub id: u32,
    pub vm: VmKey,
    pub vm_id: u32,
    pub class: EngineClass,
    pub context: Context,
    /// Submitted work, the front one running.
    pub jobs: VecDeque<Job>,
    /// Set for good once the queue did something fatal.
    pub banned: bool,
}

pub(super) fn class_of(number: u16) -> Option<EngineClass> {
    Some(match number {
        0 => EngineClass::Render,
        1 => EngineClass::Copy,
        2 => EngineClass::VideoDecode,
        3 => EngineClass::VideoEnhance,
        4 => EngineClass::Compute,
        5 => EngineClass::VmBind,
        _ => return None,
    })
}

pub(super) fn class_number(class: EngineClass) -> u16 {
    match class {
        EngineClass::Render => 0,
        EngineClass::Copy => 1,
        EngineClass::VideoDecode => 2,
        EngineClass::VideoEnhance => 3,
        EngineClass::Compute => 4,
        EngineClass::VmBind => 5,
    }
}

/// First register of an engine's block (xe_regs: render 0x2000, compute 0x1a000, copy 0x22000, video 0x1c0000…).
fn register_base(class: EngineClass) -> u32 {
    match class {
        EngineClass::Render | EngineClass::VmBind => 0x2000,
        EngineClass::Compute => 0x1_a000,
        EngineClass::Copy => 0x2_2000,
        EngineClass::VideoDecode => 0x1c_0000,
        EngineClass::VideoEnhance => 0x1c_8000,
    }
}

impl Device {
    pub(super) fn queue_create(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut c = QueueCreate::load(a);
        require(c.flags() & !FLAG_LOW_LATENCY == 0 && c.reserved0() == 0 && c.reserved1() == 0)?;
        self.queue_extensions(caller, c.extensions())?;
        let (width, placements) = (c.width(), c.num_placements());
        require(width >= 1 && (1..=MAX_PLACEMENTS).contains(&placements))?;
        if width != 1 {
            let detail = "parallel queue (width > 1)";
            return Err(self.unsupported(caller.file, ioc::XE_EXEC_QUEUE_CREATE, detail, EINVAL));
        }
        let mut first: Option<(u16, u16)> = None;
        for i in 0..u64::from(placements) {
            let mut e = EngineInstance::zeroed();
            let at = c.instances().wrapping_add(i * EngineInstance::SIZE as u64);
            self.mem.read(caller.process, at, &mut e.0)?;
            require(e.pad() == 0)?;
            let class = class_of(e.class()).ok_or(EINVAL)?;
            let exists = class == EngineClass::VmBind
                || self
                    .profile
                    .engines
                    .iter()
                    .any(|x| (x.class, x.instance, x.gt) == (class, e.instance(), e.gt()));
            require(exists)?;
            let (want_class, want_gt) = *first.get_or_insert((e.class(), e.gt()));
            require((e.class(), e.gt()) == (want_class, want_gt))?;
        }
        let class = first.and_then(|(class, _)| class_of(class)).ok_or(EINVAL)?;
        let vm = self.file(caller)?.vms.get(c.vm_id()).copied().ok_or(ENOENT)?;
        self.inject(Point::QueueCreate, BindKind::Other)?;
        let key = QueueKey(self.key());
        let id = self.file_mut(caller)?.queues.insert(key);
        if let Some(vm) = self.vms.get_mut(&vm)
            && class != EngineClass::VmBind
        {
            vm.queues += 1;
        }
        let queue = Queue {
            file: caller.file,
            id,
            vm,
            vm_id: c.vm_id(),
            class,
            context: Context::new(register_base(class)),
            jobs: VecDeque::new(),
            banned: false,
        };
        self.queues.insert(key, queue);
        c.set_exec_queue_id(id);
        c.store(a);
        self.trace.emit(Event::QueueCreate { file: caller.file.0, queue: id, vm: c.vm_id(), engine: class });
        Ok(())
    }

    fn queue_extensions(&mut self, caller: &Caller, chain: u64) -> Result<(), Errno> {
        let mut at = chain;
        for _ in 0..MAX_EXTENSIONS {
            if at == 0 {
                return Ok(());
            }
            let mut x = ExtSetProperty::zeroed();
            self.mem.read(caller.process, at, &mut x.0)?;
            require(x.name() == 0 && x.pad() == 0 && x.pad2() == 0)?;
            match x.property() {
                // PRIORITY: 0 low, 1 normal, 2 high (with CAP_SYS_NICE, which the model grants).
                0 => require(x.value() <= 2)?,
                // TIMESLICE in µs: the engine's limits in sysfs are 1 µs to 10 s.
                1 => require((1..=10_000_000).contains(&x.value()))?,
                // PXP_TYPE none
                2 => require(x.value() == 0)?,
                // DISABLE_STATE_CACHE_PERF_FIX
                6 => require(x.value() <= 1)?,
                _ => {
                    let detail = "extension property";
                    return Err(self.unsupported(caller.file, ioc::XE_EXEC_QUEUE_CREATE, detail, EINVAL));
                }
            }
            at = x.next();
        }
        Err(fail(libc::E2BIG))
    }

    pub(super) fn queue_destroy(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let d = Destroy::load(a);
        require(d.pad() == 0 && d.reserved0() == 0 && d.reserved1() == 0)?;
        let key = self.file_mut(caller)?.queues.remove(d.id()).ok_or(ENOENT)?;
        self.trace.emit(Event::QueueDestroy { file: caller.file.0, queue: d.id() });
        self.drop_queue(key);
        Ok(())
    }

    pub(super) fn drop_queue(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.remove(&key) else { return };
        if let Some(vm) = self.vms.get_mut(&queue.vm)
            && queue.class != EngineClass::VmBind
        {
            vm.queues = vm.queues.saturating_sub(1);
        }
    }

    pub(super) fn queue_key(&self, caller: &Caller, id: u32) -> Result<QueueKey, Errno> {
        self.file(caller)?.queues.get(id).copied().ok_or(ENOENT)
    }

    /// VM_BIND's exec queue must be one of class VM_BIND.
    pub(super) fn check_bind_queue(&self, caller: &Caller, id: u32) -> Result<(), Errno> {
        let queue = self.queues.get(&self.queue_key(caller, id)?).ok_or(ENOENT)?;
        require(queue.class == EngineClass::VmBind)
    }

    pub(super) fn queue_get_property(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        const BAN: u32 = 0;
        let mut p = QueueProperty::load(a);
        require(p.reserved0() == 0 && p.reserved1() == 0)?;
        let queue = self.queues.get(&self.queue_key(caller, p.exec_queue_id())?).ok_or(ENOENT)?;
        require(p.property() == BAN)?;
        p.set_value(u64::from(queue.banned));
        p.store(a);
        Ok(())
    }

    /// The only property that can be set later belongs to multi-queue groups, which cannot be made here.
    pub(super) fn queue_set_property(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let p = QueueProperty::load(a);
        require(p.extensions() == 0 && p.reserved0() == 0 && p.reserved1() == 0)?;
        self.queue_key(caller, p.exec_queue_id())?;
        Err(EINVAL)
    }
}
