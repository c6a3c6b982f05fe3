//! Instruction set of the execution units: decode and print. Knows nothing of devices, memory or threads.
//!
//! Layers: [`operand`] and [`ir`] (plain data) ← [`swsb`] (scoreboard field).

pub mod ir;
pub mod operand;
pub mod swsb;

pub use ir::{
    Branch, CondMod, Ctrl, Desc, Dpas, ExecSize, Instruction, MathFn, Op, PredMode, Predicate, Send, Sfid,
    SyncFn,
};
pub use operand::{Dst, FlagRef, Mme, Place, RegFile, Region, Src, SrcMod, Type};
pub use swsb::{Pipe, Swsb, TokenUse};
