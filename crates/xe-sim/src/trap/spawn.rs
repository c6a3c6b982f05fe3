//! Starts the client under the filter.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::cmsg_space;
use nix::sys::signal::SigSet;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, socketpair,
};

use super::filter;
use super::sys::{self, CStrings};
use super::{SimCommand, SimError};

/// A client that runs (or will, as soon as its first trapped call is answered).
pub(super) struct Client {
    pub pid: u32,
    pub pidfd: OwnedFd,
    pub listener: OwnedFd,
}

/// Which step failed in the child.
const AT_FILTER: u8 = 1;
const AT_EXEC: u8 = 2;

/// Starts the command; `mask` is the signal mask it gets.
pub(super) fn spawn(command: &SimCommand, mask: &SigSet) -> Result<Client, SimError> {
    let program = command.argv.first().ok_or(SimError::EmptyCommand)?;
    let path = find_program(program)?;
    let c_path = c_string(path.as_os_str())?;
    let argv = CStrings::new(command.argv.iter().map(|a| c_string(a)).collect::<Result<_, _>>()?);
    let environment = match &command.env {
        Some(env) => env.clone(),
        None => std::env::vars_os().collect(),
    };
    let pairs = environment.into_iter().map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        c_string(&name)
    });
    let envp = CStrings::new(pairs.collect::<Result<_, _>>()?);
    let code = filter::program();
    let pair = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC);
    let (ours, theirs) = pair.map_err(|e| SimError::host("socketpair", e))?;
    let pipe = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC);
    let (failure, failure_in) = pipe.map_err(|e| SimError::host("pipe", e))?;
    let parent = std::process::id();
    let pid = sys::fork_and(|| {
        let fail = |step: u8, error: &io::Error| {
            let errno = error.raw_os_error().unwrap_or(0).to_ne_bytes();
            sys::write_all_signal_safe(failure_in.as_fd(), &[step, errno[0], errno[1], errno[2], errno[3]]);
            127
        };
        sys::prepare_signals(mask.as_ref());
        let listener = sys::die_with_parent(parent).and_then(|()| sys::install_filter(&code));
        let sent = listener.and_then(|listener| sys::send_fd(theirs.as_fd(), listener.as_fd()));
        if let Err(error) = sent {
            return fail(AT_FILTER, &error);
        }
        fail(AT_EXEC, &sys::exec(&c_path, &argv, &envp))
    })
    .map_err(|e| SimError::host("fork", e))?;
    drop((theirs, failure_in));
    let pidfd = sys::pidfd_open(pid).map_err(|e| SimError::host("pidfd_open", e))?;
    let listener = receive_fd(&ours);
    // The pipe's other end is closed by a successful exec.
    let mut report = [0u8; 5];
    let mut failure = std::fs::File::from(failure);
    let failed = failure.read_exact(&mut report).is_ok();
    if failed {
        let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(pid as i32), None);
        let error =
            io::Error::from_raw_os_error(i32::from_ne_bytes([report[1], report[2], report[3], report[4]]));
        return Err(match report[0] {
            AT_EXEC => SimError::CannotExecute { program: path, error },
            _ => SimError::NoListener(error),
        });
    }
    let listener = listener.map_err(|e| SimError::host("receiving the listener", e))?;
    Ok(Client { pid, pidfd, listener })
}

fn receive_fd(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut byte = [0u8; 1];
    let mut iov = [io::IoSliceMut::new(&mut byte)];
    let mut space = cmsg_space!([std::os::fd::RawFd; 1]);
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut iov, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let fds = message.cmsgs()?.find_map(|c| match c {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    let fd = fds.ok_or_else(|| io::Error::from_raw_os_error(libc::EPIPE))?;
    Ok(sys::own(fd))
}

fn c_string(text: &OsStr) -> Result<CString, SimError> {
    CString::new(OsString::from(text).into_vec()).map_err(|_| SimError::NulInCommand)
}

/// As the shell finds it: a name with a slash is a path, others are looked for in PATH.
fn find_program(name: &OsStr) -> Result<PathBuf, SimError> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let executable =
        |p: &Path| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|p| executable(p)).ok_or_else(|| {
        SimError::CannotExecute { program: name.into(), error: io::Error::from_raw_os_error(libc::ENOENT) }
    })
}
