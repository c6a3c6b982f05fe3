//! `repro-matrix sim`.

use std::fs::File;
use std::process::ExitCode;

use xe_sim::trap::{SimCommand, SimError, SimOptions};

use crate::cli::sim::SimArgs;
use crate::cmd::Failure;
use crate::exit::Exit;

/// Runs the command to its end and leaves with its exit status, or with [`Exit::CannotRecord`] if the trace is not whole.
pub fn sim(args: &SimArgs) -> Result<ExitCode, Failure> {
    let name = args.device.strip_prefix("sim:").unwrap_or(&args.device);
    let profile = crate::cli::plan::profile(name).map_err(|error| Failure::new(Exit::Usage, error))?;
    let open = |path: &std::path::PathBuf| {
        File::create(path)
            .map_err(|e| Failure::new(Exit::CannotRecord, format!("trace {}: {e}", path.display())))
    };
    let trace = args.trace.as_ref().map(open).transpose()?;
    if !args.quiet {
        super::say::note(format_args!(
            "repro-matrix sim: {} on a simulated xe device, a model and not a security boundary",
            profile.product
        ));
    }
    let command = SimCommand { argv: args.command.clone(), env: None };
    let options = SimOptions { profile, trace, faults: args.faults.clone(), private_root: None };
    let outcome = xe_sim::trap::run(&command, options).map_err(failure)?;
    if args.summary {
        let text = serde_json::to_string(&outcome.summary).map_err(|e| Failure::new(Exit::Internal, e))?;
        super::say::note(format_args!("{text}"));
    }
    if !args.quiet {
        for rule in args.faults.iter().filter(|rule| !outcome.summary.injected.contains_key(*rule)) {
            super::say::note(format_args!("note: fault {rule} never fired: what it does was not tried"));
        }
    }
    if let (Some(path), Some(why)) = (&args.trace, outcome.trace_trouble) {
        return Err(Failure::new(
            Exit::CannotRecord,
            format!(
                "trace {}: {why}; it is not whole, and what it does not show, it does not prove",
                path.display()
            ),
        ));
    }
    match (outcome.exit.code, outcome.exit.signal) {
        (Some(code), _) => Ok(ExitCode::from(code as u8)),
        (None, Some(signal)) => Ok(ExitCode::from((128 + signal) as u8)),
        (None, None) => Err(Failure::new(Exit::Internal, "how the command ended is not known")),
    }
}

fn failure(error: SimError) -> Failure {
    let exit = match error {
        SimError::EmptyCommand
        | SimError::NulInCommand
        | SimError::Fault(_)
        | SimError::CannotExecute { .. } => Exit::Usage,
        // No fault of this machine's: make room, and it runs.
        SimError::Host { ref error, .. } if error.kind() == std::io::ErrorKind::StorageFull => {
            Exit::CannotRecord
        }
        SimError::NoListener(_) | SimError::Host { .. } => Exit::HostUnusable,
    };
    Failure::new(exit, error)
}
