//! Comparison of two builds: their numeric outputs bit by bit ([`numbers`]), their times pair by pair ([`times`]). Pure.

pub mod numbers;
pub mod times;
mod tree;
