//! VM_CREATE, VM_DESTROY, VM_GET_PROPERTY, MADVISE.

use super::objects::VmKey;
use super::vm::Vm;
use super::{Device, EINVAL, ENOENT, EOPNOTSUPP, fail, require};
use crate::client::{Caller, Errno};
use crate::fault::{BindKind, Point};
use crate::trace::Event;
use crate::uapi::ioc;
use crate::uapi::wire::{Argument, Destroy, Madvise, VmCreate, VmGetProperty};

const FLAG_SCRATCH: u32 = 1 << 0;
const FLAG_LR: u32 = 1 << 1;
const FLAG_FAULT: u32 = 1 << 2;
const FLAGS: u32 = 0b1111;

impl Device {
    pub(super) fn vm_create(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut c = VmCreate::load(a);
        require(c.extensions() == 0 && c.reserved0() == 0 && c.reserved1() == 0)?;
        require(c.flags() & !FLAGS == 0)?;
        let flags = c.flags() | if self.profile.always_scratch { FLAG_SCRATCH } else { 0 };
        if flags & FLAG_FAULT != 0 {
            require(flags & FLAG_LR != 0 && self.profile.fault_mode)?;
            // The card could, the model cannot: answered as by a kernel without it.
            return Err(self.unsupported(caller.file, ioc::XE_VM_CREATE, "page-fault mode", EINVAL));
        }
        self.inject(Point::VmCreate, BindKind::Other)?;
        let key = VmKey(self.key());
        let id = self.file_mut(caller)?.vms.insert(key);
        let (scratch, long_running) = (flags & FLAG_SCRATCH != 0, flags & FLAG_LR != 0);
        self.vms.insert(key, Vm::new(caller.file, id, scratch, long_running));
        c.set_vm_id(id);
        c.store(a);
        self.trace.emit(Event::VmCreate { file: caller.file.0, vm: id, flags, scratch });
        Ok(())
    }

    pub(super) fn vm_destroy(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let d = Destroy::load(a);
        require(d.pad() == 0 && d.reserved0() == 0 && d.reserved1() == 0)?;
        let key = self.file(caller)?.vms.get(d.id()).copied().ok_or(ENOENT)?;
        if self.vms.get(&key).is_some_and(|vm| vm.long_running && vm.queues > 0) {
            // xe: `vm->preempt.num_exec_queues`.
            return Err(fail(libc::EBUSY));
        }
        self.file_mut(caller)?.vms.remove(d.id());
        self.trace.emit(Event::VmDestroy { file: caller.file.0, vm: d.id() });
        self.drop_vm(key);
        Ok(())
    }

    pub(super) fn drop_vm(&mut self, key: VmKey) {
        let Some(mut vm) = self.vms.remove(&key) else { return };
        let mut pieces = Vec::new();
        vm.unmap(0, 1 << 48, (self.trace.next_seq(), 0), &mut pieces);
        self.settle_pieces(&pieces);
    }

    /// FAULTS: the list of page faults that the kernel keeps for VMs in fault mode; the others have none.
    pub(super) fn vm_get_property(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let mut p = VmGetProperty::load(a);
        require(p.extensions() == 0 && p.pad() == 0 && p.property() == 0)?;
        self.file(caller)?.vms.get(p.vm_id()).ok_or(ENOENT)?;
        require(p.size() == 0)?;
        p.set_size(0);
        p.store(a);
        Ok(())
    }

    /// Preferred location, atomics and PAT change where pages live and how they are cached, not what they hold:
    /// accepted. DONTNEED lets the kernel drop contents, which the model does not do: refused.
    pub(super) fn madvise(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let m = Madvise::load(a);
        require(m.extensions() == 0 && m.reserved0() == 0 && m.reserved1() == 0)?;
        require(m.start().is_multiple_of(4096) && m.range().is_multiple_of(4096) && m.range() != 0)?;
        self.file(caller)?.vms.get(m.vm_id()).ok_or(ENOENT)?;
        match m.kind() {
            0..=2 => Ok(()),
            3 => Err(self.unsupported(caller.file, ioc::XE_MADVISE, "purgeable memory", EOPNOTSUPP)),
            _ => Err(EINVAL),
        }
    }
}
