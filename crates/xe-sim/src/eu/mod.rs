//! Executes kernels: a functional model of the Xe-HPG execution units.
//!
//! Layers: `regs`, `micro` (plain data) ← `operand`, `float`, `int`, `math` ← `alu` (arithmetic), `flow` (branches),
//! `message` (descriptors) ← `port` (memory accesses) ← `thread` ← `execute` (groups of a dispatch). `lower` turns
//! decoded instructions ([`crate::isa`]) into `micro`, once a kernel (`cache`); `idiom` recognises kernels that only move
//! bytes, `order` looks at their bound checks in a launch.
//!
//! What is not modelled ends the dispatch with [`ExecError::Unsupported`]; see the table in `docs/device-model.md`.

mod alu;
mod cache;
mod dispatch;
mod float;
mod flow;
mod idiom;
mod int;
mod lower;
mod math;
mod memory;
mod message;
mod micro;
mod operand;
mod order;
mod port;
mod regs;
mod run;
mod thread;
mod walker;

pub use cache::KernelCache;
pub use dispatch::{Dispatch, Geometry, LocalIds};
pub use idiom::Idiom;
pub use memory::{Access, Fault, GpuMemory};
pub use port::PortStats;
pub use run::{Budget, ExecError, ExecStats, Prepared, execute, prepare};
pub use walker::{Heaps, WalkerError, dispatch_from_walker};
