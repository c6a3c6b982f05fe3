//! Starts one run's leader: a session of its own, an environment of its own, three pipes.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use nix::fcntl::OFlag;

use crate::model::repro::RESULT_FD_ENV;

use super::capture::{Capture, ResultPipe};
use super::spec::RunSpec;
use super::sys;

/// A started run.
pub struct Spawned {
    pub pid: u32,
    pub pidfd: OwnedFd,
    pub stdout: Capture,
    pub stderr: Capture,
    pub result: ResultPipe,
}

/// What could not be done, and the system's answer.
#[derive(Debug)]
pub struct SpawnError {
    pub what: String,
    pub error: io::Error,
}

fn during(what: impl Into<String>) -> impl FnOnce(io::Error) -> SpawnError {
    let what = what.into();
    move |error| SpawnError { what, error }
}

/// Starts `spec`'s program. It leads a new session and process group whose id is its pid.
pub fn spawn(spec: &RunSpec) -> Result<Spawned, SpawnError> {
    let (program, args) = spec.argv.split_first().ok_or_else(|| SpawnError {
        what: "an empty command line".into(),
        error: io::Error::from(io::ErrorKind::InvalidInput),
    })?;
    let (out_r, out_w) = pipe()?;
    let (err_r, err_w) = pipe()?;
    let (res_r, res_w) = socket_pair()?;
    let stdout = Capture::new(out_r, spec.io.join("stdout")).map_err(during("creating the stdout file"))?;
    let stderr = Capture::new(err_r, spec.io.join("stderr")).map_err(during("creating the stderr file"))?;
    let result =
        ResultPipe::new(res_r, spec.limits.result_cap).map_err(during("preparing the result pipe"))?;

    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(k, v)| (k, v)))
        .env(super::proctree::RUN_TOKEN_ENV, &spec.token)
        .env(RESULT_FD_ENV, res_w.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::from(File::from(out_w)))
        .stderr(Stdio::from(File::from(err_w)));
    sys::prepare_child(
        &mut command,
        sys::ChildSetup {
            result_fd: res_w.as_raw_fd(),
            core: spec.limits.core,
            file_size: spec.limits.file_size,
        },
    );
    let mut child = command.spawn().map_err(during(format!("starting {}", program.to_string_lossy())))?;
    // Our copies of the write ends must go, or end of file never comes.
    drop(command);
    drop(res_w);
    let pid = child.id();
    let pidfd = match sys::pidfd_open(pid) {
        Ok(pidfd) => pidfd,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(SpawnError { what: "pidfd_open".into(), error });
        }
    };
    // `child` is never waited for through std: sys::reap takes its resource usage too.
    drop(child);
    Ok(Spawned { pid, pidfd, stdout, stderr, result })
}

/// For the result: a socket, because the harness answers a marker with one byte when it has looked at the client.
fn socket_pair() -> Result<(OwnedFd, OwnedFd), SpawnError> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)
        .map_err(io::Error::from)
        .map_err(during("socketpair"))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), SpawnError> {
    nix::unistd::pipe2(OFlag::O_CLOEXEC).map_err(io::Error::from).map_err(during("pipe2"))
}
