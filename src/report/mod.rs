//! From run records to what people read: a summary per arm, a table, and what the matrix established.

pub mod aggregate;
pub mod axes;
pub mod findings;
pub mod outcome;
pub mod rates;
pub mod table;

#[cfg(test)]
mod fixture;
