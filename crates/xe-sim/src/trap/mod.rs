//! The trap layer: a client under a seccomp filter, its trapped calls answered from the device model.

mod calls;
mod courtesy;
mod files;
mod filter;
mod listener;
mod maps;
mod others;
mod pace;
mod probe;
mod remote;
mod serve;
mod signals;
mod spawn;
mod supervisor;
mod sys;
mod sysfs;
mod tree;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;

pub use probe::{HostSupport, probe_host};

use crate::arena::Arena;
use crate::client::ClientExit;
use crate::fault::{FaultParseError, FaultPlan};
use crate::profile::Profile;
use crate::trace::{Summary, TraceSink};

/// Bytes of address space for buffer objects; only touched pages cost memory.
const ARENA_BYTES: u64 = 96 << 30;

/// What to run on the device.
#[derive(Clone, Debug, Default)]
pub struct SimCommand {
    pub argv: Vec<OsString>,
    /// `None`: this process's own environment.
    pub env: Option<Vec<(OsString, OsString)>>,
}

/// The device to simulate.
#[derive(Debug)]
pub struct SimOptions {
    pub profile: &'static Profile,
    /// Gets the trace, JSON lines.
    pub trace: Option<File>,
    pub faults: Vec<String>,
    /// Where the private tree of device files is made; default: the temporary directory.
    pub private_root: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct SimOutcome {
    pub exit: ClientExit,
    pub summary: Summary,
    /// Why the trace is not whole. Known after its last line, which the summary is: that one may be what was lost.
    pub trace_trouble: Option<String>,
}

/// Why a device could not be simulated. Each says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    #[error("no command given: repro-matrix sim --device a770 -- COMMAND")]
    EmptyCommand,
    #[error("the command or the environment contains a NUL byte")]
    NulInCommand,
    #[error("{} cannot be executed: {error}", .program.display())]
    CannotExecute { program: PathBuf, error: io::Error },
    #[error(
        "this kernel or sandbox refuses a seccomp listener ({0}); Linux 5.14 or later is needed, and no filter around \
         this process that forbids seccomp(2)"
    )]
    NoListener(io::Error),
    #[error("{what} failed: {error}")]
    Host { what: &'static str, error: io::Error },
    #[error(transparent)]
    Fault(#[from] FaultParseError),
}

impl SimError {
    fn host(what: &'static str, error: impl Into<io::Error>) -> SimError {
        SimError::Host { what, error: error.into() }
    }
}

/// Runs one command on a simulated device, to its end.
///
/// The device lives until the command has ended and no process under the filter is left, at most two seconds after
/// the command's own end. SIGTERM, SIGINT and SIGHUP are passed on to the command; for that they are blocked in the
/// calling thread until the end (a process with more threads must block them there too). The command is killed if the
/// calling thread dies.
pub fn run(command: &SimCommand, options: SimOptions) -> Result<SimOutcome, SimError> {
    let faults = FaultPlan::parse(&options.faults)?;
    let parent = options.private_root.unwrap_or_else(std::env::temp_dir);
    let tree = tree::Tree::build(&parent, options.profile)
        .map_err(|e| SimError::host("making the private device files", e))?;
    let arena = Arena::new(ARENA_BYTES).map_err(|e| SimError::host("making the device's memory", e))?;
    let trace = match options.trace {
        Some(file) => TraceSink::to_writer(Box::new(file)),
        None => TraceSink::none(),
    };
    let signals = signals::Signals::take().map_err(|e| SimError::host("taking signals over", e))?;
    let client = spawn::spawn(command, signals.former_mask())?;
    supervisor::Supervisor::new(options.profile, arena, trace, faults, tree, client, signals)
        .and_then(supervisor::Supervisor::run)
        .map_err(|e| SimError::host("supervising the client", e))
}
