//! Stage: host. What this machine is and can do, as facts; nothing here changes anything.

pub mod checks;
mod devices;
mod environment;
mod probe;
mod sys;

pub use checks::{Check, State};
pub use devices::{RenderNode, devices, devices_below};
pub use environment::{Environment, environment};
pub use probe::simulation_possible;
