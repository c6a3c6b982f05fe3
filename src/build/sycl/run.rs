//! One step of a SYCL build: its own process group, a time limit, and an end that is explained.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::super::compile::{show, tail};
use super::diagnose::diagnose;

/// How long between looks at the child; compilations take seconds.
const POLL: Duration = Duration::from_millis(10);

/// A failed SYCL build.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct SyclError {
    pub what: String,
    /// As a shell takes it; empty when no command was reached.
    pub command: String,
    /// The end of the tool's output.
    pub log: String,
    pub advice: String,
}

impl SyclError {
    pub fn early(what: impl Into<String>) -> Self {
        SyclError { what: what.into(), command: String::new(), log: String::new(), advice: String::new() }
    }

    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::early(format!("{}: {error}", path.display()))
    }

    /// Several lines for a person: diagnosis, command, end of the log, advice.
    pub fn explain(&self) -> String {
        let mut text = self.what.clone();
        if !self.command.is_empty() {
            text.push_str(&format!("\n  command: {}", self.command));
        }
        let lines: Vec<&str> = self.log.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(12)) {
            text.push_str(&format!("\n  | {line}"));
        }
        if !self.advice.is_empty() {
            text.push_str(&format!("\n  try: {}", self.advice));
        }
        text
    }
}

/// Runs until the end, the timeout or `stop`; gives the command's text. Only exit status 0 is success.
pub fn run(
    mut command: Command,
    tool: &str,
    directory: &Path,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<String, SyclError> {
    let shown = show(&command);
    let log_path = directory.join("build.log");
    let file = File::create(&log_path).map_err(|e| SyclError::io(&log_path, &e))?;
    let other = file.try_clone().map_err(|e| SyclError::io(&log_path, &e))?;
    command.current_dir(directory).env("LC_ALL", "C").stdin(Stdio::null()).stdout(file).stderr(other);
    command.process_group(0);
    let failed =
        |what: String, log: String, advice: String| SyclError { what, command: shown.clone(), log, advice };
    let mut child = command.spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy();
        failed(format!("{tool} could not be started: {program}: {error}"), String::new(), String::new())
    })?;
    let start = Instant::now();
    let end = loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(shown),
            Ok(Some(status)) => break Ok(status),
            Ok(None) if stop.load(Ordering::Relaxed) => break Err(format!("stopped before {tool} finished")),
            Ok(None) if start.elapsed() >= timeout => {
                break Err(format!("{tool} did not finish in {timeout:?}"));
            }
            Ok(None) => std::thread::sleep(POLL),
            Err(error) => break Err(format!("{tool} cannot be waited for: {error}")),
        }
    };
    let log = tail(&log_path);
    match end {
        Ok(status) => {
            let known = diagnose(&log);
            let how = match (status.code(), status.signal()) {
                (_, Some(signal)) => format!("{tool} was killed by signal {signal}"),
                (code, None) => format!("{tool} ended with status {}", code.unwrap_or(-1)),
            };
            let what = known.map_or(how.clone(), |known| format!("{} ({how})", known.what));
            let advice = known.map_or("run the command by hand and read its output", |known| known.advice);
            Err(failed(what, log, advice.to_owned()))
        }
        Err(what) => {
            // The group is the child's own, and the child is not yet reaped: the id is still its.
            if let Ok(pid) = i32::try_from(child.id()) {
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            }
            let _ = child.wait();
            let advice = "raise the build timeout, or build fewer kernels (split, kernels)".to_owned();
            Err(failed(what, log, advice))
        }
    }
}

/// Takes the lock of one cache key, across threads and processes.
pub fn hold(path: &Path, timeout: Duration, stop: &AtomicBool) -> Result<Flock<File>, SyclError> {
    let open = File::options().create(true).append(true).open(path);
    let mut file = open.map_err(|e| SyclError::io(path, &e))?;
    let start = Instant::now();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((back, nix::errno::Errno::EWOULDBLOCK)) => file = back,
            Err((_, errno)) => return Err(SyclError::io(path, &errno.into())),
        }
        if stop.load(Ordering::Relaxed) || start.elapsed() > timeout * 2 {
            return Err(SyclError::early("another build of the same variant did not finish"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
