//! Stage: host. What this machine is and can do, as facts; nothing here changes anything.

pub mod checks;
mod choice;
mod device_lock;
mod devices;
pub mod env;
pub mod mask;
mod probe;

pub use checks::{Check, State};
pub use choice::{DEFAULT_PROFILE, Device, NoDevice};
pub use device_lock::{DeviceLock, NotLocked, lock as lock_device};
pub use devices::{RenderNode, devices, devices_below};
pub use env::{Environment, environment};
pub use probe::{kernel_log, simulation_possible};
