//! `repro-matrix drivers`.

use crate::cli::drivers::DriversArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn drivers(_args: &DriversArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
