//! A kernel's text section as a list of instructions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use super::decode::{DecodeError, instruction};
use super::ir::{Instruction, Op};
use super::platform::Platform;

/// Decoded text of one kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Instructions with their byte offsets, in order.
    pub instructions: Vec<(usize, Instruction)>,
    /// Byte offsets that branches go to. A target may lie outside the text.
    pub labels: BTreeSet<i64>,
}

impl Kernel {
    /// Place of the instruction at byte `offset` in [`Kernel::instructions`]; `None` if none starts there.
    pub fn index_of(&self, offset: usize) -> Option<usize> {
        self.instructions.binary_search_by_key(&offset, |(at, _)| *at).ok()
    }

    /// How often each operation occurs.
    pub fn histogram(&self) -> BTreeMap<Op, usize> {
        let mut counts = BTreeMap::new();
        for (_, inst) in &self.instructions {
            *counts.entry(inst.op).or_default() += 1;
        }
        counts
    }
}

/// IGA's syntax, a label line before each branch target.
impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (offset, inst) in &self.instructions {
            if i64::try_from(*offset).is_ok_and(|offset| self.labels.contains(&offset)) {
                writeln!(f, "L{offset}:")?;
            }
            writeln!(f, "    {}", inst.at(*offset))?;
        }
        Ok(())
    }
}

/// All instructions of `text`, the content of a `.text.<kernel>` section.
///
/// # Errors
/// The first place that is no instruction.
pub fn kernel(text: &[u8], platform: &Platform) -> Result<Kernel, DecodeError> {
    let mut kernel = Kernel::default();
    let mut offset = 0;
    while let Some(rest) = text.get(offset..).filter(|rest| !rest.is_empty()) {
        // Sections are padded with zeros to whole cache lines, which can leave half an instruction.
        if rest.len() < 16 && rest.iter().all(|byte| *byte == 0) {
            break;
        }
        let inst = instruction(rest, platform).map_err(|reason| DecodeError { offset, reason })?;
        kernel.labels.extend(inst.targets(offset));
        kernel.instructions.push((offset, inst));
        offset += inst.size();
    }
    Ok(kernel)
}
