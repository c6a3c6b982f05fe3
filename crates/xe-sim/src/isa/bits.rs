//! Bit fields of a 128-bit instruction word (bit 0: lowest bit of the first byte).

/// Where a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    lo: u8,
    len: u8,
}

impl Field {
    /// `len` bits (at most 64) from bit `lo` on.
    pub const fn new(lo: u8, len: u8) -> Self {
        assert!(len > 0 && len <= 64 && lo as u32 + len as u32 <= 128, "a field lies inside the instruction");
        Self { lo, len }
    }

    /// Its value.
    pub const fn get(self, word: u128) -> u64 {
        ((word >> self.lo) & ((1u128 << self.len) - 1)) as u64
    }

    /// The value of a field of at most 8 bits.
    pub const fn get8(self, word: u128) -> u8 {
        debug_assert!(self.len <= 8, "wider than eight bits");
        self.get(word) as u8
    }

    /// The value, its highest bit taken as the sign.
    pub const fn get_signed(self, word: u128) -> i64 {
        let unused = 64 - self.len as u32;
        ((self.get(word) << unused) as i64) >> unused
    }

    /// A one-bit field.
    pub const fn is_set(self, word: u128) -> bool {
        self.get(word) != 0
    }
}

/// A run of bits that goes from one word to another place in another word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    from: Field,
    to: u8,
}

impl Move {
    /// `len` bits from bit `from` of the source to bit `to` of the target.
    pub const fn new(from: u8, len: u8, to: u8) -> Self {
        assert!(to as u32 + len as u32 <= 128, "the target lies inside the instruction");
        Self { from: Field::new(from, len), to }
    }

    /// The bits of `word`, at their place in the target.
    pub const fn apply(self, word: u128) -> u128 {
        (self.from.get(word) as u128) << self.to
    }
}

/// Bits of several runs, one after the other: lowest first.
pub(super) fn gather(word: u128, moves: &[Move]) -> u32 {
    moves.iter().fold(0u128, |value, run| value | run.apply(word)) as u32
}
