//! repro-matrix: experiments on Intel's GPU compute drivers, from a matrix file to a verdict with its evidence.
//!
//! Data flows one way: [`matrix`] → [`plan`] → [`build`] → [`run`] → [`observe`] → [`judge`] → [`report`], with the
//! values in [`model`]. See ARCHITECTURE.md.

pub mod asm;
pub mod bisect;
pub mod build;
pub mod cli;
pub mod cmd;
pub mod compare;
pub mod driver;
pub mod exit;
pub mod expectations;
pub mod extract;
pub mod faults;
pub mod frontend;
pub mod host;
pub mod inspect;
pub mod judge;
pub mod logs;
pub mod matrix;
pub mod model;
pub mod observe;
pub mod plan;
pub mod probe;
pub mod reduce;
pub mod report;
pub mod results;
pub mod run;
pub mod stats;
pub mod threshold;
pub mod toolchain;
pub mod ui;
