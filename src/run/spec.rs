//! The two ends of one execution: what to run, and what came of it. Plain values, no judgement.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::model::verdict::RunEnd;

use super::limits::Limits;

/// One process group to run.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Program and arguments, wrappers included (see [`super::wrap`]).
    pub argv: Vec<OsString>,
    /// The whole environment: nothing is inherited. See [`super::env`].
    pub env: Vec<(String, String)>,
    /// An empty directory of this run's own: a stray `neo.config` there would replace the environment's keys.
    pub cwd: PathBuf,
    /// Where `stdout` and `stderr` are written; not below `cwd`.
    pub io: PathBuf,
    pub limits: Limits,
    /// The simulated device's trace: its growth counts as activity.
    pub trace: Option<PathBuf>,
    /// strace's output file.
    pub strace: Option<PathBuf>,
    /// The client is the process that has a file mapped whose name contains this ("libze_intel_gpu"). `None`:
    /// nobody's maps are read.
    pub client_library: Option<String>,
    /// Unique text that marks every descendant of this run (`REPRO_MATRIX_RUN` in its environment). Two runs with the
    /// same token would end each other's processes: take it from [`super::fresh_token`].
    pub token: String,
}

/// A byte of a stream and the time at which it (and what follows up to the next mark) arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub offset: u64,
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: u64,
}

/// One captured stream.
#[derive(Clone, Debug, Default)]
pub struct Captured {
    pub path: PathBuf,
    /// Bytes that were read; all of them are in the file unless `lost` says why not.
    pub bytes: u64,
    pub arrivals: Vec<Arrival>,
    /// Why the file is not whole.
    pub lost: Option<String>,
}

impl Captured {
    /// (offset, t_ns) of each arrival, as the parsers take them.
    pub fn marks(&self) -> Vec<(u64, u64)> {
        self.arrivals.iter().map(|a| (a.offset, a.t_ns)).collect()
    }
}

/// What came through the result descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultBytes {
    pub bytes: Vec<u8>,
    /// More than the cap was sent; `bytes` is cut.
    pub overflow: bool,
}

/// `/proc/PID/maps` of the client at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapsSnapshot {
    /// The phase marker that was the occasion, or "stop".
    pub when: String,
    pub pid: u32,
    pub text: String,
}

/// A process of the run that outlived its leader, or that KILL did not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub pid: u32,
    pub name: String,
}

/// What the run used, as wait4(2) counts it (the leader and the descendants it waited for).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    pub max_rss_bytes: u64,
}

/// Everything that is known of one execution.
#[derive(Clone, Debug)]
pub struct RawRun {
    pub end: RunEnd,
    pub started: SystemTime,
    /// CLOCK_MONOTONIC, ns.
    pub started_ns: u64,
    pub ended_ns: u64,
    pub wall: Duration,
    pub usage: Option<Usage>,
    pub stdout: Captured,
    pub stderr: Captured,
    pub result: ResultBytes,
    pub maps: Vec<MapsSnapshot>,
    /// Why no maps could be read, when somebody's should have been.
    pub maps_problem: Option<String>,
    pub trace: Option<PathBuf>,
    pub strace: Option<PathBuf>,
    /// Kernel messages during the run, or why they could not be read; `None`: not asked for.
    pub kernel_log: Option<Result<Vec<u8>, String>>,
    /// Text of the kernel's tracepoints during the run, or why there is none; absent where nobody asked.
    pub xe_trace: Option<Result<Vec<u8>, String>>,
    /// Processes that were still there when the leader had ended: they held the output pipes or lived on in the
    /// session. They were killed.
    pub leaked: Vec<Leftover>,
    /// Processes that even KILL did not end within the grace.
    pub survivors: Vec<Leftover>,
}

impl RawRun {
    /// A run that could not be started.
    pub fn spawn_failed(spec: &RunSpec, errno: i32, what: String) -> Self {
        let now = super::monotonic_ns();
        RawRun {
            end: RunEnd::SpawnFailed { errno, what },
            started: SystemTime::now(),
            started_ns: now,
            ended_ns: now,
            wall: Duration::ZERO,
            usage: None,
            stdout: Captured::default(),
            stderr: Captured::default(),
            result: ResultBytes::default(),
            maps: Vec::new(),
            maps_problem: None,
            trace: spec.trace.clone(),
            strace: spec.strace.clone(),
            kernel_log: None,
            xe_trace: None,
            leaked: Vec::new(),
            survivors: Vec::new(),
        }
    }
}
