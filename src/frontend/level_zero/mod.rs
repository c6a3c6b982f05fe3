//! The Level Zero front end: a child process of this binary that loads the driver and runs the seed's steps.

mod abi;
pub mod args;
mod data;
pub mod programs;
mod steps;
mod sys;
mod tracer;

use std::path::Path;

use self::sys::ZeError;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::frontend::telling::Telling;
use crate::model::repro::Phase;

/// Exit status of the reproducer: the seed's 0 and 1, and one for each way of not getting so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ReproExit {
    /// Every element of every check as computed on the host.
    Clean = 0,
    /// At least one element is not.
    Corrupt = 1,
    /// The command line makes no sense (as clap's own).
    Usage = 2,
    /// The loader could not be opened, zeInit failed, or there is no such device.
    NoDriver = 3,
    /// A later driver call failed.
    DriverCall = 4,
    /// An input could not be read, or the result not be written.
    Input = 5,
    /// Ended by SIGTERM; the result says "terminated".
    Terminated = 143,
}

/// Why the steps did not reach their end.
#[derive(Debug)]
pub enum Ending {
    Usage(String),
    NoDriver(ZeError),
    Driver(ZeError),
    /// What could not be read, and why.
    Input(String, String),
}

impl Ending {
    fn usage(what: String) -> Self {
        Ending::Usage(what)
    }
}

impl From<ZeError> for Ending {
    /// At the failed call, before anything made by the driver goes out of scope.
    fn from(error: ZeError) -> Self {
        sys::abandon();
        Ending::Driver(error)
    }
}

fn input(path: &Path, error: &std::io::Error) -> Ending {
    Ending::Input("open".to_owned(), format!("{}: {error}", path.display()))
}

/// Runs the reproducer and ends the process with a [`ReproExit`].
pub fn main(args: &args::LevelZeroArgs) -> Result<Exit, Failure> {
    let telling = Telling::start("level-zero").map_err(|error| Failure::new(Exit::Usage, error))?;
    telling
        .write_on_sigterm(ReproExit::Terminated as i32)
        .map_err(|error| Failure::new(Exit::Internal, format!("SIGTERM handler: {error}")))?;
    telling.phase(Phase::SetUp);
    let exit = match steps::run(args, &telling) {
        Ok(true) => ReproExit::Clean,
        Ok(false) => ReproExit::Corrupt,
        Err(ending) => report(&ending, &telling),
    };
    let exit = match telling.write() {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("level-zero: the result could not be written: {error}");
            ReproExit::Input
        }
    };
    if exit == ReproExit::DriverCall {
        // The driver's own exit handlers may wait for a device that is gone.
        crate::frontend::sys::flush_c_streams();
        crate::frontend::sys::exit_now(exit as i32);
    }
    std::process::exit(exit as i32)
}

fn report(ending: &Ending, telling: &Telling) -> ReproExit {
    match ending {
        Ending::Usage(what) => {
            eprintln!("level-zero: {what}");
            telling.error("arguments", 0, what);
            ReproExit::Usage
        }
        Ending::NoDriver(error) | Ending::Driver(error) => {
            eprintln!("level-zero: {error}");
            telling.error(error.call, error.code, &error.what);
            if matches!(ending, Ending::NoDriver(_)) { ReproExit::NoDriver } else { ReproExit::DriverCall }
        }
        Ending::Input(call, what) => {
            eprintln!("level-zero: {what}");
            telling.error(call, 0, what);
            ReproExit::Input
        }
    }
}
