//! Arguments of `repro-matrix schema`.

/// Print the JSON schema of the matrix file, or of `report --format json`.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// Print a commented example of a matrix file instead.
    #[arg(long)]
    pub example: bool,
    /// What the schema is of.
    #[arg(long, value_enum, default_value_t = SchemaOf::Matrix, conflicts_with = "example")]
    pub of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaOf {
    Matrix,
    Report,
}
