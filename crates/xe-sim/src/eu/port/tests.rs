use super::super::dispatch::Geometry;
use super::super::memory;
use super::super::message::{Atomic, Kind};
use super::*;
use crate::isa::Sfid;

pub(super) fn dispatch() -> Dispatch<'static> {
    Dispatch::of_one_thread(0, 8, Geometry { dss: 1, eus_per_dss: 1, threads_per_eu: 1 })
}

/// 16 KiB from address 0 on.
struct Flat(Vec<u8>);

impl GpuMemory for Flat {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<memory::Access, Fault> {
        buf.copy_from_slice(&self.0[addr as usize..addr as usize + buf.len()]);
        Ok(memory::Access::default())
    }

    fn write(&mut self, addr: u64, data: &[u8]) -> Result<memory::Access, Fault> {
        self.0[addr as usize..addr as usize + data.len()].copy_from_slice(data);
        Ok(memory::Access::default())
    }
}

const STATE: u64 = 0x1000;
const DATA: usize = 0x2000;

/// Memory full of sevens, and the state of a surface of this type and of 100 bytes.
fn memory_with(surface: u32) -> Flat {
    let mut bytes = vec![7; 0x4000];
    let mut words = [0u32; 16];
    (words[0], words[2], words[8]) = (surface << 29, 99, DATA as u32);
    let state = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.iter_mut().skip(STATE as usize).zip(state).for_each(|(to, from)| *to = from);
    Flat(bytes)
}

/// `what` by eight channels, from byte 80 of the surface on, four bytes each: three lie beyond its end. Offsets are in
/// r10, data in r11, where ones are. Returns r11 and the counts.
fn access(memory: &mut Flat, what: What) -> (Vec<u32>, PortStats) {
    let dispatch = dispatch();
    let mut regs = Regs::new();
    for lane in 0..8u32 {
        regs.set(10 * REG + 4 * lane as usize, 80 + 4 * lane);
        regs.set(11 * REG + 4 * lane as usize, 1u32);
    }
    let message = Message {
        sfid: Sfid::Ugm,
        desc: Desc::Imm(0),
        ex_desc: Desc::Imm((STATE as u32 >> 6) << 12),
        ex_bso: false,
        eot: false,
        lanes: 8,
        src0: 10 * REG,
        src1: Some(11 * REG),
        dst: Some(11 * REG),
        kind: Ok(Kind::Late),
    };
    let access = Access {
        what,
        model: Model::Surface,
        addr: 4,
        size: 4,
        reg_size: 4,
        count: 1,
        lanes: 8,
        transposed: false,
    };
    let mut port = Port::new(memory, &dispatch);
    port.access(&mut regs, &message, &access, 0xff, 0).expect("it is executed");
    ((0..8).map(|lane| regs.get(11 * REG + 4 * lane)).collect(), port.stats)
}

#[test]
fn reads_beyond_the_end_of_a_surface_are_zeros() {
    let (words, stats) = access(&mut memory_with(BUFFER), What::Load);
    let seven = 0x0707_0707;
    assert_eq!(words, [seven, seven, seven, seven, seven, 0, 0, 0]);
    assert_eq!((stats.read, stats.out_of_bounds), (20, 12));
    let (words, stats) = access(&mut memory_with(NULL), What::Load);
    assert_eq!((words, stats.read, stats.out_of_bounds), (vec![0; 8], 0, 32));
}

#[test]
fn writes_beyond_the_end_of_a_surface_vanish() {
    let mut memory = memory_with(BUFFER);
    let (_, stats) = access(&mut memory, What::Store);
    assert_eq!((stats.written, stats.out_of_bounds), (20, 12));
    assert_eq!(memory.0[DATA + 76..DATA + 80], [7; 4]);
    assert_eq!(memory.0[DATA + 80..DATA + 100], [1, 0, 0, 0].repeat(5));
    assert!(memory.0[DATA + 100..].iter().all(|byte| *byte == 7));
}

#[test]
fn atomics_beyond_the_end_of_a_surface_change_nothing() {
    let mut memory = memory_with(BUFFER);
    let (old, stats) = access(&mut memory, What::Atomic(Atomic::Add));
    assert_eq!((old[4], &old[5..], stats.atomics, stats.out_of_bounds), (0x0707_0707, &[0; 3][..], 5, 12));
    assert_eq!(memory.0[DATA + 96..DATA + 100], [8, 7, 7, 7]);
    assert!(memory.0[DATA + 100..].iter().all(|byte| *byte == 7));
}
