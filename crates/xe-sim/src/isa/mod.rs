//! Instruction set of the execution units: decode and print. Knows nothing of devices, memory or threads.
//!
//! Layers: [`operand`], [`swsb`] and [`ir`] (plain data) ← `bits`, `platform` (what a platform's table holds) ←
//! `xehpg` (that table) ← `compact`, `decode` (bytes → [`Instruction`]) ← `print` and `names` (IGA's syntax), `kernel`.
//!
//! To add a platform: write its table beside `xehpg` and add its name to the differential tests (`tests/isa_*.rs`),
//! which compare every instruction with Intel's own disassembler.

mod bits;
mod compact;
mod decode;
mod decode_operand;
mod float;
pub mod ir;
mod kernel;
mod names;
pub mod operand;
mod platform;
mod print;
pub mod swsb;
mod xehpg;
mod xehpg_compact;

pub use decode::{DecodeError, Reason, decode};
pub use ir::{
    Branch, CondMod, Ctrl, Desc, Dpas, ExecSize, Instruction, MathFn, Op, PredMode, Predicate, Send, Sfid,
    SyncFn,
};
pub use kernel::{Kernel, kernel};
pub use operand::{Dst, FlagRef, Mme, Place, RegFile, Region, Src, SrcMod, Type};
pub use platform::Platform;
pub use print::At;
pub use swsb::{Pipe, Swsb, TokenUse};
pub use xehpg::XE_HPG;
