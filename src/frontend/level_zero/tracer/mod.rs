//! Argument bytes, by the Level Zero loader's API callbacks: what zeKernelSetArgumentValue was given, as a line on stderr
//! for each call that succeeded. The loader's own call trace, on the same stream, says where the bytes lie and no more.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::model::facts::{ARGUMENT_MARKER, NO_ARGUMENTS_MARKER};

mod sys;

/// Set by the `ze-api` observer: the loader then loads its tracing layer.
const TRACING_LAYER_ENV: &str = "ZE_ENABLE_TRACING_LAYER";

/// Where the run asks for it, and the loader has callbacks; if it has none, that is told instead.
pub fn start_if_wanted(loader: &libloading::Library) {
    if std::env::var(TRACING_LAYER_ENV).is_ok_and(|value| value.trim() == "1")
        && let Err(why) = sys::start(loader)
    {
        tell(&format!("{NO_ARGUMENTS_MARKER}{why}\n"));
    }
}

/// One whole line with one write, since other threads and the driver write to the same stream.
fn tell(line: &str) {
    // A closed stream is the reader's choice.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// `value`: `None` where the call gave no address (memory of the work group: a size alone).
fn line(kernel: u64, index: u32, size: usize, value: Option<&[u8]>) -> String {
    let head = format!("{ARGUMENT_MARKER}hKernel=0x{kernel:x} argIndex={index} argSize={size}");
    let Some(bytes) = value else { return format!("{head} none\n") };
    let mut line = format!("{head} bytes=");
    for byte in bytes {
        let _ = write!(line, "{byte:02x}");
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_all_bytes() {
        assert_eq!(
            line(0x10, 1, 3, Some(b"abc")),
            "[ze-args] hKernel=0x10 argIndex=1 argSize=3 bytes=616263\n"
        );
        assert_eq!(line(1, 2, 8, None), "[ze-args] hKernel=0x1 argIndex=2 argSize=8 none\n");
    }
}
