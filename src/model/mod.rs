//! Values that pass from one stage to the next: matrix → plan → build → run → observe → judge → aggregate → report.
//!
//! Plain data with serde and no behaviour beyond small accessors. Stages depend on these types, never on each
//! other's insides.

pub mod arm;
pub mod build;
pub mod extract;
pub mod facts;
pub mod outcome;
pub mod repro;
pub mod verdict;
