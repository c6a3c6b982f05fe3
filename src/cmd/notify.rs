//! `run --notify`: tells somebody that a run has ended.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::exit::Exit;
use crate::report::{Report, headline::Headline};
use crate::results::load_lenient;
use crate::ui::Screen;

/// Runs `command` in a shell. What becomes of it changes nothing in the run's own result; a failure is told.
pub fn notify(command: &str, dir: &Path, exit: Exit, screen: &Screen) {
    let headline = match load_lenient(dir) {
        Ok((loaded, problems)) => Headline::of(&Report::of(vec![loaded], problems)).text,
        Err(error) => error.to_string(),
    };
    let status = Command::new("sh")
        .args(["-c", command])
        .env("REPRO_MATRIX_RESULTS", dir)
        .env("REPRO_MATRIX_HEADLINE", headline)
        .env("REPRO_MATRIX_EXIT", (exit as u8).to_string())
        .stdin(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => screen.line(&format!("notify   the command ended with {status}")),
        Err(error) => screen.line(&format!("notify   sh: {error}")),
    }
}
