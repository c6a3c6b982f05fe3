//! The simulated device: dispatch of requests to the objects of the xe driver.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use crate::arena::Arena;
use crate::client::{Caller, ClientExit, ClientMem, Errno, FileId, ProcessId, Reply, WaitId};
use crate::fault::FaultPlan;
use crate::profile::Profile;
use crate::trace::{Summary, TraceSink};

/// What [`Device::advance`] did and when it wants to be called again.
#[derive(Debug)]
pub struct Progress {
    /// Parked waits that ended, with the ioctl's result for the caller.
    pub finished: Vec<(WaitId, Result<i64, Errno>)>,
    /// Some queue executed at least one command.
    pub advanced: bool,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing can change before the next request.
    Idle,
    /// A queue or a wait watches memory that the client may write without a trap: call again soon.
    Poll,
    /// A parked wait times out then, and nothing else can change before.
    At(Instant),
}

pub struct Device {
    profile: &'static Profile,
    arena: Arena,
    mem: Box<dyn ClientMem>,
    trace: TraceSink,
    faults: FaultPlan,
}

impl Device {
    pub fn new(
        profile: &'static Profile,
        arena: Arena,
        mem: Box<dyn ClientMem>,
        trace: TraceSink,
        faults: FaultPlan,
    ) -> Device {
        Device { profile, arena, mem, trace, faults }
    }

    pub fn profile(&self) -> &'static Profile {
        self.profile
    }

    /// The memfd that clients get as their device descriptor.
    pub fn arena_fd(&self) -> BorrowedFd<'_> {
        self.arena.fd()
    }

    /// A client opened the device node.
    pub fn open(&mut self, _process: ProcessId) -> FileId {
        FileId(0)
    }

    /// The last descriptor of an open file description is gone.
    pub fn close(&mut self, _file: FileId) {}

    pub fn process_gone(&mut self, _process: ProcessId) {}

    /// Serves one DRM ioctl. `cmd` is the request number as passed by the client.
    pub fn ioctl(&mut self, _caller: &Caller, _cmd: u32, _arg: u64) -> Reply {
        Reply::Failed(Errno(libc::ENOTTY))
    }

    /// The caller of a parked wait was interrupted or died: forget it.
    pub fn cancel_wait(&mut self, _wait: WaitId) {}

    /// Runs queues that can go on, ends waits.
    pub fn advance(&mut self) -> Progress {
        Progress { finished: Vec::new(), advanced: false, next: Next::Idle }
    }

    /// Writes the summary event and returns it.
    pub fn finish(&mut self, _exit: ClientExit) -> Summary {
        Summary::default()
    }
}
