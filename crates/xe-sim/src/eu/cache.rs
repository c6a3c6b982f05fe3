//! Kernels read from GPU memory, decoded and lowered once.

use std::collections::HashMap;

use super::idiom::{self, Proved};
use super::lower;
use super::memory::{Fault, GpuMemory};
use super::micro::Micro;
use crate::isa::{self, Instruction, Op, XE_HPG};

/// A kernel's text is read in pieces of this many bytes.
const PIECE: usize = 4096;
/// No kernel is longer.
const LONGEST: usize = 4 << 20;

/// A kernel ready to run.
pub(super) struct Code {
    pub micros: Vec<Micro>,
    /// Byte offset → index in `micros`.
    pub index: HashMap<u32, u32>,
    instructions: Vec<(u32, Instruction)>,
    text: Vec<u8>,
    pub proved: Option<Proved>,
}

impl Code {
    /// The instruction in IGA's syntax.
    pub fn line(&self, index: u32) -> String {
        match self.instructions.get(index as usize) {
            Some((offset, inst)) => inst.at(*offset as usize).to_string(),
            None => String::from("(no instruction)"),
        }
    }
}

/// Kernels by start address. Each use compares the text in memory with the one decoded, so a kernel that was
/// replaced is decoded again.
#[derive(Default)]
pub struct KernelCache {
    kernels: HashMap<u64, Code>,
}

impl KernelCache {
    /// Instructions decoded in all kernels.
    pub fn instructions(&self) -> usize {
        self.kernels.values().map(|code| code.micros.len()).sum()
    }

    pub(super) fn get(&mut self, start: u64, memory: &mut impl GpuMemory) -> Result<&Code, Fault> {
        let fresh = match self.kernels.get(&start) {
            Some(code) => {
                let mut now = vec![0; code.text.len()];
                memory.read(start, &mut now)?;
                now != code.text
            }
            None => true,
        };
        if fresh {
            let code = read(start, memory)?;
            self.kernels.insert(start, code);
        }
        // It was there, or was put there just now.
        Ok(self.kernels.entry(start).or_insert_with(Code::empty))
    }
}

impl Code {
    /// What comes before an instruction. A thread that gets there stops.
    pub fn before(&self, index: u32) -> Self {
        let micros = self.micros.iter().take(index as usize).cloned().collect();
        Self { micros, index: self.index.clone(), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            micros: Vec::new(),
            index: HashMap::new(),
            instructions: Vec::new(),
            text: Vec::new(),
            proved: None,
        }
    }
}

/// Decodes from `start` on, up to the end of the thread (or of a function) behind which no branch leads.
fn read(start: u64, memory: &mut impl GpuMemory) -> Result<Code, Fault> {
    let mut text = Vec::new();
    let mut instructions: Vec<(u32, Instruction)> = Vec::new();
    let (mut at, mut furthest) = (0usize, 0i64);
    let mut more = true;
    while at < LONGEST {
        if at + 16 > text.len() && more {
            more = fetch(start, &mut text, memory)?;
        }
        let word = text.get(at..).unwrap_or_default();
        // A word that is none stops the scan; a thread that gets there is told so.
        let Ok(inst) = isa::decode(word.get(..16).unwrap_or(word), &XE_HPG) else {
            // It is kept: if there is an instruction one day, the text has changed.
            at += 16;
            break;
        };
        furthest = inst.targets(at).fold(furthest, i64::max);
        instructions.push((at as u32, inst));
        let last = match inst.op {
            Op::Ret | Op::Illegal => true,
            _ => inst.send().is_some_and(|send| send.eot),
        };
        at += inst.size();
        if last && furthest < at as i64 {
            break;
        }
    }
    text.truncate(at);
    let (micros, index) = lower::all(&instructions);
    let mut code = Code { micros, index, instructions, text, proved: None };
    code.proved = idiom::recognise(&code);
    Ok(code)
}

/// Reads on to the end of a page: what lies behind it may not be bound. False: there is no more.
fn fetch(start: u64, text: &mut Vec<u8>, memory: &mut impl GpuMemory) -> Result<bool, Fault> {
    let from = text.len();
    let here = start.wrapping_add(from as u64);
    text.resize(from + PIECE - (here as usize & (PIECE - 1)), 0);
    match memory.read(here, text.get_mut(from..).unwrap_or_default()) {
        Ok(_) => Ok(true),
        Err(fault) if from == 0 => Err(fault),
        Err(_) => {
            text.truncate(from);
            Ok(false)
        }
    }
}
