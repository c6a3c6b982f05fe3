//! Runs one child process group under limits and hands back what happened, without judging it; and the
//! dispatcher that puts many such runs, and the builds they wait for, in order.
//!
//! [`spec`] says what to run and what comes back, [`execute`] does it, [`dispatcher`] schedules. Everything that
//! needs `unsafe` is in `sys`.

pub mod cancel;
pub mod capture;
pub mod dispatcher;
pub mod env;
pub mod event;
pub mod execute;
pub mod health;
pub mod kernel_log;
pub mod lab;
pub mod limits;
pub mod maps;
pub mod proctree;
pub mod spawn;
pub mod spec;
mod stop;
mod sys;
pub mod workdir;
pub mod wrap;
pub mod xe_trace;

pub use cancel::Cancel;
pub use execute::execute;
pub use limits::Limits;
pub use spec::{RawRun, RunSpec};

/// CLOCK_MONOTONIC in nanoseconds: the clock of phase marks, device trace and arrival times alike.
pub fn monotonic_ns() -> u64 {
    sys::monotonic_ns()
}

/// A token for [`RunSpec::token`] that no other run on this machine has.
pub fn fresh_token() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    // The pid alone comes back some day; with the time it does not.
    format!("{}-{n}-{:x}", std::process::id(), monotonic_ns())
}

/// Sets the close-on-exec flag of an inherited descriptor.
pub fn close_on_exec(fd: std::os::fd::RawFd) -> std::io::Result<()> {
    sys::close_on_exec(fd)
}
