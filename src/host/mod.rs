//! Stage: host. What this machine is and can do, as facts; nothing here changes anything.

pub mod checks;
mod choice;
mod devices;
mod environment;
mod probe;

pub use checks::{Check, State};
pub use choice::{DEFAULT_PROFILE, Device, NoDevice};
pub use devices::{RenderNode, devices, devices_below};
pub use environment::{Environment, environment};
pub use probe::{kernel_log, simulation_possible};
