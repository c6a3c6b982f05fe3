//! Parse, dispatch, and map the end to an exit code.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use repro_matrix::cli::Cli;
use repro_matrix::{cmd, ui};

fn main() -> ExitCode {
    ui::diagnostics::install();
    let cli = Cli::parse();
    match cmd::dispatch(&cli) {
        Ok(code) => code,
        Err(failure) => {
            // A reader that is gone (`2>&1 | head`) is no fault.
            let _ = write!(std::io::stderr(), "{:?}", failure.report);
            failure.exit.into()
        }
    }
}
