//! One command with a time limit, in a process group of its own.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cmd::Failure;
use crate::exit::Exit;

/// How long between looks at the child.
const POLL: Duration = Duration::from_millis(2);

/// How it ended, and how long it took from start to end.
pub struct End {
    /// `None`: it was stopped at the limit.
    pub status: Option<ExitStatus>,
    pub wall: Duration,
}

impl End {
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    pub fn describe(&self) -> String {
        let seconds = self.wall.as_secs_f64();
        match self.status {
            Some(status) => format!("{status} after {seconds:.1} s"),
            None => format!("stopped after {seconds:.1} s"),
        }
    }
}

pub fn run(mut command: Command, timeout: Duration) -> Result<End, Failure> {
    let start = Instant::now();
    let mut child = command.process_group(0).spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Failure::new(Exit::Usage, format_args!("{program} could not be started: {error}"))
    })?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(End { status: Some(status), wall: start.elapsed() }),
            Ok(None) if start.elapsed() >= timeout => break,
            Ok(None) => std::thread::sleep(POLL),
            Err(error) => return Err(Failure::new(Exit::Internal, error)),
        }
    }
    // The group is the child's own, and the child is not yet reaped: the id is still its.
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.wait();
    Ok(End { status: None, wall: start.elapsed() })
}
