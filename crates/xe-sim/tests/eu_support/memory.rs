//! GPU memory for tests: mapped ranges, with or without scratch pages behind the rest.

use std::collections::BTreeMap;

use xe_sim::eu::{Access, Fault, GpuMemory};

#[derive(Default)]
pub struct Memory {
    ranges: BTreeMap<u64, Vec<u8>>,
    pub scratch: bool,
    /// Bytes that reads and writes missed, by the page of 2 MiB they fell in.
    pub missed: BTreeMap<u64, u64>,
}

impl Memory {
    pub fn new() -> Self {
        Self { scratch: true, ..Self::default() }
    }

    pub fn map(&mut self, addr: u64, bytes: Vec<u8>) {
        self.ranges.insert(addr, bytes);
    }

    pub fn unmap(&mut self, addr: u64) {
        self.ranges.remove(&addr).expect("a mapped range");
    }

    /// What is mapped: address and contents.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.ranges.iter().map(|(addr, bytes)| (*addr, bytes.as_slice()))
    }

    pub fn bytes(&self, addr: u64) -> &[u8] {
        &self.ranges[&addr]
    }

    pub fn words(&self, addr: u64) -> Vec<u32> {
        self.bytes(addr).chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().expect("four"))).collect()
    }

    pub fn put_words(&mut self, addr: u64, words: &[u32]) {
        self.map(addr, words.iter().flat_map(|w| w.to_le_bytes()).collect());
    }

    /// The mapped part of `len` bytes at `addr`: range and offset, or none; and how many bytes that holds for.
    fn piece(&mut self, addr: u64, len: usize) -> (Option<(&mut Vec<u8>, usize)>, usize) {
        let next = self.ranges.range(addr + 1..).next().map_or(u64::MAX, |(start, _)| *start);
        if let Some((start, bytes)) = self.ranges.range_mut(..=addr).next_back() {
            let at = (addr - start) as usize;
            if at < bytes.len() {
                let n = len.min(bytes.len() - at);
                return (Some((bytes, at)), n);
            }
        }
        (None, len.min((next - addr) as usize))
    }

    fn visit(
        &mut self,
        addr: u64,
        len: usize,
        write: bool,
        mut part: impl FnMut(Option<(&mut Vec<u8>, usize)>, usize, usize),
    ) -> Result<Access, Fault> {
        let (mut done, mut missed) = (0, 0);
        while done < len {
            let at = addr + done as u64;
            let scratch = self.scratch;
            let (piece, n) = self.piece(at, len - done);
            let hit = piece.is_some();
            if !hit && !scratch {
                return Err(Fault { addr: at, write });
            }
            part(piece, done, n);
            if !hit {
                missed += n as u64;
                *self.missed.entry(at >> 21).or_default() += n as u64;
            }
            done += n;
        }
        Ok(Access { missed })
    }
}

impl GpuMemory for Memory {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<Access, Fault> {
        self.visit(addr, buf.len(), false, |piece, done, n| match piece {
            Some((bytes, at)) => buf[done..done + n].copy_from_slice(&bytes[at..at + n]),
            None => buf[done..done + n].fill(0),
        })
    }

    fn write(&mut self, addr: u64, data: &[u8]) -> Result<Access, Fault> {
        self.visit(addr, data.len(), true, |piece, done, n| {
            if let Some((bytes, at)) = piece {
                bytes[at..at + n].copy_from_slice(&data[done..done + n]);
            }
        })
    }
}
