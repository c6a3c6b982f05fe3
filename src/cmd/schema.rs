//! `repro-matrix schema`.

use crate::cli::schema::SchemaArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn schema(_args: &SchemaArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
