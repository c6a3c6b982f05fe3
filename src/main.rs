//! Parse, dispatch, and map the end to an exit code.

use std::process::ExitCode;

use clap::Parser;
use repro_matrix::cli::Cli;
use repro_matrix::cmd;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cmd::dispatch(&cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("{:?}", failure.report);
            failure.exit.into()
        }
    }
}
