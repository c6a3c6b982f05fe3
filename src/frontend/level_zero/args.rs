//! Arguments of the Level Zero reproducer.

/// The Level Zero reproducer.
#[derive(Debug, clap::Args)]
pub struct LevelZeroArgs {}
