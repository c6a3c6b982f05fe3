//! SYCL runtimes side by side in the data directory, never installed on the system: fetched by the user's own pip, or
//! unpacked from wheels that the user has.
//!
//! A runtime (`intel-sycl-rt` and what it needs) holds libsycl, its headers and DPC++'s run-time compiler: with the
//! host's C++ compiler that is enough to build a SYCL program.

mod fetch;
mod libraries;
mod store;

pub use fetch::Request;
pub use libraries::{Library, libraries};
pub use store::{Manifest, Package, Toolchain, ToolchainStore};

/// Why a toolchain cannot be had.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ToolchainError {
    #[error("\"{0}\" is no toolchain that can be fetched")]
    #[diagnostic(help("sycl for the newest SYCL runtime, or sycl=VERSION (sycl=2026.2.0)"))]
    UnknownName(String),
    #[error("no SYCL runtime {wanted}{}", if there.is_empty() { String::new() } else { format!("; there are {}", there.join(", ")) })]
    #[diagnostic(help("get one with: repro-matrix toolchains fetch sycl[=VERSION]"))]
    Missing { wanted: String, there: Vec<String> },
    #[error("{program} could not be started: {error}")]
    #[diagnostic(help(
        "the packages come by pip: install python3 and python3-pip, or give the wheels with --from DIR"
    ))]
    NoPip { program: String, error: String },
    #[error("pip could not get {what}: {log}")]
    #[diagnostic(help(
        "look at pip's own configuration (`pip config list`), try another version, or give the wheels with --from DIR"
    ))]
    Pip { what: String, log: String },
    #[error("{what} is damaged: {reason}")]
    #[diagnostic(help("remove it with `repro-matrix toolchains remove`, then fetch it again"))]
    Damaged { what: String, reason: String },
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] crate::driver::DriverError),
}

impl ToolchainError {
    fn io(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> ToolchainError {
        let what = what.to_string();
        move |error| ToolchainError::Io { what, error }
    }
}
