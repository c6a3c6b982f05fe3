//! Arguments of `repro-matrix sim`.

/// Run any command on a simulated xe device.
#[derive(Debug, clap::Args)]
pub struct SimArgs {}
