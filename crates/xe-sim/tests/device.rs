//! The device as a client sees it: through ioctls only.

use xe_sim::client::{Errno, Reply};
use xe_sim::device::Next;
use xe_sim::testkit::{Batch, Bench, END_OF_THREAD, map_op};
use xe_sim::trace::Event;
use xe_sim::uapi::{ioc, wire};

const SCRATCH: u32 = 1;
const LR: u32 = 2;
const COMPUTE: u16 = 4;
const COPY: u16 = 1;
const K64: u64 = 64 << 10;
const BATCH: u64 = 0x10_0000;
const DATA: u64 = 0x20_0000;

fn errno(number: i32) -> Errno {
    Errno(number)
}

/// A VM with a batch object and a data object bound, and a queue.
struct Setup {
    b: Bench,
    vm: u32,
    queue: u32,
    batch: u32,
    data: u32,
}

fn setup(vm_flags: u32, class: u16) -> Setup {
    // The A770's VMs have a scratch page whether they ask for it or not.
    let mut b = Bench::new(if vm_flags & SCRATCH != 0 { "a770" } else { "a380" }, &[]);
    let vm = b.vm(vm_flags).expect("vm");
    let queue = b.queue(vm, class).expect("queue");
    let batch = b.bo(K64, 1).expect("batch object");
    let data = b.bo(4 * K64, 1).expect("data object");
    b.map(vm, batch, 0, BATCH, K64).expect("bind batch");
    b.map(vm, data, 0, DATA, 4 * K64).expect("bind data");
    Setup { b, vm, queue, batch, data }
}

impl Setup {
    fn run(&mut self, batch: Batch) -> Result<(), Errno> {
        self.b.write_bo(self.batch, 0, &batch.bytes());
        self.b.exec(self.queue, BATCH, None)
    }

    fn data_u32(&mut self, at: usize) -> u32 {
        let bytes = self.b.read_bo(self.data, at + 4);
        u32::from_le_bytes(bytes[at..].try_into().expect("four bytes"))
    }
}

#[test]
fn exec_store_reaches_the_object_and_its_fence_goes_through_the_vm() {
    let mut s = setup(LR, COMPUTE);
    s.b.write_bo(s.batch, 0, &Batch::new().store(DATA + 8, 0xfeed).end().bytes());
    s.b.exec(s.queue, BATCH, Some((DATA + 16, 42))).expect("exec");
    assert_eq!((s.data_u32(8), s.data_u32(16)), (0xfeed, 42));
}

#[test]
fn exec_second_level_batch_returns_and_first_level_does_not() {
    let mut s = setup(LR, COMPUTE);
    s.b.write_bo(s.batch, 0x800, &Batch::new().store(DATA, 1).end().bytes());
    s.run(Batch::new().jump(BATCH + 0x800, true).store(DATA + 4, 2).end()).expect("exec");
    assert_eq!((s.data_u32(0), s.data_u32(4)), (1, 2));
    s.run(Batch::new().jump(BATCH + 0x800, false).store(DATA + 8, 3).end()).expect("exec");
    assert_eq!(s.data_u32(8), 0);
}

#[test]
fn semaphore_parks_its_queue_only_and_goes_on_when_memory_changes() {
    let mut s = setup(LR, COMPUTE);
    s.run(Batch::new().wait_equal(DATA, 7).store(DATA + 4, 9).end()).expect("exec");
    let p = s.b.device.advance();
    assert_eq!((p.next, p.advanced), (Next::Poll, false));
    let other = s.b.queue(s.vm, COMPUTE).expect("second queue");
    s.b.write_bo(s.batch, 0x800, &Batch::new().store(DATA + 12, 5).end().bytes());
    s.b.exec(other, BATCH + 0x800, None).expect("exec");
    assert_eq!((s.data_u32(4), s.data_u32(12)), (0, 5));
    // The client writes with no request.
    s.b.write_bo(s.data, 0, &7u32.to_le_bytes());
    let p = s.b.device.advance();
    assert!(p.advanced);
    assert_eq!((p.next, s.data_u32(4)), (Next::Idle, 9));
}

#[test]
fn hazard_names_the_range_and_its_whole_history() {
    const PRIVATE: u64 = 0x40_0000;
    let mut s = setup(LR | SCRATCH, COMPUTE);
    let private = s.b.bo(2 * K64, 1).expect("private surface");
    let dispatch = |heap: u64| Batch::new().bases(heap, BATCH).walker(0, 64, 0x1000, DATA + 128, 1).end();
    s.b.write_bo(s.batch, 0x1000, &Batch::new().words(&END_OF_THREAD).bytes());
    // A canonical pointer into the middle of the surface, at payload offset 24.
    s.b.write_bo(s.data, 24, &(PRIVATE + 0x1000).to_le_bytes());
    s.b.map(s.vm, private, 0, PRIVATE, 2 * K64).expect("bind");
    s.run(dispatch(DATA)).expect("exec");
    s.b.unmap(s.vm, PRIVATE, 2 * K64).expect("unbind");
    s.run(dispatch(DATA)).expect("exec");
    let events = s.b.events();
    let dispatches: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::Dispatch { n, pointers, executed, .. } => Some((*n, pointers.clone(), *executed)),
            _ => None,
        })
        .collect();
    assert_eq!(dispatches.len(), 2);
    assert!(dispatches.iter().all(|(_, _, executed)| *executed));
    let at24 = |i: usize| dispatches[i].1.iter().find(|p| p.payload_offset == 24 && p.range_addr == PRIVATE);
    assert!(at24(0).is_some_and(|p| p.bound) && at24(1).is_some_and(|p| !p.bound));
    let hazards: Vec<_> = events.iter().filter(|e| matches!(e, Event::Hazard { .. })).collect();
    let [Event::Hazard { n, pointer, range_addr, range_len, history, .. }] = hazards[..] else {
        panic!("one hazard, got {hazards:?}");
    };
    assert_eq!((*n, *pointer, *range_addr, *range_len), (2, PRIVATE + 0x1000, PRIVATE, 2 * K64));
    assert_eq!(history.iter().map(|h| h.bound).collect::<Vec<_>>(), [true, false]);
    assert_eq!(s.data_u32(128), 1, "the post-sync write");
    let executed: Vec<_> = events.iter().filter(|e| matches!(e, Event::Executed { .. })).collect();
    let [Event::Executed { n: 1, groups: 4, threads: 4, instructions: 4, .. }, Event::Executed { n: 2, .. }] =
        executed[..]
    else {
        panic!("two dispatches of four groups: {executed:?}");
    };
}

#[test]
fn kernel_that_the_model_cannot_execute_ends_the_queue_and_is_named() {
    let mut s = setup(LR | SCRATCH, COMPUTE);
    // Zeros: no instruction.
    let batch = Batch::new().bases(DATA, BATCH).walker(0, 64, 0x2000, DATA + 128, 1).end();
    assert!(s.run(batch).is_ok());
    assert!(s.b.banned(s.queue).expect("a queue"));
    assert_eq!(s.data_u32(128), 0, "no post-sync");
    let name = s.b.events().into_iter().find_map(|e| match e {
        Event::UnsupportedCommand { name, .. } => Some(name),
        _ => None,
    });
    let name = name.expect("it is in the trace");
    assert!(name.contains("`illegal` at 0x0 of the kernel at 0x102000"), "{name}");
}

#[test]
fn kernel_in_unbound_memory_never_ends() {
    let mut s = setup(LR | SCRATCH, COMPUTE);
    let batch = Batch::new().bases(DATA, 0x4000_0000).walker(0, 64, 0, DATA + 128, 1).end();
    s.run(batch).expect("exec");
    assert!(!s.b.banned(s.queue).expect("a queue"), "as the hardware's, it goes on for ever");
    let p = s.b.device.advance();
    assert_eq!((p.next, p.advanced, s.data_u32(128)), (Next::Poll, false, 0));

    let mut s = setup(LR, COMPUTE);
    let batch = Batch::new().bases(DATA, 0x4000_0000).walker(0, 64, 0, DATA + 128, 1).end();
    s.run(batch).expect("exec");
    assert!(s.b.banned(s.queue).expect("a queue"), "a fault without a scratch page");
}

#[test]
fn big_die_gives_every_vm_a_scratch_page() {
    for (profile, expected) in [("a770", true), ("a750", true), ("a380", false)] {
        let mut b = Bench::new(profile, &[]);
        b.vm(LR).expect("vm");
        let made = b.events().into_iter().find_map(|e| match e {
            Event::VmCreate { scratch, .. } => Some(scratch),
            _ => None,
        });
        assert_eq!(made, Some(expected), "{profile}: workaround 14016763929");
    }
}

#[test]
fn card_whose_instructions_have_no_model_executes_nothing_and_says_so() {
    let mut b = Bench::new("b580", &[]);
    let says = |e: &Event| matches!(e, Event::Start { executes_kernels: false, .. });
    assert!(b.events().iter().any(says));
}

#[test]
fn userptr_read_only_mapping_is_eperm_unless_the_bind_is_read_only() {
    const CPU: u64 = 0x7000_0000;
    let mut b = Bench::new("a770", &[]);
    let vm = b.vm(LR).expect("vm");
    b.memory.map(CPU, 0x2000, false, false);
    b.memory.map(CPU + 0x2000, 0x1000, true, true);
    assert_eq!(b.map_userptr(vm, CPU, DATA, 0x2000, 0), Err(errno(libc::EPERM)));
    assert_eq!(b.map_userptr(vm, CPU, DATA, 0x2000, 1), Ok(()));
    assert_eq!(b.map_userptr(vm, CPU + 0x2000, DATA, 0x1000, 0), Ok(()), "a writable file mapping is fine");
    assert_eq!(
        b.map_userptr(vm, CPU + 0x1000, DATA, 0x2000, 0),
        Err(errno(libc::EPERM)),
        "one page is enough"
    );
    assert_eq!(b.map_userptr(vm, CPU + 0x2000, DATA, 0x2000, 0), Err(errno(libc::EFAULT)), "a hole");
}

#[test]
fn copy_engine_moves_rows_between_user_memory_and_objects() {
    const CPU: u64 = 0x7000_0000;
    const USER: u64 = 0x80_0000;
    let mut s = setup(LR, COPY);
    s.b.memory.map(CPU, 0x4000, true, false);
    let bytes: Vec<u8> = (0..0x4000u32).map(|i| (i % 251) as u8).collect();
    s.b.memory.poke(CPU, &bytes);
    s.b.map_userptr(s.vm, CPU, USER, 0x4000, 0).expect("userptr");
    // 4 rows of 256 bytes, source pitch 1024, destination packed; then all of it in one piece.
    s.run(Batch::new().block_copy(USER + 512, DATA, 256, 4, 1024, 256).end()).expect("exec");
    let got = s.b.read_bo(s.data, 1024);
    for row in 0..4 {
        let from = 512 + row * 1024;
        assert_eq!(got[row * 256..(row + 1) * 256], bytes[from..from + 256], "row {row}");
    }
    s.run(Batch::new().block_copy(USER, DATA, 0x1000, 4, 0x1000, 0x1000).end()).expect("exec");
    assert_eq!(s.b.read_bo(s.data, 0x4000), bytes);
    s.run(Batch::new().block_copy(DATA + 1, USER, 64, 1, 64, 64).end()).expect("exec");
    assert_eq!(s.b.memory.peek(CPU, 64), bytes[1..65]);
}

#[test]
fn fault_without_scratch_bans_the_queue_and_fails_its_waits() {
    const FENCE: u64 = 0x7000_0000;
    let mut s = setup(LR, COMPUTE);
    s.b.memory.map(FENCE, 0x1000, true, false);
    s.run(Batch::new().wait_equal(DATA, 1).store(0x900_0000, 1).end()).expect("exec");
    let (reply, _) = s.b.wait(FENCE, 1, -1, s.queue);
    let Reply::Parked(wait) = reply else { panic!("{reply:?}") };
    s.b.write_bo(s.data, 0, &1u32.to_le_bytes());
    let p = s.b.device.advance();
    assert_eq!(p.finished, [(wait, Err(errno(libc::EIO)))]);
    assert_eq!(s.b.banned(s.queue), Ok(true));
    assert_eq!(s.b.exec(s.queue, BATCH, None), Err(errno(libc::ECANCELED)));
    assert!(matches!(s.b.wait(FENCE, 1, -1, s.queue).0, Reply::Failed(Errno(libc::EIO))));
}

#[test]
fn scratch_page_swallows_writes_reads_zeros_and_counts_them() {
    let mut s = setup(LR | SCRATCH, COPY);
    s.b.write_bo(s.data, 0, &[0xff; 64]);
    let hole = 0x900_0000;
    s.run(Batch::new().store(hole, 1).block_copy(hole, DATA, 64, 1, 64, 64).end()).expect("exec");
    assert_eq!(s.b.read_bo(s.data, 64), [0; 64]);
    assert_eq!(s.b.banned(s.queue), Ok(false));
    let summary = s.b.device.finish(Default::default());
    assert_eq!((summary.unmapped_writes, summary.unmapped_reads), (1, 1));
}

#[test]
fn unknown_command_is_named_once_and_without_a_length_rule_bans() {
    let mut s = setup(LR, COMPUTE);
    // MI_REPORT_PERF_COUNT twice: length known, no model.
    let report = [0x1400_0002, 0, 0, 0];
    s.run(Batch::new().words(&report).words(&report).store(DATA, 3).end()).expect("exec");
    assert_eq!(s.data_u32(0), 3);
    s.run(Batch::new().words(&[0xe000_0000]).store(DATA, 4).end()).expect("exec");
    assert_eq!((s.data_u32(0), s.b.banned(s.queue)), (3, Ok(true)));
    let events = s.b.events();
    let named = events.iter().filter(|e| matches!(e, Event::UnsupportedCommand { .. })).count();
    assert_eq!(named, 2);
    let summary = s.b.device.finish(Default::default());
    assert_eq!(summary.unsupported_commands.get("MI_REPORT_PERF_COUNT"), Some(&2));
}

#[test]
fn wait_compares_times_out_and_writes_what_is_left() {
    const FENCE: u64 = 0x7000_0000;
    let mut b = Bench::new("a770", &[]);
    b.memory.map(FENCE, 0x1000, true, false);
    b.memory.poke(FENCE, &5u64.to_le_bytes());
    assert!(matches!(b.wait(FENCE, 5, 0, 0).0, Reply::Done(0)));
    assert!(matches!(b.wait(FENCE, 6, 0, 0).0, Reply::Failed(Errno(libc::ETIME))));
    assert!(matches!(b.wait(FENCE + 4, 6, 0, 0).0, Reply::Failed(Errno(libc::EINVAL))));
    assert!(matches!(b.wait(0x100, 6, 0, 0).0, Reply::Failed(Errno(libc::EFAULT))));
    let (Reply::Parked(first), _) = b.wait(FENCE, 6, 1_000_000, 0) else { panic!("not parked") };
    std::thread::sleep(std::time::Duration::from_millis(3));
    assert_eq!(b.device.advance().finished, [(first, Err(errno(libc::ETIME)))]);
    let (Reply::Parked(second), _) = b.wait(FENCE, 6, 60_000_000_000, 0) else { panic!("not parked") };
    assert!(b.device.advance().finished.is_empty());
    b.memory.poke(FENCE, &6u64.to_le_bytes());
    assert_eq!(b.device.advance().finished, [(second, Ok(0))]);
    // The argument still lies where the last request put it.
    let left = b.memory.peek_u64(0x1000_0000 + 40) as i64;
    assert!((1..60_000_000_000).contains(&left), "{left}");
}

#[test]
fn wait_cancelled_is_forgotten() {
    const FENCE: u64 = 0x7000_0000;
    let mut b = Bench::new("a770", &[]);
    b.memory.map(FENCE, 0x1000, true, false);
    let (Reply::Parked(wait), _) = b.wait(FENCE, 1, -1, 0) else { panic!("not parked") };
    b.device.cancel_wait(wait);
    b.memory.poke(FENCE, &1u64.to_le_bytes());
    assert!(b.device.advance().finished.is_empty());
}

#[test]
fn bind_fence_is_at_a_cpu_address_and_arrays_are_all_or_nothing() {
    const FENCE: u64 = 0x7000_0000;
    let mut b = Bench::new("a770", &[]);
    b.memory.map(FENCE, 0x1000, true, false);
    let vm = b.vm(LR).expect("vm");
    let bo = b.bo(4 * K64, 1).expect("object");
    let good = [map_op(bo, 0, DATA, K64), map_op(bo, K64, DATA + K64, K64)];
    b.bind_ops(vm, &good, Some((FENCE, 77))).expect("bind");
    assert_eq!(b.memory.peek_u64(FENCE), 77);
    let bad = [map_op(bo, 0, DATA + 4 * K64, K64), map_op(bo, 4 * K64, DATA, K64)];
    assert_eq!(b.bind_ops(vm, &bad, Some((FENCE, 78))), Err(errno(libc::EINVAL)));
    assert_eq!(b.memory.peek_u64(FENCE), 77, "no fence after a failure");
    let maps = |events: &[Event]| events.iter().filter(|e| matches!(e, Event::Bind { errno: 0, .. })).count();
    assert_eq!(maps(&b.events()), 2);
}

#[test]
fn bind_checks_follow_the_kernel() {
    let mut b = Bench::new("a770", &[]);
    let vm = b.vm(LR).expect("vm");
    let vram = b.bo(2 * K64, 1).expect("object");
    let system = b.bo(0x3000, 0).expect("object");
    assert_eq!(b.map(vm, vram, 0, DATA + 0x1000, K64), Err(errno(libc::EINVAL)), "64 KiB pages in VRAM");
    assert_eq!(b.map(vm, system, 0x1000, DATA + 0x1000, 0x2000), Ok(()), "4 KiB pages in system memory");
    assert_eq!(b.map(vm, system, 0x2000, DATA, 0x2000), Err(errno(libc::EINVAL)), "beyond the object");
    assert_eq!(b.map(vm, 99, 0, DATA, K64), Err(errno(libc::ENOENT)));
    assert_eq!(b.map(99, vram, 0, DATA, K64), Err(errno(libc::ENOENT)));
    assert_eq!(b.map(vm, vram, 0, 1 << 48, K64), Err(errno(libc::EINVAL)), "48 bits, not sign-extended");
    assert_eq!(b.map(vm, vram, 0, (1 << 48) - K64, K64), Ok(()));
    let mut op = map_op(vram, 0, DATA, K64);
    op.set_pat_index(4);
    assert_eq!(b.bind_ops(vm, &[op], None), Err(errno(libc::EINVAL)));
    let mut op = map_op(vram, 0, DATA, K64);
    op.set_reserved1(1);
    assert_eq!(b.bind_ops(vm, &[op], None), Err(errno(libc::EINVAL)));
}

#[test]
fn closed_object_lives_while_bound_and_while_mapped_then_is_reused_as_zeros() {
    let mut s = setup(LR, COMPUTE);
    s.b.write_bo(s.data, 0, &[0xab; 16]);
    let offset = s.b.mmap_offset(s.data).expect("offset");
    s.b.close(s.data).expect("close");
    assert_eq!(s.b.close(s.data), Err(errno(libc::EINVAL)));
    // Bound: the GPU still reads and writes it.
    s.run(Batch::new().store(DATA + 4, 0x1234).end()).expect("exec");
    let mut bytes = [0; 8];
    assert!(s.b.device.arena().read(offset, &mut bytes));
    assert_eq!(bytes, [0xab, 0xab, 0xab, 0xab, 0x34, 0x12, 0, 0]);
    // Unbound but mapped by the client: nobody else gets the memory.
    s.b.memory.set_arena_mappings(&[(offset, 4 * K64)]);
    s.b.unmap(s.vm, DATA, 4 * K64).expect("unbind");
    s.b.device.advance();
    let other = s.b.bo(4 * K64, 1).expect("object");
    assert_ne!(s.b.mmap_offset(other), Ok(offset));
    assert!(s.b.device.arena().read(offset, &mut bytes));
    assert_eq!(bytes[..4], [0xab; 4]);
    // Unmapped: with the next object that is closed it is reused, and wiped.
    s.b.memory.set_arena_mappings(&[]);
    let next = s.b.bo(K64, 1).expect("object");
    s.b.mmap_offset(next).expect("offset");
    s.b.close(next).expect("close");
    s.b.device.advance();
    let again = s.b.bo(4 * K64, 1).expect("object");
    assert_eq!(s.b.mmap_offset(again), Ok(offset));
    assert_eq!(s.b.read_bo(again, 4 * K64 as usize), vec![0; 4 * K64 as usize]);
}

#[test]
fn memory_regions_report_what_is_used() {
    let mut b = Bench::new("a770", &[]);
    let used = |b: &mut Bench| {
        let mut q = wire::DeviceQuery::zeroed();
        q.set_query(1);
        assert!(matches!(b.ioctl(ioc::XE_DEVICE_QUERY, &mut q.0), Reply::Done(0)));
        assert_eq!(q.size(), 8 + 2 * 88);
        b.memory.map(0x7100_0000, 0x1000, true, false);
        q.set_data(0x7100_0000);
        assert!(matches!(b.ioctl(ioc::XE_DEVICE_QUERY, &mut q.0), Reply::Done(0)));
        q.set_size(q.size() - 1);
        assert!(matches!(b.ioctl(ioc::XE_DEVICE_QUERY, &mut q.0), Reply::Failed(Errno(libc::EINVAL))));
        (b.memory.peek_u64(0x7100_0000 + 8 + 16), b.memory.peek_u64(0x7100_0000 + 8 + 88 + 16))
    };
    assert_eq!(used(&mut b), (0, 0));
    let vram = b.bo(3 * K64, 1).expect("object");
    b.bo(0x5000, 0).expect("object");
    assert_eq!(used(&mut b), (0x5000, 3 * K64));
    b.close(vram).expect("close");
    assert_eq!(used(&mut b), (0x5000, 0));
}

#[test]
fn gem_create_checks_follow_the_kernel() {
    let mut b = Bench::new("a770", &[]);
    assert_eq!(b.bo(0, 1), Err(errno(libc::EINVAL)));
    assert_eq!(b.bo(0x1000, 1), Err(errno(libc::EINVAL)), "VRAM objects come in 64 KiB");
    assert_eq!(b.bo(1 << 60, 0), Err(errno(libc::ENOMEM)));
    let mut c = wire::GemCreate::zeroed();
    c.set_size(K64);
    c.set_placement(2);
    c.set_cpu_caching(1);
    assert!(
        matches!(b.ioctl(ioc::XE_GEM_CREATE, &mut c.0), Reply::Failed(Errno(libc::EINVAL))),
        "WB in VRAM"
    );
    c.set_cpu_caching(2);
    c.set_extensions(0x1000);
    assert!(matches!(b.ioctl(ioc::XE_GEM_CREATE, &mut c.0), Reply::Failed(Errno(libc::EINVAL))));
}

#[test]
fn vram_that_is_bound_must_fit() {
    let mut b = Bench::new("a380", &[]);
    let vm = b.vm(LR).expect("vm");
    // 6088 MiB of VRAM. The arena of this bench is smaller, but nothing here is touched.
    let half = 400 << 20;
    let first = b.bo(half, 1).expect("object");
    assert_eq!(b.map(vm, first, 0, 1 << 32, half), Ok(()));
    assert_eq!(b.map(vm, first, 0, 2 << 32, half), Ok(()), "one object twice takes its place once");
}

#[test]
fn injected_faults_are_counted_and_traced() {
    let mut b = Bench::new("a770", &["vm_bind:ENOMEM@2", "gem_create:EIO@every=3"]);
    let vm = b.vm(LR).expect("vm");
    let bo = b.bo(K64, 1).expect("object");
    assert_eq!(b.map(vm, bo, 0, DATA, K64), Ok(()));
    assert_eq!(b.map(vm, bo, 0, DATA + K64, K64), Err(errno(libc::ENOMEM)));
    assert_eq!(b.map(vm, bo, 0, DATA + K64, K64), Ok(()));
    assert!(b.bo(K64, 1).is_ok());
    assert_eq!(b.bo(K64, 1), Err(errno(libc::EIO)));
    let summary = b.device.finish(Default::default());
    assert_eq!(summary.injected.get("vm_bind:ENOMEM@2"), Some(&1));
    assert_eq!(summary.failed.get("XE_VM_BIND ENOMEM"), Some(&1));
    assert!(b.events().iter().any(|e| matches!(e, Event::FaultInjected { errno: libc::ENOMEM, .. })));
}

#[test]
fn wait_never_ends_by_time_only() {
    const FENCE: u64 = 0x7000_0000;
    let mut b = Bench::new("a770", &["wait:never"]);
    b.memory.map(FENCE, 0x1000, true, false);
    let (Reply::Parked(wait), _) = b.wait(FENCE, 0, 2_000_000, 0) else { panic!("not parked") };
    let p = b.device.advance();
    assert!(p.finished.is_empty() && matches!(p.next, Next::At(_)), "{p:?}");
    std::thread::sleep(std::time::Duration::from_millis(4));
    assert_eq!(b.device.advance().finished, [(wait, Err(errno(libc::ETIME)))]);
}

#[test]
fn unknown_requests_get_the_kernels_errno_and_a_record() {
    let mut b = Bench::new("a770", &[]);
    assert!(matches!(b.ioctl(0x6e, &mut [0; 8]), Reply::Failed(Errno(libc::EINVAL))));
    assert!(
        matches!(b.ioctl(0x1e, &mut []), Reply::Failed(Errno(libc::EACCES))),
        "SET_MASTER on a render node"
    );
    assert!(matches!(b.ioctl(ioc::PRIME_HANDLE_TO_FD, &mut [0; 12]), Reply::Failed(Errno(libc::EOPNOTSUPP))));
    assert_eq!(b.vm(4 | 2), Err(errno(libc::EINVAL)), "page-fault mode on DG2");
    let names: Vec<_> = b
        .events()
        .into_iter()
        .filter_map(|e| match e {
            Event::UnsupportedIoctl { name, .. } => Some(name),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["DRM_0x6e", "PRIME_HANDLE_TO_FD"]);
}

#[test]
fn short_structs_are_zero_filled_and_long_ones_cut() {
    let mut b = Bench::new("a770", &[]);
    let vm = b.vm(LR).expect("vm");
    // VM_DESTROY with only its first 8 bytes, as an older header would have had it.
    b.memory.poke(0x1000_0000, &[vm.to_le_bytes(), [0; 4]].concat());
    let cmd = (1 << 30) | (8 << 16) | 0x6444;
    assert!(matches!(b.device.ioctl(&b.caller, cmd, 0x1000_0000), Reply::Done(0)));
    assert!(matches!(b.device.ioctl(&b.caller, cmd, 0x1000_0000), Reply::Failed(Errno(libc::ENOENT))));
}

#[test]
fn file_close_takes_everything_with_it() {
    let mut s = setup(LR, COMPUTE);
    s.run(Batch::new().wait_equal(DATA, 7).end()).expect("exec");
    assert_eq!(s.b.device.advance().next, Next::Poll);
    s.b.device.close(s.b.file());
    assert_eq!(s.b.device.advance().next, Next::Idle);
    assert!(matches!(s.b.ioctl(ioc::VERSION, &mut [0; 64]), Reply::Failed(Errno(libc::EBADF))));
}

#[test]
fn fill_by_pattern_keeps_its_phase_over_a_hole() {
    let mut s = setup(LR | SCRATCH, COPY);
    // XY_FAST_COLOR_BLT, 32 bits a pixel, one row that starts 16 bytes before the end of the data object's binding,
    // runs over a hole of 64 KiB and ends in another object.
    let far = s.b.bo(K64, 1).expect("object");
    let end = DATA + 4 * K64;
    s.b.map(s.vm, far, 0, end + K64, K64).expect("bind");
    let mut w = [0u32; 16];
    w[0] = 2 << 29 | 0x44 << 22 | 2 << 19 | 14;
    w[1] = 0x3_ffff;
    w[3] = (1 << 16) | ((16 + K64 as u32 + 16) / 4);
    w[4] = (end - 16) as u32;
    w[7] = 0x0102_0304;
    s.run(Batch::new().words(&w).end()).expect("exec");
    let data = s.b.read_bo(s.data, 4 * K64 as usize);
    assert_eq!(
        data[data.len() - 20..],
        [[0; 4], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]].concat()
    );
    assert_eq!(
        s.b.read_bo(far, 20),
        [[4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1], [0; 4]].concat()
    );
    let summary = s.b.device.finish(Default::default());
    assert_eq!(summary.unmapped_writes, 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    /// Whatever a client puts in a batch, the device answers: it ends the batch, parks it or bans the queue.
    #[test]
    fn random_batches_never_break_the_device(
        words in proptest::collection::vec(command_word(), 1..64),
        class in proptest::sample::select(vec![COMPUTE, COPY]),
        flags in proptest::sample::select(vec![LR, LR | SCRATCH]),
    ) {
        let mut s = setup(flags, class);
        s.run(Batch::new().words(&words).end()).expect("a queue that was never used");
        let next = s.b.device.advance().next;
        let banned = s.b.banned(s.queue).expect("queue");
        proptest::prop_assert!(!(banned && next == Next::Poll));
        // The trace stays readable and the device usable.
        s.b.events();
        let other = s.b.queue(s.vm, class).expect("queue");
        s.b.write_bo(s.batch, 0x8000, &Batch::new().store(DATA, 0x51).end().bytes());
        s.b.exec(other, BATCH + 0x8000, None).expect("exec");
        proptest::prop_assert_eq!(s.data_u32(0), 0x51);
    }
}

/// Words that look like commands more often than not.
fn command_word() -> impl proptest::strategy::Strategy<Value = u32> {
    use proptest::prelude::*;
    let headers: Vec<u32> = vec![
        0x1000_0002,
        0x1880_0101,
        0x1300_4003,
        0x7a00_0004,
        0x0e00_c003,
        0x1100_0001,
        0x1480_0002,
        0x1200_0002,
        0x1780_0001,
        0x1500_0001,
        0x0d00_0003,
        0x1b00_0002,
        0x6101_0014,
        0x7200_0004,
        0x7208_0025,
        0x5040_0014,
        0x5110_000e,
        0x5680_0008,
        0x56c0_0005,
        0x0080_000f,
        0x0500_0000,
    ];
    prop_oneof![
        proptest::sample::select(headers),
        any::<u32>(),
        0u32..0x100,
        Just(DATA as u32),
        Just(BATCH as u32)
    ]
}
