//! `repro-matrix parse`.

use crate::cli::parse::ParseArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn parse(_args: &ParseArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
