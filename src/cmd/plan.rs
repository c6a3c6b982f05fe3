//! `repro-matrix plan`.

use crate::cli::plan::PlanArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn plan(_args: &PlanArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
