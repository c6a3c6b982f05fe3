//! Reproducers that run as child processes: one front end per way of reaching the driver.

pub mod command;
pub mod level_zero;
pub mod mock;
pub mod mock_run;
pub mod source;
pub mod sycl;
pub mod sys;
pub mod telling;
