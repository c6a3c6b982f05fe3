//! The data of the check: inputs, the argument block, what the host expects, and the comparison. Pure.

/// What output memory holds before a kernel runs. No expected value and no input equals it.
pub const SENTINEL: u32 = 0xdead_beef;

/// Two input arrays of `half` words and what the kernels must make of them.
#[derive(Clone, Debug)]
pub struct Data {
    half: usize,
    inputs: [Vec<u32>; 2],
}

/// How an output differs from what was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub total: u64,
    /// Not the expected value (untouched ones included).
    pub wrong: u64,
    /// Still the sentinel.
    pub untouched: u64,
}

impl Data {
    /// `elements` output words, half of them from each input.
    pub fn new(elements: u32) -> Self {
        let half = elements as usize / 2;
        // Values from 2^30 to 2^31 - 1: never zero, and with a small number added still below the sentinel. The two
        // inputs differ at every index, so that one in the other's place is seen.
        let input = |salt: u32| {
            let value = move |i: u32| 1 << 30 | (i ^ salt).wrapping_mul(0x9e37_79b1) >> 2;
            (0..elements / 2).map(value).collect()
        };
        Data { half, inputs: [input(0), input(0x5555_5555)] }
    }

    /// Words of one input.
    pub fn half(&self) -> usize {
        self.half
    }

    /// An input as the bytes that are uploaded.
    pub fn input_bytes(&self, which: usize) -> Vec<u8> {
        self.inputs.get(which).into_iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Compares an output with input 0 followed by input 1, each plus `addend`.
    pub fn compare(&self, output: &[u8], addend: u32) -> Difference {
        let expected = self.inputs.iter().flatten().map(|word| word.wrapping_add(addend));
        let mut got =
            output.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut difference = Difference::default();
        for want in expected {
            difference.total += 1;
            // An output that is too short has wrong elements, not fewer.
            match got.next() {
                Some(value) if value == want => {}
                Some(SENTINEL) => {
                    difference.wrong += 1;
                    difference.untouched += 1;
                }
                _ => difference.wrong += 1,
            }
        }
        difference
    }
}

/// The by-value argument of the private-memory kernels (`Block` in `repro-kernels/level-zero/private.cl`): pointers of
/// the two inputs, where each goes in the output, and metadata that fills the rest.
pub fn block(entries: usize, inputs: [u64; 2], half: u64) -> Vec<u8> {
    let mut words = vec![0u64; (21 * entries + 80) / 8];
    for (b, address) in inputs.into_iter().enumerate() {
        let first = b as u64 * half;
        for (index, value) in [(b, address), (entries + b, first | half << 32)] {
            if let Some(word) = words.get_mut(index) {
                *word = value;
            }
        }
    }
    for (index, word) in words.iter_mut().enumerate().skip(2 * entries) {
        *word = 0x0101_0101_0101_0101u64.wrapping_mul(index as u64 + 1);
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// The number that a private-memory kernel adds: its own, `priv17` → 17.
pub fn addend(kernel: &str) -> Option<u32> {
    kernel.strip_prefix("priv")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::source::block_bytes;

    fn output(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn inputs_are_never_zero_or_the_sentinel_and_differ() {
        let data = Data::new(131_072);
        let words = |which| {
            let bytes = data.input_bytes(which);
            bytes.chunks_exact(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect::<Vec<_>>()
        };
        let (a, b) = (words(0), words(1));
        assert_eq!((a.len(), b.len()), (65_536, 65_536));
        for addend in [0, 8191] {
            assert!(a.iter().chain(&b).all(|w| *w != 0 && w + addend != SENTINEL && w + addend != 0));
        }
        assert!(a.iter().zip(&b).all(|(a, b)| a != b));
    }

    #[test]
    fn a_lost_private_block_gives_the_reports_numbers() {
        // Offset 0 and a null pointer for both inputs: zeros on the first half, the second half never written.
        let data = Data::new(131_072);
        let lost = output((0..131_072).map(|i| if i < 65_536 { 0 } else { SENTINEL }));
        assert_eq!(data.compare(&lost, 0), Difference { total: 131_072, wrong: 131_072, untouched: 65_536 });
    }

    #[test]
    fn a_right_output_is_right_and_only_with_its_addend() {
        let data = Data::new(8);
        let right = [data.input_bytes(0), data.input_bytes(1)].concat();
        assert_eq!(data.compare(&right, 0), Difference { total: 8, wrong: 0, untouched: 0 });
        assert_eq!(data.compare(&right, 1).wrong, 8);
        let swapped = [data.input_bytes(1), data.input_bytes(0)].concat();
        assert_eq!(data.compare(&swapped, 0).wrong, 8);
        assert_eq!(data.compare(&right[..12], 0), Difference { total: 8, wrong: 5, untouched: 0 });
    }

    #[test]
    fn the_block_has_the_layout_of_the_kernel_source() {
        for entries in [8, 16, 32, 64] {
            let bytes = block(entries as usize, [0x1111, 0x2222], 65_536);
            assert_eq!(bytes.len() as u64, block_bytes(entries));
            let word = |index: usize| u64::from_le_bytes(bytes[8 * index..][..8].try_into().unwrap());
            let entries = entries as usize;
            assert_eq!((word(0), word(1)), (0x1111, 0x2222));
            assert_eq!(word(entries), 65_536 << 32);
            assert_eq!(word(entries + 1), 65_536 | 65_536 << 32);
        }
    }

    #[test]
    fn kernels_add_their_number() {
        assert_eq!(
            (addend("priv0"), addend("priv17"), addend("nopriv"), addend("privx")),
            (Some(0), Some(17), None, None)
        );
    }
}
