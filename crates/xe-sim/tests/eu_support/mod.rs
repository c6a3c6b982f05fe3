//! What the tests of the execution units share: kernels compiled by the real `ocloc`, memory, and a loader that
//! builds a kernel's payload from its `.ze_info`.

// Each test program uses a part of it.
#![allow(dead_code)]

pub mod device;
pub mod launch;
pub mod memory;
#[path = "../isa_support/tree.rs"]
pub mod tree;
pub mod zebin;

/// Deterministic pseudo-random numbers (SplitMix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn word(&mut self) -> u32 {
        self.next() as u32
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }

    pub fn words(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.word()).collect()
    }
}
