//! The differential test of the execution units: random OpenCL C kernels, compiled by the driver's own compiler and
//! run on the model, against the same source on PoCL, a CPU implementation that shares nothing with either.

pub mod ast;
pub mod batch;
pub mod compare;
pub mod gen_core;
pub mod gen_ops;
pub mod gen_out;
pub mod gen_shared;
pub mod gen_stmt;
pub mod hunt;
pub mod kernel;
pub mod model;
pub mod prelude;
pub mod prelude_half;
pub mod reduce;
pub mod reference;
pub mod sys;
pub mod types;
