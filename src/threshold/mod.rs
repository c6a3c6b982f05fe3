//! Finds where the verdict flips along an integer axis. Pure: says which value to run next and takes the answers.
//!
//! The next step follows from the answers alone, so a resumed search goes on where it was, and an answer that turns out to be
//! luck is asked for again: how many clean runs make a value clean follows from how often the corrupt values failed.

mod period;
pub mod search;

pub use period::period;
pub use search::{Outcome, Range, Search, Shape, Step, Why};
