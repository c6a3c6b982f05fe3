//! VM_BIND: map, unmap, user pointers, arrays of operations.
//!
//! Checks and their order follow xe_vm.c (`vm_bind_ioctl_check_args`, `xe_vm_bind_ioctl_validate_bo`). Operations take
//! effect one after the other when the request is made; the kernel's asynchronous part is not modelled, so bind
//! fences are signalled before the request returns. As in the kernel, an array that fails leaves nothing bound that
//! it would have bound: arguments and user pointers are all checked before the first operation is carried out.

use super::objects::{BoId, REGION_VRAM, VmKey};
use super::vm::{Backing, VA_MASK};
use super::{Device, EINVAL, ENOENT, ENOMEM, EOPNOTSUPP, fail, gem, require};
use crate::arena::Use;
use crate::client::{Access, Caller, Errno};
use crate::fault::{BindKind, Point};
use crate::profile::Family;
use crate::trace::{BindOp, Event, now_ns};
use crate::uapi::wire::{self, Argument, VmBind};

const PAGE: u64 = 4096;
/// Operations in one request; the kernel's limit is what it can allocate.
const MAX_OPS: u32 = 1 << 16;

const FLAG_READONLY: u32 = 1 << 0;
const FLAG_NULL: u32 = 1 << 2;
const FLAG_CHECK_PXP: u32 = 1 << 4;
const FLAG_CPU_ADDR_MIRROR: u32 = 1 << 5;
const FLAG_MADVISE_AUTORESET: u32 = 1 << 6;
const FLAG_DECOMPRESS: u32 = 1 << 7;
const FLAGS: u32 = 0xff;

/// An operation that passed its checks.
#[derive(Clone, Copy)]
enum Step {
    Map { back: Backing, readonly: bool },
    Unmap,
    UnmapAll(BoId),
    Nothing,
}

impl Device {
    pub(super) fn vm_bind(&mut self, caller: &Caller, a: &mut Argument) -> Result<(), Errno> {
        let b = VmBind::load(a);
        require(b.extensions() == 0 && b.pad() == 0 && b.pad2() == 0)?;
        require(b.reserved0() == 0 && b.reserved1() == 0)?;
        let vm = self.file(caller)?.vms.get(b.vm_id()).copied().ok_or(ENOENT)?;
        if b.exec_queue_id() != 0 {
            self.check_bind_queue(caller, b.exec_queue_id())?;
        }
        require(b.num_binds() <= MAX_OPS)?;
        let syncs = self.read_syncs(caller, b.syncs(), b.num_syncs(), false)?;
        let mut one = [wire::BindOp::zeroed()];
        let mut many = Vec::new();
        let ops: &[wire::BindOp] = match b.num_binds() {
            0 => &[],
            1 => {
                one[0].0.copy_from_slice(&b.0[24..104]);
                &one
            }
            n => {
                for i in 0..u64::from(n) {
                    let mut op = wire::BindOp::zeroed();
                    let at = b.vector().wrapping_add(i * wire::BindOp::SIZE as u64);
                    self.mem.read(caller.process, at, &mut op.0)?;
                    many.push(op);
                }
                &many
            }
        };
        let mut pieces = Vec::new();
        if let [op] = ops {
            let step = self.checked(caller, vm, b.vm_id(), op)?;
            self.apply(caller, vm, b.vm_id(), op, step, &mut pieces);
        } else {
            let mut steps = Vec::with_capacity(ops.len());
            for op in ops {
                steps.push(self.checked(caller, vm, b.vm_id(), op)?);
            }
            for (op, step) in ops.iter().zip(steps) {
                self.apply(caller, vm, b.vm_id(), op, step, &mut pieces);
            }
        }
        self.signal_bind(caller, &syncs)
    }

    /// Checks an operation; a refusal is traced as a bind with its errno.
    fn checked(&mut self, caller: &Caller, vm: VmKey, id: u32, op: &wire::BindOp) -> Result<Step, Errno> {
        match self.check_op(caller, vm, op) {
            Ok(step) => Ok(step),
            Err(errno) => {
                self.trace_bind(caller, id, op, None, errno.0);
                Err(errno)
            }
        }
    }

    fn trace_bind(
        &mut self,
        caller: &Caller,
        vm: u32,
        op: &wire::BindOp,
        bo: Option<BoId>,
        errno: i32,
    ) -> (u64, u64) {
        let t = now_ns();
        let kind = match op.op() {
            0 if op.flags() & FLAG_NULL != 0 => BindOp::MapNull,
            0 => BindOp::Map,
            1 => BindOp::Unmap,
            2 => BindOp::MapUserptr,
            3 => BindOp::UnmapAll,
            _ => BindOp::Prefetch,
        };
        let userptr = op.op() == 2;
        let seq = self.trace.emit_at(
            t,
            Event::Bind {
                file: caller.file.0,
                vm,
                op: kind,
                addr: op.addr(),
                range: op.range(),
                bo: bo.map(|b| b.0),
                offset: if userptr { 0 } else { op.obj_offset() },
                cpu_addr: userptr.then(|| op.obj_offset()),
                flags: op.flags(),
                errno,
            },
        );
        (seq, t)
    }

    fn check_op(&mut self, caller: &Caller, vm: VmKey, op: &wire::BindOp) -> Result<Step, Errno> {
        let (obj, offset, addr, range, flags) =
            (op.obj(), op.obj_offset(), op.addr(), op.range(), op.flags());
        let kind = op.op();
        require(op.extensions() == 0 && op.pad() == 0 && op.pad2() == 0)?;
        require(op.reserved0() == 0 && op.reserved1() == 0 && op.reserved2() == 0)?;
        require(op.pat_index() < self.profile.pat_entries && kind <= 4 && flags & !FLAGS == 0)?;
        // Before Xe2, and on Xe2 whose flat CCS the firmware has switched off, as on the devices here, the kernel
        // refuses it. The driver asks once, and then compresses nothing.
        if flags & FLAG_DECOMPRESS != 0 {
            return Err(EOPNOTSUPP);
        }
        // Mirrors need a VM in fault mode, which no VM here is.
        require(flags & (FLAG_CPU_ADDR_MIRROR | FLAG_MADVISE_AUTORESET) == 0)?;
        let null = flags & FLAG_NULL != 0;
        let coherent = self.is_coherent(op.pat_index());
        require(!(null && (obj != 0 || offset != 0 || kind != 0)))?;
        require(!(kind == 0 && obj == 0 && !null))?;
        require(!(kind == 3 && (obj == 0 || addr != 0 || range != 0)))?;
        require(!(matches!(kind, 1 | 2 | 4) && obj != 0))?;
        require(kind != 2 || coherent)?;
        require(kind == 4 || op.prefetch_region() == 0)?;
        require(op.prefetch_region() <= 1 || op.prefetch_region() == u32::MAX)?;
        require(offset.is_multiple_of(PAGE) && addr.is_multiple_of(PAGE) && range.is_multiple_of(PAGE))?;
        require(range != 0 || kind == 3)?;
        require(range <= VA_MASK + 1 && addr <= VA_MASK + 1 - range)?;
        if flags & FLAG_CHECK_PXP != 0 && kind == 0 {
            // Only protected objects pass; there are none.
            return Err(fail(libc::ENOEXEC));
        }
        self.inject_bind(caller, kind, offset)?;
        let readonly = flags & FLAG_READONLY != 0;
        match kind {
            0 if null => Ok(Step::Map { back: Backing::Null, readonly }),
            0 => {
                let bo = self.file(caller)?.handles.get(obj).copied().ok_or(ENOENT)?;
                self.check_object(vm, bo, op, coherent)?;
                let arena = self.place(bo, Use::Device)? + offset;
                Ok(Step::Map { back: Backing::Bo { bo, arena }, readonly })
            }
            1 => Ok(Step::Unmap),
            2 => {
                let access = if readonly { Access::Read } else { Access::Write };
                let end = offset.checked_add(range).ok_or(EINVAL)?;
                require(end <= 1 << 47)?;
                self.mem.check_range(caller.process, offset, range, access)?;
                Ok(Step::Map { back: Backing::User { process: caller.process, addr: offset }, readonly })
            }
            3 => {
                let bo = self.file(caller)?.handles.get(obj).copied().ok_or(ENOENT)?;
                Ok(Step::UnmapAll(bo))
            }
            // Moves pages; contents and addresses stay.
            _ => Ok(Step::Nothing),
        }
    }

    /// Whether a PAT index is coherent with the CPU (xe: `coh_mode` not `XE_COH_NONE`). DG2: index 0 only, as
    /// xe_pat.c's table has it. Xe2's table is not modelled: all pass.
    fn is_coherent(&self, pat_index: u16) -> bool {
        self.profile.family != Family::XeHpg || pat_index == 0
    }

    fn check_object(&self, vm: VmKey, bo: BoId, op: &wire::BindOp, coherent: bool) -> Result<(), Errno> {
        let bo = self.bos.get(&bo).ok_or(ENOENT)?;
        require(op.range() <= bo.size && op.obj_offset() <= bo.size - op.range())?;
        if bo.placement & REGION_VRAM != 0 && self.needs_64k() {
            let aligned = |v: u64| v.is_multiple_of(gem::PAGE_64K);
            require(aligned(op.obj_offset()) && aligned(op.addr()) && aligned(op.range()))?;
        }
        require(coherent || bo.caching != gem::CACHING_WB)?;
        require(bo.vm.is_none_or(|only| only == vm))?;
        let newly = bo.only_vram() && bo.bound == 0;
        if newly && self.usage.bound_vram.saturating_add(bo.size) > self.profile.vram_bytes {
            return Err(ENOMEM);
        }
        Ok(())
    }

    fn inject_bind(&mut self, caller: &Caller, op: u32, cpu_addr: u64) -> Result<(), Errno> {
        let kind = match op {
            0 => BindKind::Map,
            1 | 3 => BindKind::Unmap,
            2 if self.faults.asks_for_files() && self.mem.is_file(caller.process, cpu_addr) => {
                BindKind::UserptrFile
            }
            2 => BindKind::Userptr,
            _ => BindKind::Other,
        };
        self.inject(Point::VmBind, kind).map(|_| ())
    }

    fn apply(
        &mut self,
        caller: &Caller,
        key: VmKey,
        id: u32,
        op: &wire::BindOp,
        step: Step,
        pieces: &mut Vec<(BoId, i64)>,
    ) {
        let bo = match step {
            Step::Map { back: Backing::Bo { bo, .. }, .. } | Step::UnmapAll(bo) => Some(bo),
            Step::Map { .. } | Step::Unmap | Step::Nothing => None,
        };
        let when = self.trace_bind(caller, id, op, bo, 0);
        let Some(vm) = self.vms.get_mut(&key) else { return };
        pieces.clear();
        match step {
            Step::Map { back, readonly } => vm.map(op.addr(), op.range(), back, readonly, when, pieces),
            Step::Unmap => vm.unmap(op.addr(), op.range(), when, pieces),
            Step::UnmapAll(bo) => {
                for (addr, len) in vm.ranges_of(bo) {
                    vm.unmap(addr, len, when, pieces);
                }
            }
            Step::Nothing => {}
        }
        self.settle_pieces(pieces);
    }
}
