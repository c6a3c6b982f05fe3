//! Arguments of `repro-matrix drivers`.

/// Manage driver builds, side by side, never installed.
#[derive(Debug, clap::Args)]
pub struct DriversArgs {}
