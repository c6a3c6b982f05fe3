//! GPU memory access: translation of virtual addresses to the arena or to client memory.

use crate::arena::Arena;
use crate::client::ClientMem;
use crate::device::vm::{Backing, VA_MASK, Vm};

/// What an access found unbound (or not accessible).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    /// Bytes with nothing behind them.
    pub missed: u64,
    /// Address of the first of them.
    pub first: u64,
}

impl Touch {
    fn miss(&mut self, addr: u64, bytes: u64) {
        if self.missed == 0 {
            self.first = addr;
        }
        self.missed += bytes;
    }
}

/// A VM with the memories behind it.
pub struct GpuMemory<'a> {
    pub vm: &'a Vm,
    pub arena: &'a Arena,
    pub client: &'a dyn ClientMem,
}

/// A physically contiguous piece of a virtual range.
#[derive(Clone, Copy)]
enum Piece {
    Arena(u64),
    User(crate::client::ProcessId, u64),
    Zero,
    ReadOnlyOrUnbound,
}

impl GpuMemory<'_> {
    /// What lies at `addr`, and for how many of at most `len` bytes.
    fn piece(&self, addr: u64, len: u64, write: bool) -> (Piece, u64) {
        let addr = addr & VA_MASK;
        match self.vm.lookup(addr) {
            Some((binding, left)) => {
                let n = left.min(len);
                if write && binding.readonly {
                    return (Piece::ReadOnlyOrUnbound, n);
                }
                match binding.back {
                    Backing::Bo { arena, .. } => (Piece::Arena(arena), n),
                    Backing::User { process, addr } => (Piece::User(process, addr), n),
                    Backing::Null => (Piece::Zero, n),
                }
            }
            None => (Piece::ReadOnlyOrUnbound, self.vm.gap(addr).min(len).min(VA_MASK + 1 - addr)),
        }
    }

    /// Reads; what is not bound reads as zeros.
    pub fn read(&self, addr: u64, buf: &mut [u8]) -> Touch {
        let mut touch = Touch::default();
        let mut rest = buf;
        let mut at = addr & VA_MASK;
        while !rest.is_empty() {
            let (piece, n) = self.piece(at, rest.len() as u64, false);
            let (head, tail) = rest.split_at_mut(n as usize);
            let ok = match piece {
                Piece::Arena(offset) => self.arena.read(offset, head),
                Piece::User(process, cpu) => self.client.read(process, cpu, head).is_ok(),
                Piece::Zero => {
                    head.fill(0);
                    true
                }
                Piece::ReadOnlyOrUnbound => false,
            };
            if !ok {
                head.fill(0);
                touch.miss(at, n);
            }
            at = at.wrapping_add(n) & VA_MASK;
            rest = tail;
        }
        touch
    }

    /// Writes; what is not bound, or bound read-only, swallows the bytes.
    pub fn write(&self, addr: u64, buf: &[u8]) -> Touch {
        let mut touch = Touch::default();
        let mut rest = buf;
        let mut at = addr & VA_MASK;
        while !rest.is_empty() {
            let (piece, n) = self.piece(at, rest.len() as u64, true);
            let (head, tail) = rest.split_at(n as usize);
            let ok = match piece {
                Piece::Arena(offset) => self.arena.write(offset, head),
                Piece::User(process, cpu) => self.client.write(process, cpu, head).is_ok(),
                Piece::Zero => true,
                Piece::ReadOnlyOrUnbound => false,
            };
            if !ok {
                touch.miss(at, n);
            }
            at = at.wrapping_add(n) & VA_MASK;
            rest = tail;
        }
        touch
    }

    /// Moves `len` bytes. Returns what was missed at the source and at the destination.
    pub fn copy(&self, src: u64, dst: u64, len: u64) -> (Touch, Touch) {
        let (mut missed_src, mut missed_dst) = (Touch::default(), Touch::default());
        let mut done = 0;
        while done < len {
            let (from_at, to_at) = (src.wrapping_add(done) & VA_MASK, dst.wrapping_add(done) & VA_MASK);
            let (from, n) = self.piece(from_at, len - done, false);
            let (to, n) = self.piece(to_at, n, true);
            if matches!(from, Piece::ReadOnlyOrUnbound) {
                missed_src.miss(from_at, n);
            }
            if matches!(to, Piece::ReadOnlyOrUnbound) {
                missed_dst.miss(to_at, n);
            }
            match (from, to) {
                (_, Piece::ReadOnlyOrUnbound | Piece::Zero) => {}
                (Piece::Arena(a), Piece::Arena(b)) => {
                    if !self.arena.copy(a, b, n) {
                        missed_src.miss(from_at, n);
                    }
                }
                (Piece::User(process, cpu), Piece::Arena(b)) => {
                    let ok = self
                        .arena
                        .span(b, n)
                        .is_some_and(|s| self.client.read_into(process, cpu, &s).is_ok());
                    if !ok {
                        missed_src.miss(from_at, n);
                    }
                }
                (Piece::Arena(a), Piece::User(process, cpu)) => {
                    let ok = self
                        .arena
                        .span(a, n)
                        .is_some_and(|s| self.client.write_from(process, cpu, &s).is_ok());
                    if !ok {
                        missed_dst.miss(to_at, n);
                    }
                }
                (Piece::User(..) | Piece::Zero | Piece::ReadOnlyOrUnbound, _) => {
                    self.copy_by_buffer(from, to, (from_at, to_at), n, &mut missed_src, &mut missed_dst);
                }
            }
            done += n;
        }
        (missed_src, missed_dst)
    }

    /// The rare pairs (client to client, zeros to anything) through a buffer of ours.
    fn copy_by_buffer(
        &self,
        from: Piece,
        to: Piece,
        (from_at, to_at): (u64, u64),
        len: u64,
        missed_src: &mut Touch,
        missed_dst: &mut Touch,
    ) {
        let mut buf = [0u8; 16 << 10];
        let mut done = 0;
        while done < len {
            let n = (len - done).min(buf.len() as u64);
            let Some(chunk) = buf.get_mut(..n as usize) else { return };
            if let Piece::User(process, cpu) = from
                && self.client.read(process, cpu + done, chunk).is_err()
            {
                chunk.fill(0);
                missed_src.miss(from_at + done, n);
            }
            let ok = match to {
                Piece::Arena(offset) => self.arena.write(offset + done, chunk),
                Piece::User(process, cpu) => self.client.write(process, cpu + done, chunk).is_ok(),
                Piece::Zero | Piece::ReadOnlyOrUnbound => true,
            };
            if !ok {
                missed_dst.miss(to_at + done, n);
            }
            done += n;
        }
    }

    /// Repeats `pattern` over `len` bytes.
    pub fn fill(&self, dst: u64, len: u64, pattern: &[u8]) -> Touch {
        if let [first, others @ ..] = pattern
            && others.iter().all(|b| b == first)
        {
            return self.fill_byte(dst, len, *first);
        }
        if pattern.is_empty() {
            return Touch::default();
        }
        let mut touch = Touch::default();
        let block = pattern.repeat((4096 / pattern.len()).max(1));
        let mut done = 0;
        while done < len {
            // Nothing bound: go over it at once, by whole patterns.
            let (piece, n) = self.piece(dst.wrapping_add(done), len - done, true);
            let whole = n - n % pattern.len() as u64;
            if matches!(piece, Piece::ReadOnlyOrUnbound | Piece::Zero) && whole > 0 {
                if matches!(piece, Piece::ReadOnlyOrUnbound) {
                    touch.miss(dst.wrapping_add(done) & VA_MASK, whole);
                }
                done += whole;
                continue;
            }
            let n = (len - done).min(block.len() as u64);
            let part = self.write(dst.wrapping_add(done), block.get(..n as usize).unwrap_or(&block));
            if part.missed > 0 {
                touch.miss(part.first, part.missed);
            }
            done += n;
        }
        touch
    }

    fn fill_byte(&self, dst: u64, len: u64, byte: u8) -> Touch {
        let mut touch = Touch::default();
        let mut done = 0;
        while done < len {
            let at = dst.wrapping_add(done) & VA_MASK;
            let (piece, n) = self.piece(at, len - done, true);
            let ok = match piece {
                Piece::Arena(offset) => self.arena.fill(offset, n, byte),
                Piece::User(process, cpu) => {
                    let block = [byte; 4096];
                    let mut put = 0;
                    let mut ok = true;
                    while put < n {
                        let m = (n - put).min(block.len() as u64);
                        ok &= self
                            .client
                            .write(process, cpu + put, block.get(..m as usize).unwrap_or(&block))
                            .is_ok();
                        put += m;
                    }
                    ok
                }
                Piece::Zero => true,
                Piece::ReadOnlyOrUnbound => false,
            };
            if !ok {
                touch.miss(at, n);
            }
            done += n;
        }
        touch
    }
}
