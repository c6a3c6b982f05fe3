//! Arguments of `repro-matrix schema`.

/// Print the JSON schema of the matrix file.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {}
