//! Clients of the simulated device for `trap.rs`: what a driver does, in a few lines each.

pub mod clients;
pub mod drm;
#[allow(dead_code)]
pub mod sys;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard};

use xe_sim::trace::{Event, Record};
use xe_sim::trap::{SimCommand, SimOptions, SimOutcome};

/// Counts the signals that a client's handler has seen.
pub static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// A client that got to its end leaves with this: the harness's own success is 0 even if it ran nothing.
pub const DONE: i32 = 42;

/// Names the client that the re-executed test binary plays.
pub const ROLE: &str = "XE_SIM_TEST_CLIENT";

/// Only one device at a time: a child that another test forks would share this one's descriptors until its exec.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The command that plays `role`.
pub fn argv() -> Vec<OsString> {
    let exe = std::env::current_exe().unwrap().into_os_string();
    let rest = ["--exact", "client", "--ignored", "--nocapture", "--test-threads=1"];
    [exe].into_iter().chain(rest.map(OsString::from)).collect()
}

pub fn env(role: &str) -> Vec<(OsString, OsString)> {
    let tid = sys::gettid().to_string();
    std::env::vars_os()
        .filter(|(name, _)| name != ROLE)
        .chain([(ROLE.into(), role.into()), ("XE_SIM_TEST_SUPERVISOR".into(), tid.into())])
        .collect()
}

pub struct Run {
    pub outcome: SimOutcome,
    pub trace: Vec<Record>,
}

impl Run {
    /// Time (ns) of the first event that matches.
    pub fn time_of(&self, what: impl Fn(&Event) -> bool) -> Option<u64> {
        self.trace.iter().find(|r| what(&r.event)).map(|r| r.t)
    }
}

pub fn options(root: &Path, trace: &Path) -> SimOptions {
    SimOptions {
        profile: xe_sim::profile::by_name("a770").unwrap(),
        trace: Some(std::fs::File::create(trace).unwrap()),
        faults: Vec::new(),
        private_root: Some(root.to_owned()),
    }
}

/// What is injected while a role is played.
fn faults(role: &str) -> Vec<String> {
    match role {
        "file_fault" => vec!["vm_bind:ENOMEM@userptr-file".to_owned()],
        _ => Vec::new(),
    }
}

/// Runs any command on a device.
pub fn simulate(argv: Vec<OsString>, role: &str) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let trace: PathBuf = dir.path().join("trace");
    std::fs::create_dir(&root).unwrap();
    let command = SimCommand { argv, env: Some(env(role)) };
    let options = SimOptions { faults: faults(role), ..options(&root, &trace) };
    let outcome = xe_sim::trap::run(&command, options).unwrap();
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "the private tree is removed at the end");
    let lines = std::fs::read_to_string(trace).unwrap();
    let trace = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    Run { outcome, trace }
}

/// Plays a client on a device; it must get to its end.
pub fn play(role: &str) -> Run {
    let _alone = alone();
    let run = simulate(argv(), role);
    let exit = run.outcome.exit;
    assert_eq!((exit.code, exit.signal), (Some(DONE), None), "client {role}: its panic is above");
    run
}
