//! What the differential tests of the instruction decoder share: the driver tree, kernels compiled by its real
//! `ocloc`, and its disassembler as the oracle.

pub mod builtin;
pub mod corpus;
pub mod oracle;
pub mod sys;
pub mod tree;
