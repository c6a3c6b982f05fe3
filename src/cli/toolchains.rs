//! Arguments of `repro-matrix toolchains`.

use std::path::PathBuf;

/// SYCL runtimes with DPC++'s run-time compiler, side by side, never installed.
///
/// They live beside the driver builds. A matrix names them on its `runtimes` axis: a version, `icpx`, or `default` (icpx
/// where there is one, else the newest runtime). Intel's packages come under Intel's own licences.
#[derive(Debug, clap::Args)]
pub struct ToolchainsArgs {
    #[command(subcommand)]
    pub action: ToolchainsAction,
}

#[derive(Debug, clap::Subcommand)]
pub enum ToolchainsAction {
    /// Download a SYCL runtime with what it needs (about 240 MB) by this user's own pip.
    Fetch {
        /// `sycl` for the newest, or `sycl=VERSION` (sycl=2026.2.0; from 2025.2 on).
        #[arg(default_value = "sycl")]
        name: String,
        /// Take the wheels from this directory and download nothing.
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
    },
    /// List the runtimes, and icpx where there is one.
    List {
        #[arg(long)]
        json: bool,
    },
    /// Show one runtime: packages with their hashes, where its files are.
    Show {
        #[arg(default_value = "default", value_name = "VERSION")]
        name: String,
    },
    /// Remove a runtime.
    Remove {
        #[arg(value_name = "VERSION")]
        name: String,
    },
}
