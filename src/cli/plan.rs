//! Arguments of `repro-matrix plan`.

/// Show the arms of a matrix, and what is left out and why; run nothing.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {}
