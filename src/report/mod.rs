//! From run records to what people read: a summary per arm, a table, what the matrix established, and the formats of
//! `repro-matrix report`, one file each. Everything here is computed from the records; nothing is printed.

pub mod aggregate;
mod arguments;
pub mod axes;
pub mod boundary;
pub mod by_hand;
mod compared;
pub mod csv;
pub mod diff;
pub mod excerpt;
mod expected;
pub mod faulty;
pub mod findings;
mod gaps;
pub mod headline;
pub mod html;
mod instruments;
pub mod issue;
pub mod json;
pub mod junit;
pub mod markdown;
mod mechanism;
pub mod outcome;
mod pairs;
pub mod rates;
pub mod regression;
pub mod section;
pub mod table;
pub mod text;
pub mod timeline;
pub mod words;

pub use section::{Report, Section};

#[cfg(test)]
pub(crate) mod fixture;
