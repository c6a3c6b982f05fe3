//! The Level Zero front end: a child process of this binary that loads the driver and runs the seed's steps.

pub mod args;

use crate::cmd::Failure;
use crate::exit::Exit;

pub fn main(_args: &args::LevelZeroArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Internal, "not built yet"))
}
