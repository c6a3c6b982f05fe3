//! `repro-matrix sim`.

use crate::cli::sim::SimArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn sim(_args: &SimArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
