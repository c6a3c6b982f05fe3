//! How a reproducer tells what it does: phase markers on both streams, and one JSON object at the end, however it
//! ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::sys;
use crate::model::repro::{
    Copies, HANDSHAKE_PHASE, HANDSHAKE_TIMEOUT, KernelProperties, PHASE_MARKER, Phase, PhaseMark,
    REPRO_RESULT_VERSION, RESULT_FD_ENV, ReproError, ReproResult,
};

/// The result so far. Clones share it: the signal thread writes what the main thread has found.
#[derive(Clone)]
pub struct Telling(Arc<Mutex<State>>);

struct State {
    result: ReproResult,
    /// Taken when the result is written: it is written once.
    to: Option<File>,
    /// For [`Telling::phase`] only; errors name it.
    phase: Phase,
}

impl Telling {
    /// Takes the descriptor that [`RESULT_FD_ENV`] names. Without the variable nothing but the human lines is told;
    /// a variable that names no open descriptor is an error.
    pub fn start(front_end: &str) -> std::io::Result<Self> {
        let to = match std::env::var(RESULT_FD_ENV) {
            Err(_) => None,
            Ok(text) => {
                let fd = text.trim().parse().map_err(|_| {
                    std::io::Error::new(
                        std::io::ErrorKind::InvalidInput,
                        format!("{RESULT_FD_ENV}={text}: not a number"),
                    )
                })?;
                Some(sys::inherited(fd)?)
            }
        };
        sys::line_buffer_c_stdout();
        let result = ReproResult {
            version: REPRO_RESULT_VERSION,
            front_end: front_end.to_owned(),
            device_name: String::new(),
            device_id: 0,
            driver_version: String::new(),
            global_memory: 0,
            modules: 0,
            kernel: KernelProperties::default(),
            control: KernelProperties::default(),
            late_kernel: None,
            phases: Vec::new(),
            checks: Vec::new(),
            copies: Copies::default(),
            guard_disturbed: None,
            page_cache: None,
            one_check: false,
            opencl: None,
            steps: Vec::new(),
            error: None,
        };
        Ok(Telling(Arc::new(Mutex::new(State { result, to, phase: Phase::SetUp }))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the result.
    pub fn update(&self, change: impl FnOnce(&mut ReproResult)) {
        change(&mut self.lock().result);
    }

    /// Enters a phase: notes the time, and marks both streams after what the driver printed before.
    pub fn phase(&self, phase: Phase) {
        {
            let mut state = self.lock();
            state.phase = phase;
            state.result.phases.push(PhaseMark { phase, start_ns: monotonic_ns() });
        }
        sys::flush_c_streams();
        let line = format!("{PHASE_MARKER}{}\n", name(phase));
        // A closed stream is the reader's choice; the result still goes its own way.
        let _ = std::io::stdout().lock().write_all(line.as_bytes());
        let _ = std::io::stdout().lock().flush();
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
        if name(phase) == HANDSHAKE_PHASE {
            self.await_harness();
        }
    }

    /// See [`HANDSHAKE_PHASE`]. Where nobody answers, the run goes on and is simply less well proved.
    fn await_harness(&self) {
        let mut state = self.lock();
        let Some(to) = state.to.as_mut() else { return };
        if !to.metadata().is_ok_and(|metadata| metadata.file_type().is_socket()) {
            return;
        }
        let timeout = PollTimeout::try_from(HANDSHAKE_TIMEOUT).unwrap_or(PollTimeout::ZERO);
        let ready = poll(&mut [PollFd::new(to.as_fd(), PollFlags::POLLIN)], timeout);
        if ready.is_ok_and(|n| n > 0) {
            let _ = to.read(&mut [0u8; 1]);
        }
    }

    /// A line for people, on stdout.
    pub fn line(&self, text: &str) {
        sys::flush_c_streams();
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    /// Notes what ended the run early, in the phase it happened in. The first one stays.
    pub fn error(&self, call: &str, code: u32, name: &str) {
        let mut state = self.lock();
        let phase = state.phase;
        let error = ReproError { phase, call: call.to_owned(), code, name: name.to_owned() };
        state.result.error.get_or_insert(error);
    }

    /// Writes the result, once. An error here is the harness's pipe: there is nobody else to tell, so it is returned.
    pub fn write(&self) -> std::io::Result<()> {
        let mut state = self.lock();
        let Some(mut to) = state.to.take() else { return Ok(()) };
        let mut text = serde_json::to_vec(&state.result)?;
        text.push(b'\n');
        to.write_all(&text)
    }

    /// From now on SIGTERM writes the result with the error "terminated" and ends the process, also while the main
    /// thread waits inside the driver.
    pub fn write_on_sigterm(&self, exit_code: i32) -> std::io::Result<()> {
        let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM])?;
        let telling = self.clone();
        std::thread::Builder::new().name("sigterm".to_owned()).spawn(move || {
            if signals.forever().next().is_some() {
                telling.error("SIGTERM", 0, "terminated");
                let _ = telling.write();
                sys::exit_now(exit_code);
            }
        })?;
        Ok(())
    }
}

/// The phase's name in a marker: as serde writes it.
pub fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::SetUp => "set_up",
        Phase::Before => "before",
        Phase::Copies => "copies",
        Phase::After => "after",
        Phase::LateModule => "late_module",
        Phase::CopiesAgain => "copies_again",
        Phase::AfterAgain => "after_again",
        Phase::TearDown => "tear_down",
    }
}

fn monotonic_ns() -> u64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    time.map_or(0, |time| (time.tv_sec() as u64) * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_names_are_those_of_the_result() {
        let phases = [
            Phase::SetUp,
            Phase::Before,
            Phase::Copies,
            Phase::After,
            Phase::LateModule,
            Phase::CopiesAgain,
            Phase::AfterAgain,
            Phase::TearDown,
        ];
        for phase in phases {
            assert_eq!(serde_json::to_value(phase).unwrap(), name(phase));
        }
    }
}
