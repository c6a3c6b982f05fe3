//! Plays the client in tests: a fake process memory, a batch assembler, a device with a file open on it.
//!
//! For tests of this crate and of those who use it; nothing here is reached by the supervisor.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::arena::{Arena, Span};
use crate::client::{Access, Caller, ClientMem, Errno, FileId, ProcessId, Reply};
use crate::device::Device;
use crate::fault::FaultPlan;
use crate::profile::{self, Profile};
use crate::trace::{Event, Record, TraceSink};
use crate::uapi::ioc;
use crate::uapi::wire::{self, BindOp, Sync};

const EFAULT: Errno = Errno(libc::EFAULT);

/// A mapping of the fake process.
#[derive(Clone, Debug)]
struct Vma {
    bytes: Vec<u8>,
    writable: bool,
    file: bool,
}

/// The memory of one fake process: VMAs with protections. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FakeMemory {
    vmas: Arc<Mutex<BTreeMap<u64, Vma>>>,
    /// What `arena_mappings` answers.
    mapped: Arc<Mutex<Vec<(u64, u64)>>>,
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeMemory {
    pub fn map(&self, addr: u64, len: u64, writable: bool, file: bool) {
        lock(&self.vmas).insert(addr, Vma { bytes: vec![0; len as usize], writable, file });
    }

    pub fn unmap(&self, addr: u64) {
        lock(&self.vmas).remove(&addr);
    }

    /// Says which parts of the arena the process has mapped.
    pub fn set_arena_mappings(&self, mapped: &[(u64, u64)]) {
        *lock(&self.mapped) = mapped.to_vec();
    }

    /// What the process itself would store, protections aside.
    pub fn poke(&self, addr: u64, bytes: &[u8]) {
        self.with(addr, bytes.len(), |place| place.copy_from_slice(bytes)).expect("poke at a mapped address");
    }

    pub fn peek(&self, addr: u64, len: usize) -> Vec<u8> {
        self.with(addr, len, |place| place.to_vec()).expect("peek at a mapped address")
    }

    pub fn peek_u64(&self, addr: u64) -> u64 {
        u64::from_le_bytes(self.peek(addr, 8).try_into().expect("eight bytes"))
    }

    fn with<T>(&self, addr: u64, len: usize, f: impl FnOnce(&mut [u8]) -> T) -> Option<T> {
        let mut vmas = lock(&self.vmas);
        let (start, vma) = vmas.range_mut(..=addr).next_back()?;
        let at = usize::try_from(addr - start).ok()?;
        Some(f(vma.bytes.get_mut(at..at.checked_add(len)?)?))
    }
}

impl ClientMem for FakeMemory {
    fn read(&self, _: ProcessId, addr: u64, buf: &mut [u8]) -> Result<(), Errno> {
        self.with(addr, buf.len(), |place| buf.copy_from_slice(place)).ok_or(EFAULT)
    }

    fn write(&self, _: ProcessId, addr: u64, buf: &[u8]) -> Result<(), Errno> {
        self.with(addr, buf.len(), |place| place.copy_from_slice(buf)).ok_or(EFAULT)
    }

    fn check_range(&self, _: ProcessId, addr: u64, len: u64, access: Access) -> Result<(), Errno> {
        let vmas = lock(&self.vmas);
        let mut at = addr;
        while at < addr + len {
            let (start, vma) = vmas.range(..=at).next_back().ok_or(EFAULT)?;
            let end = start + vma.bytes.len() as u64;
            if at >= end {
                return Err(EFAULT);
            }
            if access == Access::Write && !vma.writable {
                return Err(Errno(libc::EPERM));
            }
            at = end;
        }
        Ok(())
    }

    fn read_into(&self, _: ProcessId, addr: u64, dst: &Span<'_>) -> Result<(), Errno> {
        self.with(addr, dst.len() as usize, |place| dst.store(place)).ok_or(EFAULT)
    }

    fn write_from(&self, _: ProcessId, addr: u64, src: &Span<'_>) -> Result<(), Errno> {
        self.with(addr, src.len() as usize, |place| src.load(place)).ok_or(EFAULT)
    }

    fn is_file(&self, _: ProcessId, addr: u64) -> bool {
        lock(&self.vmas).range(..=addr).next_back().is_some_and(|(_, vma)| vma.file)
    }

    fn arena_mappings(&self) -> Option<Vec<(u64, u64)>> {
        Some(lock(&self.mapped).clone())
    }
}

/// A trace kept in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        lock(&self.0).extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A device, one client process with one open file, and scratch space for arguments.
pub struct Bench {
    pub device: Device,
    pub memory: FakeMemory,
    pub caller: Caller,
    lines: Lines,
}

/// Where [`Bench`] puts arguments in the fake process.
const ARGUMENTS: u64 = 0x1000_0000;
const ARRAYS: u64 = ARGUMENTS + 0x1000;

impl Bench {
    pub fn new(profile: &str, faults: &[&str]) -> Bench {
        let profile: &'static Profile = profile::by_name(profile).expect("a profile's name");
        let memory = FakeMemory::default();
        memory.map(ARGUMENTS, 0x10_0000, true, false);
        let lines = Lines::default();
        let rules: Vec<String> = faults.iter().map(|f| (*f).to_owned()).collect();
        let mut device = Device::new(
            profile,
            Arena::new(1 << 30).expect("an arena"),
            Box::new(memory.clone()),
            TraceSink::to_writer(Box::new(lines.clone())),
            FaultPlan::parse(&rules).expect("fault rules"),
        );
        let process = ProcessId(100);
        let file = device.open(process);
        Bench { device, memory, caller: Caller { file, process, thread: 100 }, lines }
    }

    pub fn file(&self) -> FileId {
        self.caller.file
    }

    /// Every event so far.
    pub fn events(&mut self) -> Vec<Event> {
        self.device.flush_trace();
        let lines = lock(&self.lines.0).clone();
        let record = |l: &[u8]| serde_json::from_slice::<Record>(l).expect("a trace line").event;
        lines.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(record).collect()
    }

    /// One ioctl with its argument in client memory; the argument comes back as the kernel left it.
    pub fn ioctl(&mut self, nr: u32, argument: &mut [u8]) -> Reply {
        let cmd = ioc::spec(nr).map_or(0xc000_6400 | nr, |s| s.cmd);
        self.memory.poke(ARGUMENTS, argument);
        let reply = self.device.ioctl(&self.caller, cmd, ARGUMENTS);
        argument.copy_from_slice(&self.memory.peek(ARGUMENTS, argument.len()));
        reply
    }

    fn ok(&mut self, nr: u32, argument: &mut [u8]) -> Result<(), Errno> {
        match self.ioctl(nr, argument) {
            Reply::Done(_) => Ok(()),
            Reply::Failed(errno) => Err(errno),
            Reply::Parked(_) => panic!("parked"),
        }
    }

    /// Creates a system-memory (region 0) or VRAM (region 1) object; its handle.
    pub fn bo(&mut self, size: u64, region: u32) -> Result<u32, Errno> {
        let mut c = wire::GemCreate::zeroed();
        c.set_size(size);
        c.set_placement(1 << region);
        c.set_cpu_caching(if region == 0 { 1 } else { 2 });
        self.ok(ioc::XE_GEM_CREATE, &mut c.0)?;
        Ok(c.handle())
    }

    pub fn mmap_offset(&mut self, handle: u32) -> Result<u64, Errno> {
        let mut m = wire::MmapOffset::zeroed();
        m.set_handle(handle);
        self.ok(ioc::XE_GEM_MMAP_OFFSET, &mut m.0)?;
        Ok(m.offset())
    }

    pub fn close(&mut self, handle: u32) -> Result<(), Errno> {
        let mut c = wire::GemClose::zeroed();
        c.set_handle(handle);
        self.ok(ioc::GEM_CLOSE, &mut c.0)
    }

    pub fn vm(&mut self, flags: u32) -> Result<u32, Errno> {
        let mut c = wire::VmCreate::zeroed();
        c.set_flags(flags);
        self.ok(ioc::XE_VM_CREATE, &mut c.0)?;
        Ok(c.vm_id())
    }

    pub fn bind_ops(&mut self, vm: u32, ops: &[BindOp], fence: Option<(u64, u64)>) -> Result<(), Errno> {
        let mut b = wire::VmBind::zeroed();
        b.set_vm_id(vm);
        b.set_num_binds(ops.len() as u32);
        match ops {
            [op] => b.0[24..104].copy_from_slice(&op.0),
            ops => {
                let bytes: Vec<u8> = ops.iter().flat_map(|o| o.0).collect();
                self.memory.poke(ARRAYS, &bytes);
                b.set_vector(ARRAYS);
            }
        }
        if let Some((addr, value)) = fence {
            b.set_syncs(self.user_fence(addr, value));
            b.set_num_syncs(1);
        }
        self.ok(ioc::XE_VM_BIND, &mut b.0)
    }

    fn user_fence(&mut self, addr: u64, value: u64) -> u64 {
        const AT: u64 = ARRAYS + 0x8_0000;
        let mut s = Sync::zeroed();
        s.set_kind(2);
        s.set_flags(1);
        s.set_addr(addr);
        s.set_value(value);
        self.memory.poke(AT, &s.0);
        AT
    }

    pub fn map(&mut self, vm: u32, handle: u32, offset: u64, addr: u64, range: u64) -> Result<(), Errno> {
        self.bind_ops(vm, &[map_op(handle, offset, addr, range)], None)
    }

    pub fn unmap(&mut self, vm: u32, addr: u64, range: u64) -> Result<(), Errno> {
        let mut op = map_op(0, 0, addr, range);
        op.set_op(1);
        self.bind_ops(vm, &[op], None)
    }

    pub fn map_userptr(&mut self, vm: u32, cpu: u64, addr: u64, range: u64, flags: u32) -> Result<(), Errno> {
        let mut op = map_op(0, cpu, addr, range);
        op.set_op(2);
        op.set_flags(flags);
        self.bind_ops(vm, &[op], None)
    }

    /// A queue on the compute (class 4) or copy (class 1) engine.
    pub fn queue(&mut self, vm: u32, class: u16) -> Result<u32, Errno> {
        let mut e = wire::EngineInstance::zeroed();
        e.set_class(class);
        self.memory.poke(ARRAYS, &e.0);
        let mut c = wire::QueueCreate::zeroed();
        c.set_width(1);
        c.set_num_placements(1);
        c.set_vm_id(vm);
        c.set_instances(ARRAYS);
        self.ok(ioc::XE_EXEC_QUEUE_CREATE, &mut c.0)?;
        Ok(c.exec_queue_id())
    }

    /// Submits a batch; the fence, if any, is at a GPU address.
    pub fn exec(&mut self, queue: u32, batch: u64, fence: Option<(u64, u64)>) -> Result<(), Errno> {
        let mut e = wire::Exec::zeroed();
        e.set_exec_queue_id(queue);
        e.set_address(batch);
        e.set_num_batch_buffer(1);
        if let Some((addr, value)) = fence {
            e.set_syncs(self.user_fence(addr, value));
            e.set_num_syncs(1);
        }
        self.ok(ioc::XE_EXEC, &mut e.0)
    }

    /// WAIT_USER_FENCE for equality. Returns the reply and the timeout as written back.
    pub fn wait(&mut self, addr: u64, value: u64, timeout: i64, queue: u32) -> (Reply, i64) {
        let mut w = wire::WaitUserFence::zeroed();
        w.set_addr(addr);
        w.set_value(value);
        w.set_mask(u64::MAX);
        w.set_timeout(timeout);
        w.set_exec_queue_id(queue);
        let reply = self.ioctl(ioc::XE_WAIT_USER_FENCE, &mut w.0);
        (reply, w.timeout())
    }

    pub fn banned(&mut self, queue: u32) -> Result<bool, Errno> {
        let mut p = wire::QueueProperty::zeroed();
        p.set_exec_queue_id(queue);
        self.ok(ioc::XE_EXEC_QUEUE_GET_PROPERTY, &mut p.0)?;
        Ok(p.value() != 0)
    }

    /// Reads an object through its mmap offset, as a client that mapped it would.
    pub fn read_bo(&mut self, handle: u32, len: usize) -> Vec<u8> {
        let offset = self.mmap_offset(handle).expect("a handle");
        let mut bytes = vec![0; len];
        assert!(self.device.arena().read(offset, &mut bytes));
        bytes
    }

    pub fn write_bo(&mut self, handle: u32, at: u64, bytes: &[u8]) {
        let offset = self.mmap_offset(handle).expect("a handle");
        assert!(self.device.arena().write(offset + at, bytes));
    }
}

/// A plain MAP operation.
pub fn map_op(handle: u32, offset: u64, addr: u64, range: u64) -> BindOp {
    let mut op = BindOp::zeroed();
    op.set_obj(handle);
    op.set_obj_offset(offset);
    op.set_addr(addr);
    op.set_range(range);
    op
}

/// A kernel that does nothing: `send.gtwy` with end-of-thread.
pub const END_OF_THREAD: [u32; 4] = [0x8000_0031, 0x0000_0004, 0x3020_7f0c, 0];

/// Assembles batches.
#[derive(Clone, Debug, Default)]
pub struct Batch(pub Vec<u32>);

impl Batch {
    pub fn new() -> Batch {
        Batch::default()
    }

    pub fn words(mut self, words: &[u32]) -> Batch {
        self.0.extend_from_slice(words);
        self
    }

    /// MI_STORE_DATA_IMM of one dword.
    pub fn store(self, addr: u64, value: u32) -> Batch {
        self.words(&[0x1000_0002, addr as u32, (addr >> 32) as u32, value])
    }

    /// MI_SEMAPHORE_WAIT until the dword at `addr` equals `value`.
    pub fn wait_equal(self, addr: u64, value: u32) -> Batch {
        self.words(&[0x0e00_c003, value, addr as u32, (addr >> 32) as u32, 0])
    }

    /// MI_BATCH_BUFFER_START, second level or not.
    pub fn jump(self, addr: u64, second_level: bool) -> Batch {
        let header = 0x1880_0101 | u32::from(second_level) << 22;
        self.words(&[header, addr as u32, (addr >> 32) as u32])
    }

    pub fn end(self) -> Batch {
        self.words(&[0x0500_0000])
    }

    /// STATE_BASE_ADDRESS with general state and instruction bases.
    pub fn bases(self, general: u64, instruction: u64) -> Batch {
        let mut w = [0u32; 22];
        w[0] = 0x6101_0014;
        (w[1], w[2]) = (general as u32 | 1, (general >> 32) as u32);
        (w[10], w[11]) = (instruction as u32 | 1, (instruction >> 32) as u32);
        self.words(&w)
    }

    /// COMPUTE_WALKER (Gfx12.5 layout): four groups of one thread with eight channels, indirect data, and an immediate
    /// post-sync write unless `post` is 0.
    pub fn walker(self, indirect: u32, len: u32, kernel: u32, post: u64, value: u64) -> Batch {
        let mut w = [0u32; 39];
        w[0] = 0x7208_0025;
        (w[2], w[3]) = (len, indirect);
        (w[5], w[6]) = (0xff, 7);
        (w[7], w[8], w[9]) = (4, 1, 1);
        w[18] = kernel;
        w[23] = 1;
        if post != 0 {
            w[26] = 1;
            (w[27], w[28]) = (post as u32, (post >> 32) as u32);
            (w[29], w[30]) = (value as u32, (value >> 32) as u32);
        }
        self.words(&w)
    }

    /// XY_BLOCK_COPY_BLT of `rows` × `width` bytes, linear.
    pub fn block_copy(
        self,
        src: u64,
        dst: u64,
        width: u32,
        rows: u32,
        src_pitch: u32,
        dst_pitch: u32,
    ) -> Batch {
        let mut w = [0u32; 22];
        w[0] = 0x5040_0014;
        w[1] = dst_pitch - 1;
        w[3] = rows << 16 | width;
        (w[4], w[5]) = (dst as u32, (dst >> 32) as u32);
        w[8] = src_pitch - 1;
        (w[9], w[10]) = (src as u32, (src >> 32) as u32);
        self.words(&w)
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|w| w.to_le_bytes()).collect()
    }
}
