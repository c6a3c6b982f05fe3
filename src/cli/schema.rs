//! Arguments of `repro-matrix schema`.

/// Print the JSON schema of the matrix file.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// Print a commented example of a matrix file instead.
    #[arg(long)]
    pub example: bool,
}
