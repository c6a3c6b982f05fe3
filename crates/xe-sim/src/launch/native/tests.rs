use super::*;
use crate::arena::Arena;
use crate::client::{ClientMem, FileId, ProcessId};
use crate::device::vm::{Backing, Vm};
use crate::testkit::FakeMemory;

const FROM: u64 = 0x10_0000;
const TO: u64 = 0x20_0000;
/// Bytes of a group, and where its arguments are.
const BLOCK: u64 = 64;
const ARGUMENTS: u64 = 0x30_0000;

type Samples = Vec<(u64, Vec<Entry>)>;

/// A group that reads its arguments and copies its block in two pieces.
fn group(number: u64) -> (u64, Vec<Entry>) {
    let at = number * BLOCK;
    let read = |addr, len| Entry { addr, len, bytes: None };
    let write = |addr, len: u64| Entry { addr, len, bytes: Some(vec![number as u8; len as usize]) };
    let log = vec![
        read(ARGUMENTS, 32),
        read(FROM + at, 40),
        read(FROM + at + 40, 24),
        write(TO + at, 40),
        write(TO + at + 40, 24),
    ];
    (number, log)
}

fn groups() -> Samples {
    [0, 1, 7, 20].map(group).to_vec()
}

#[test]
fn straight_lines_of_blocks_are_found() {
    let (from, to) = (Lane { start: FROM, block: BLOCK }, Lane { start: TO, block: BLOCK });
    assert_eq!(lines(Idiom::Copy, &groups()), Some((from, to)));
    assert_eq!(lines(Idiom::Fill, &groups()), Some((to, to)));
}

#[test]
fn what_leaves_the_line_is_none() {
    let changed = |change: &dyn Fn(&mut Samples)| {
        let mut samples = groups();
        change(&mut samples);
        lines(Idiom::Copy, &samples)
    };
    assert_eq!(changed(&|s| s[2].1[3].addr += 4), None, "a group writes elsewhere");
    assert_eq!(changed(&|s| s[2].1[1].addr -= 4), None, "a group reads elsewhere");
    assert_eq!(changed(&|s| s[3].1[0].addr += 4), None, "its arguments lie elsewhere");
    assert_eq!(changed(&|s| drop(s[3].1.pop())), None, "a group writes less");
    assert_eq!(changed(&|s| s[3].1[4].len -= 4), None, "a group writes fewer bytes");
    assert_eq!(changed(&|s| drop(s.remove(1))), None, "there is no second group");
    let all = |s: &mut Samples, f: &dyn Fn(&mut Vec<Entry>)| {
        s.iter_mut().for_each(|(_, log)| f(log));
    };
    let gap = |log: &mut Vec<Entry>| {
        [2, 4].into_iter().for_each(|k| (log[k].addr, log[k].len) = (log[k].addr + 8, 16))
    };
    assert_eq!(changed(&|s| all(s, &gap)), None, "a gap in the block");
    let long = |log: &mut Vec<Entry>| [2, 4].into_iter().for_each(|k| log[k].len += 8);
    assert_eq!(changed(&|s| all(s, &long)), None, "blocks that overlap");
    let crossed = |log: &mut Vec<Entry>| (log[1].len, log[2].addr, log[2].len) = (24, log[2].addr - 16, 40);
    assert_eq!(changed(&|s| all(s, &crossed)), None, "pieces without a partner of their length");
}

#[test]
fn writing_over_the_arguments_is_seen() {
    let samples = groups();
    let lanes = lines(Idiom::Copy, &samples).expect("lines");
    let reach = |bytes| clobbers(Idiom::Copy, &samples, lanes, bytes);
    assert!(!reach(ARGUMENTS - TO) && reach(ARGUMENTS - TO + 1));
    let to = Lane { start: ARGUMENTS + 32, block: BLOCK };
    assert!(!clobbers(Idiom::Copy, &samples, (lanes.0, to), 1 << 10));
    let to = Lane { start: ARGUMENTS + 31, block: BLOCK };
    assert!(clobbers(Idiom::Copy, &samples, (lanes.0, to), 1 << 10));
}

#[test]
fn bytes_that_are_not_the_source_are_seen() {
    let arena = Arena::new(1 << 20).expect("arena");
    let mut vm = Vm::new(FileId(1), 1, true, true);
    let back = Backing::User { process: ProcessId(1), addr: FROM };
    vm.map(FROM, 1 << 16, back, false, (0, 0), &mut Vec::new());
    let client = FakeMemory::default();
    client.map(FROM, 1 << 16, true, false);
    let memory = GpuMemory { vm: &vm, arena: &arena, client: &client as &dyn ClientMem };
    let samples = groups();
    let (from, to) = lines(Idiom::Copy, &samples).expect("lines");
    let same = |client: &FakeMemory| {
        client.poke(FROM, &(0..1 << 16).map(|at| (at / BLOCK) as u8).collect::<Vec<u8>>());
        samples.iter().all(|(number, log)| as_copied(&memory, log, from, to, *number))
    };
    assert!(same(&client));
    client.poke(FROM + 20 * BLOCK + 63, &[0]);
    assert!(!as_copied(&memory, &samples[3].1, from, to, 20));
    assert!(as_copied(&memory, &samples[2].1, from, to, 7));
    // Only a fill has the same bytes in all groups.
    assert_eq!(block(&samples, to), None);
    assert_eq!(block(&samples[1..2], to), Some(vec![1; BLOCK as usize]));
}
