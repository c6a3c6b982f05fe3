//! A reproducer that uses no driver and no device: it ends in each of the ways in which a real one can end. Tests
//! of the process layer and of the recorder run it; no arm of a matrix can.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cmd::Failure;
use crate::exit::Exit;
use crate::model::repro::{
    Check, Copies, KernelProperties, PHASE_MARKER, Phase, PhaseMark, REPRO_RESULT_VERSION, RESULT_FD_ENV,
    ReproError, ReproResult,
};
use crate::run::monotonic_ns;

/// How the mock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Pass,
    Corrupt,
    /// Corrupt in a third of the runs, by chance.
    Flaky,
    WrongBefore,
    /// Sleeps for ever; ends on TERM.
    Hang,
    /// Sleeps for ever and ignores TERM.
    IgnoreTerm,
    /// Prints a line every 20 ms, for ever.
    Chatter,
    /// Dies of SIGSEGV.
    Crash,
    /// Leaves a child that holds stdout.
    LeakFd,
    /// Leaves a child in a session of its own that holds nothing.
    Fork,
    /// Prints without end.
    Flood,
    NoResult,
    GarbledResult,
    /// Exit code 0 with wrong elements in the result.
    Liar,
    /// zeInit fails.
    NoDriver,
    /// ZE_RESULT_ERROR_DEVICE_LOST.
    DeviceLost,
    /// Half of the copies, no error.
    HalfTrigger,
    /// Prints its environment and working directory.
    ShowEnvironment,
    /// Sleeps in a session of its own (what `fork` leaves behind).
    Daemon,
}

/// The mock reproducer.
#[derive(Clone, Debug, Args)]
pub struct MockReproArgs {
    pub mode: Mode,
    /// Milliseconds between the phases.
    #[arg(long, default_value_t = 0)]
    pub pause: u64,
    #[arg(long, default_value_t = 942)]
    pub copies: u64,
}

const ELEMENTS: u64 = 131_072;

/// Runs the mock. Exit codes as a real reproducer: 0 nothing wrong, 1 wrong elements, others for failures.
pub fn main(args: &MockReproArgs) -> Result<Exit, Failure> {
    match args.mode {
        Mode::IgnoreTerm => ignore_term()?,
        Mode::Daemon => {
            let _ = nix::unistd::setsid();
            sleep_for_ever();
        }
        Mode::ShowEnvironment => show_environment(),
        Mode::Pass
        | Mode::Corrupt
        | Mode::Flaky
        | Mode::WrongBefore
        | Mode::Hang
        | Mode::Chatter
        | Mode::Crash
        | Mode::LeakFd
        | Mode::Fork
        | Mode::Flood
        | Mode::NoResult
        | Mode::GarbledResult
        | Mode::Liar
        | Mode::NoDriver
        | Mode::DeviceLost
        | Mode::HalfTrigger => {}
    }
    let mut phases = Vec::new();
    for phase in [Phase::SetUp, Phase::Before, Phase::Copies, Phase::After, Phase::TearDown] {
        phases.push(PhaseMark { phase, start_ns: monotonic_ns() });
        mark(phase);
        std::thread::sleep(Duration::from_millis(args.pause));
        if phase == Phase::Copies {
            in_the_middle(args.mode)?;
        }
    }
    let (result, code) = result(args, phases);
    match args.mode {
        Mode::NoResult => {}
        Mode::GarbledResult => give(b"{\"version\": 1, \"front_end\": \"mo")?,
        _ => give(&serde_json::to_vec(&result).map_err(|e| Failure::new(Exit::Internal, e))?)?,
    }
    // The numbers matter here, not their names: 0 nothing wrong, 1 wrong elements, 2 failed.
    Ok(match code {
        0 => Exit::AsExpected,
        1 => Exit::Internal,
        _ => Exit::Usage,
    })
}

fn mark(phase: Phase) {
    let name =
        serde_json::to_value(phase).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    println!("{PHASE_MARKER}{name}");
    eprintln!("{PHASE_MARKER}{name}");
}

fn in_the_middle(mode: Mode) -> Result<(), Failure> {
    match mode {
        Mode::Hang | Mode::IgnoreTerm => sleep_for_ever(),
        Mode::Chatter => loop {
            println!("still here");
            std::thread::sleep(Duration::from_millis(20));
        },
        Mode::Crash => {
            // Rust's own handler puts the default action back at the first; a real fault would then repeat.
            for _ in 0..2 {
                let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSEGV);
            }
        }
        Mode::Flood => loop {
            if std::io::stdout().write_all(&[b'x'; 4096]).is_err() {
                break;
            }
        },
        Mode::LeakFd => leave_behind(&["hang"], false)?,
        Mode::Fork => leave_behind(&["daemon"], true)?,
        Mode::Pass
        | Mode::Corrupt
        | Mode::Flaky
        | Mode::WrongBefore
        | Mode::NoResult
        | Mode::GarbledResult
        | Mode::Liar
        | Mode::NoDriver
        | Mode::DeviceLost
        | Mode::HalfTrigger
        | Mode::ShowEnvironment
        | Mode::Daemon => {}
    }
    Ok(())
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn ignore_term() -> Result<(), Failure> {
    // A handler that does nothing is as deaf as SIG_IGN.
    signal_hook::flag::register(signal_hook::consts::SIGTERM, std::sync::Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|e| Failure::new(Exit::Internal, e))
}

fn leave_behind(args: &[&str], silent: bool) -> Result<(), Failure> {
    let exe = std::env::current_exe().map_err(|e| Failure::new(Exit::Internal, e))?;
    let mut command = Command::new(exe);
    command.arg("mock-repro").args(args).stdin(Stdio::null());
    if silent {
        // It must not hold the result descriptor either.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(fd) = result_fd() {
            crate::run::close_on_exec(fd).map_err(|e| Failure::new(Exit::Internal, e))?;
        }
    }
    // Never waited for: that is the point.
    command.spawn().map(drop).map_err(|e| Failure::new(Exit::Internal, e))
}

fn result_fd() -> Option<i32> {
    std::env::var(RESULT_FD_ENV).ok()?.parse().ok()
}

fn give(bytes: &[u8]) -> Result<(), Failure> {
    let Some(fd) = result_fd() else { return Ok(()) };
    super::sys::inherited(fd)
        // Not closed here: a mode may write more than once, or leave the descriptor to a child.
        .and_then(|file| (&*std::mem::ManuallyDrop::new(file)).write_all(bytes))
        .map_err(|e| Failure::new(Exit::CannotRecord, format!("result descriptor {fd}: {e}")))
}

fn show_environment() {
    let mut all: Vec<(String, String)> = std::env::vars().collect();
    all.sort();
    for (key, value) in all {
        println!("env {key}={value}");
    }
    if let Ok(cwd) = std::env::current_dir() {
        let entries = std::fs::read_dir(&cwd).map(|dir| dir.count()).unwrap_or(usize::MAX);
        println!("cwd {} entries {entries}", cwd.display());
    }
}

fn one_in_three() -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Microseconds at which a process gets here are as good as dice.
    (u64::from(now.subsec_micros()) + u64::from(std::process::id())).is_multiple_of(3)
}

fn result(args: &MockReproArgs, phases: Vec<PhaseMark>) -> (ReproResult, i32) {
    let check = |phase, wrong, untouched| Check {
        phase,
        module: "module".into(),
        total: ELEMENTS,
        wrong,
        untouched,
        control_total: ELEMENTS,
        control_wrong: 0,
        control_untouched: 0,
    };
    let (before, after, code) = match args.mode {
        Mode::Corrupt => ((0, 0), (ELEMENTS, ELEMENTS / 2), 1),
        Mode::Flaky if one_in_three() => ((0, 0), (ELEMENTS, ELEMENTS / 2), 1),
        Mode::WrongBefore => ((65_536, 32_768), (65_536, 32_768), 1),
        Mode::Liar => ((0, 0), (7, 0), 0),
        _ => ((0, 0), (0, 0), 0),
    };
    let error = |call: &str, code, name: &str, phase| ReproError {
        phase,
        call: call.into(),
        code,
        name: name.into(),
    };
    let (error, code) = match args.mode {
        Mode::NoDriver => {
            (Some(error("zeInit", 0x7800_0001, "ZE_RESULT_ERROR_UNINITIALIZED", Phase::SetUp)), 2)
        }
        Mode::DeviceLost => (
            Some(error(
                "zeCommandQueueSynchronize",
                0x7000_0001,
                "ZE_RESULT_ERROR_DEVICE_LOST",
                Phase::Copies,
            )),
            2,
        ),
        _ => (None, code),
    };
    let done = if args.mode == Mode::HalfTrigger { args.copies / 2 } else { args.copies };
    let kernel =
        KernelProperties { name: "mock".into(), private_mem_size: 22_784, spill_mem_size: 0, simd: 16 };
    let result = ReproResult {
        version: REPRO_RESULT_VERSION,
        front_end: "mock".into(),
        device_name: "none".into(),
        device_id: 0,
        driver_version: "none".into(),
        global_memory: 0,
        modules: 1,
        control: KernelProperties { name: "control".into(), private_mem_size: 0, ..kernel.clone() },
        late_kernel: None,
        kernel,
        phases,
        checks: vec![check(Phase::Before, before.0, before.1), check(Phase::After, after.0, after.1)],
        copies: Copies {
            requested: args.copies,
            done,
            bytes: done * (11 << 20),
            seconds: 0.0,
            allocations: 1,
        },
        guard_disturbed: None,
        page_cache: None,
        one_check: false,
        opencl: None,
        steps: Vec::new(),
        error,
    };
    (result, code)
}
