//! A cursor over one line. Every step either consumes what it names or says `None`.

/// Longest field of a message that is looked for by its end.
const MAX_FIELD: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Cursor { rest }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn starts(&self, literal: &[u8]) -> bool {
        self.rest.starts_with(literal)
    }

    pub(crate) fn literal(&mut self, literal: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// Consumes the literal if it is there.
    pub(crate) fn maybe(&mut self, literal: &[u8]) -> bool {
        self.literal(literal).is_some()
    }

    pub(crate) fn spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// All before `end`, which is consumed too. Looks no further than any real message goes, so that lines made to
    /// have many starts and no end cost no more than their length.
    pub(crate) fn until(&mut self, end: &[u8]) -> Option<&'a [u8]> {
        let window = self.rest.get(..MAX_FIELD).unwrap_or(self.rest);
        let at = memchr::memmem::find(window, end)?;
        let (before, after) = self.rest.split_at(at);
        self.rest = after.get(end.len()..)?;
        Some(before)
    }

    pub(crate) fn take_while(&mut self, accept: impl Fn(u8) -> bool) -> &'a [u8] {
        let n = self.rest.iter().position(|&b| !accept(b)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(n);
        self.rest = rest;
        taken
    }

    /// Decimal digits; `None` also when the number does not fit.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let mut value: u64 = 0;
        let mut n = 0;
        for &b in self.rest {
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
            n += 1;
        }
        if n == 0 {
            return None;
        }
        self.rest = self.rest.get(n..)?;
        Some(value)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.u64()?.try_into().ok()
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        let negative = self.maybe(b"-");
        let magnitude = self.u64()?;
        if negative { 0i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
    }

    pub(crate) fn i32(&mut self) -> Option<i32> {
        self.i64()?.try_into().ok()
    }

    /// Hexadecimal digits without a prefix; `None` also when they are more than 64 bits.
    pub(crate) fn hex(&mut self) -> Option<u64> {
        let mut value: u64 = 0;
        let mut n = 0;
        for &b in self.rest {
            let digit = match b {
                b'0'..=b'9' => b - b'0',
                b'a'..=b'f' => b - b'a' + 10,
                b'A'..=b'F' => b - b'A' + 10,
                _ => break,
            };
            if value >> 60 != 0 {
                return None;
            }
            value = value << 4 | u64::from(digit);
            n += 1;
        }
        if n == 0 {
            return None;
        }
        self.rest = self.rest.get(n..)?;
        Some(value)
    }

    /// Hexadecimal digits after `0x`.
    pub(crate) fn hex_0x(&mut self) -> Option<u64> {
        self.literal(b"0x")?;
        self.hex()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(Cursor::new(b"18446744073709551615").u64(), Some(u64::MAX));
        assert_eq!(Cursor::new(b"18446744073709551616").u64(), None);
        assert_eq!(Cursor::new(b"-9223372036854775808").i64(), Some(i64::MIN));
        assert_eq!(Cursor::new(b"-9223372036854775809").i64(), None);
        assert_eq!(Cursor::new(b"ffffffffffffffff").hex(), Some(u64::MAX));
        assert_eq!(Cursor::new(b"1ffffffffffffffff").hex(), None);
        assert_eq!(Cursor::new(b"-").i64(), None);
        assert_eq!(Cursor::new(b"").u64(), None);
        assert_eq!(Cursor::new(b"0x").hex_0x(), None);
    }
}
