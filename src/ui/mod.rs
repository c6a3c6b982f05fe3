//! What the terminal shows. Reads values and events; decides nothing.

pub mod diagnostics;
