//! One run of the offline compiler: its own process group, a time limit, and an end that is explained.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::error::{BuildError, Cause};

/// A driver build's `ocloc`, as the build stage needs it.
pub trait Compiler: Sync {
    /// A command that runs `ocloc` with these arguments (through the tree's own ld.so where it has one).
    fn command(&self, args: &[OsString]) -> Command;
    /// Changes whenever the compiler does: the hashes of `ocloc` and IGC, or the driver manifest's hash.
    fn identity(&self) -> String;
}

/// How long between looks at the child. Compilations take 0.3 s and more.
const POLL: Duration = Duration::from_millis(5);
/// Bytes kept of the end of the compiler's output.
const LOG_TAIL: u64 = 16 << 10;

/// Runs `ocloc ARGS` in `directory` until it ends, `timeout` passes or `stop` is set. Success is exit status 0 and
/// nothing else.
pub fn run(
    compiler: &dyn Compiler,
    args: &[OsString],
    directory: &Path,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<(), BuildError> {
    let mut command = compiler.command(args);
    // IGC changes its output by its environment (shader dumps, overrides): those settings are not in the cache key.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("IGC_") {
            command.env_remove(name);
        }
    }
    let shown = show(&command);
    let failed = |cause: Cause, log: String| BuildError::new(cause, shown.clone(), log, directory);
    let log_path = directory.join("ocloc.log");
    let output = || -> std::io::Result<(File, File)> {
        let file = File::create(&log_path)?;
        Ok((file.try_clone()?, file))
    };
    let (stdout, stderr) =
        output().map_err(|e| failed(Cause::from_io("write", &log_path, &e), String::new()))?;
    command.current_dir(directory).env("LC_ALL", "C").stdin(Stdio::null()).stdout(stdout).stderr(stderr);
    command.process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let program = command.get_program().to_string_lossy().into_owned();
            return Err(failed(Cause::Spawn { program, error: error.to_string() }, String::new()));
        }
    };
    let end = wait(&mut child, timeout, stop);
    let log = tail(&log_path);
    match end {
        End::Exited(status) if status.success() => Ok(()),
        End::Exited(status) => Err(failed(Cause::from_status(status.code(), status.signal(), &log), log)),
        End::TimedOut => Err(failed(Cause::Timeout(timeout), log)),
        End::Stopped => Err(failed(Cause::Interrupted, log)),
        End::Lost(error) => Err(failed(Cause::Io { what: "wait for ocloc".to_owned(), error }, log)),
    }
}

enum End {
    Exited(ExitStatus),
    TimedOut,
    Stopped,
    Lost(String),
}

fn wait(child: &mut Child, timeout: Duration, stop: &AtomicBool) -> End {
    let start = Instant::now();
    let end = loop {
        match child.try_wait() {
            Ok(Some(status)) => return End::Exited(status),
            Ok(None) => {}
            Err(error) => break End::Lost(error.to_string()),
        }
        if stop.load(Ordering::Relaxed) {
            break End::Stopped;
        }
        if start.elapsed() >= timeout {
            break End::TimedOut;
        }
        std::thread::sleep(POLL);
    };
    // The group is the child's own (process_group(0)), and the child is not yet reaped: the id is still its.
    if let Ok(pid) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let _ = child.wait();
    end
}

pub(super) fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL)))?;
        let mut bytes = Vec::new();
        file.take(LOG_TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        Err(error) => format!("(the compiler's output could not be read: {error})"),
    }
}

/// The command as a shell would take it.
pub fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,%@".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
