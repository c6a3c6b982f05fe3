//! `repro-matrix run`.

use crate::cli::run::RunArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn run(_args: &RunArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
