//! A generated kernel with all that is needed to run it and to compare what it wrote.

use serde::{Deserialize, Serialize};

use super::ast::Tree;
use super::prelude::{CONSTANT_WORDS, INPUT_WORDS, REGION, REGIONS};
use super::types::Ty;
use crate::eu_support::Rng;

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// All bits alike.
    Bits,
    /// A float, within so many units of the last place of the reference, which is a double.
    Ulp(u32),
}

/// A value in a work-item's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub at: usize,
    pub ty: Ty,
    pub check: Check,
}

#[derive(Clone, Debug)]
pub struct Kernel {
    pub seed: u64,
    pub tree: Tree,
    pub stride: usize,
    pub slots: Vec<Slot>,
    pub local: [u32; 3],
    pub groups: [u32; 3],
}

/// How to launch a kernel and read its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    pub kernel: String,
    /// Of the input data.
    pub seed: u64,
    pub stride: usize,
    pub slots: Vec<Slot>,
    pub local: [u32; 3],
    pub groups: [u32; 3],
}

impl Kernel {
    pub fn source(&self, name: &str) -> String {
        self.tree.print(name, self.stride)
    }

    pub fn case(&self, name: &str) -> Case {
        Case {
            kernel: name.to_owned(),
            seed: self.seed,
            stride: self.stride,
            slots: self.slots.clone(),
            local: self.local,
            groups: self.groups,
        }
    }
}

/// Contents of the kernel's buffers and arguments; after the run, what it made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    pub out: Vec<u8>,
    pub input: Vec<u8>,
    pub constant: Vec<u8>,
    pub at: Vec<u8>,
    pub at64: Vec<u8>,
    pub su: [u8; 4],
    pub sv: [u8; 16],
    pub sf: [u8; 4],
    pub sh: [u8; 2],
}

impl Case {
    pub fn items(&self) -> usize {
        self.local.iter().chain(&self.groups).map(|n| *n as usize).product()
    }

    pub fn group_items(&self) -> usize {
        self.local.iter().map(|n| *n as usize).product()
    }

    pub fn data(&self) -> Data {
        const EDGES: [u32; 8] =
            [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x7f80_0000, 0x8000_8000, 0x0080_0000];
        let mut rng = Rng(self.seed ^ 0x5eed);
        let mut word = || match rng.below(6) {
            0 => EDGES[rng.below(8) as usize],
            1 => rng.word() >> rng.below(32),
            _ => rng.word(),
        };
        let mut words = |n: usize| (0..n).flat_map(|_| word().to_le_bytes()).collect::<Vec<u8>>();
        let atomics = REGION * REGIONS + self.items();
        let four: [u8; 4] = words(1).try_into().expect("four bytes");
        let sixteen: [u8; 16] = words(4).try_into().expect("sixteen bytes");
        Data {
            out: vec![0xa5; self.items() * self.stride.max(1)],
            input: words(INPUT_WORDS),
            // With a zero behind them, which the compilers cannot know.
            constant: words(CONSTANT_WORDS).into_iter().chain([0; 4]).collect(),
            at: words(atomics),
            at64: words(2 * atomics),
            su: four,
            sv: sixteen,
            sf: 1.75f32.to_le_bytes(),
            sh: [four[1], four[2]],
        }
    }
}
