//! A thread's registers as one block of bytes: the general registers, then the architecture registers.
//!
//! Operands are lowered to byte offsets into this block, checked once (see `lower`), so that the executor does not
//! care which register file they are in.

use crate::isa::RegFile;

/// Bytes of a register.
pub(super) const REG: usize = 32;
/// Bytes of the general registers: 256, the large register file.
pub(super) const GRF_BYTES: usize = 256 * REG;
pub(super) const ACC: usize = GRF_BYTES;
pub(super) const FLAG: usize = ACC + 8 * REG;
pub(super) const ADDR: usize = FLAG + REG;
pub(super) const CE: usize = ADDR + REG;
pub(super) const SR: usize = CE + REG;
pub(super) const CR: usize = SR + REG;
const N: usize = CR + REG;
pub(super) const IP: usize = N + REG;
pub(super) const TM: usize = IP + REG;
const SP: usize = TM + REG;
const DBG: usize = SP + REG;
/// Bytes of all of them.
pub(super) const FILE: usize = DBG + REG;

/// Channels of the widest instruction.
pub(super) const LANES: usize = 32;

/// Byte offset and size of a register file; `None` for those that the model does not have.
pub(super) fn span(file: RegFile) -> Option<(usize, usize)> {
    Some(match file {
        RegFile::Grf => (0, GRF_BYTES),
        RegFile::Acc => (ACC, 8 * REG),
        RegFile::Flag => (FLAG, 8),
        RegFile::Addr => (ADDR, REG),
        RegFile::Ce => (CE, REG),
        RegFile::Sr => (SR, REG),
        RegFile::Cr => (CR, REG),
        RegFile::N => (N, REG),
        RegFile::Ip => (IP, REG),
        RegFile::Tm => (TM, REG),
        RegFile::Sp => (SP, REG),
        RegFile::Dbg => (DBG, REG),
        RegFile::Null | RegFile::Mme | RegFile::Msg | RegFile::Tdr | RegFile::Fc => return None,
    })
}

/// Bits of a register element, little-endian.
pub(super) trait Raw: Copy + Default + PartialEq {
    const SIZE: usize;
    fn load(bytes: &[u8]) -> Self;
    fn put(self, bytes: &mut [u8]);
}

macro_rules! raw {
    ($($t:ty),*) => {$(
        impl Raw for $t {
            const SIZE: usize = size_of::<$t>();
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |chunk| Self::from_le_bytes(*chunk))
            }
            #[inline(always)]
            fn put(self, bytes: &mut [u8]) {
                if let Some(chunk) = bytes.first_chunk_mut() {
                    *chunk = self.to_le_bytes();
                }
            }
        }
    )*};
}
raw!(u8, u16, u32, u64);

/// The register block, and the upper halves that the accumulator has for products of 32-bit integers.
pub(super) struct Regs {
    bytes: Box<[u8; FILE]>,
    pub acc_high: [u32; LANES],
}

impl Regs {
    pub fn new() -> Self {
        Self { bytes: Box::new([0; FILE]), acc_high: [0; LANES] }
    }

    pub fn clear(&mut self) {
        self.bytes.fill(0);
        self.acc_high = [0; LANES];
    }

    /// Bytes from `offset` on; empty beyond the end.
    #[inline(always)]
    pub fn from(&self, offset: usize) -> &[u8] {
        self.bytes.get(offset..).unwrap_or_default()
    }

    #[inline(always)]
    pub fn tail_mut(&mut self, offset: usize) -> &mut [u8] {
        self.bytes.get_mut(offset..).unwrap_or_default()
    }

    /// `len` bytes at `offset`; empty when they are not all there.
    #[inline(always)]
    pub fn at(&self, offset: usize, len: usize) -> &[u8] {
        self.bytes.get(offset..offset + len).unwrap_or_default()
    }

    #[inline(always)]
    pub fn at_mut(&mut self, offset: usize, len: usize) -> &mut [u8] {
        self.bytes.get_mut(offset..offset + len).unwrap_or_default()
    }

    #[inline(always)]
    pub fn get<T: Raw>(&self, offset: usize) -> T {
        T::load(self.from(offset))
    }

    #[inline(always)]
    pub fn set<T: Raw>(&mut self, offset: usize, value: T) {
        value.put(self.tail_mut(offset));
    }

    /// f0 in the low, f1 in the high half.
    #[inline(always)]
    pub fn flags(&self) -> u64 {
        self.get(FLAG)
    }

    #[inline(always)]
    pub fn set_flags(&mut self, flags: u64) {
        self.set(FLAG, flags);
    }
}
