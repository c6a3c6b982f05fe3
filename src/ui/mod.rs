//! What the terminal shows. Reads values and events; decides nothing.

mod bars;
pub mod diagnostics;
pub mod inspect;
pub mod progress;
pub mod summary;

pub use progress::Screen;
