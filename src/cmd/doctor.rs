//! `repro-matrix doctor`.

use crate::cli::doctor::DoctorArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

pub fn doctor(_args: &DoctorArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
