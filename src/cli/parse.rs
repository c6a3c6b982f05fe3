//! Arguments of `repro-matrix parse`.

/// Turn a log into JSON facts.
#[derive(Debug, clap::Args)]
pub struct ParseArgs {}
