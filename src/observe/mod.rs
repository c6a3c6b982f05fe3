//! Stage: observe. One file an instrument: what it left behind of a run, as bytes → its part of `Facts`. Pure.

pub mod maps;
pub mod sim;
