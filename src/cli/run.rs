//! Arguments of `repro-matrix run`.

/// Run a matrix and judge every arm.
#[derive(Debug, clap::Args)]
pub struct RunArgs {}
