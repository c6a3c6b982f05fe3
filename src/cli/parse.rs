//! Arguments of `repro-matrix parse`.

use std::path::PathBuf;

/// Turn a log into JSON facts.
///
/// Reads a log that a driver, strace, the kernel or the simulated device wrote, and prints what a verdict would be
/// made of. Plain or gzip, any size: memory is bounded. Lines that are
/// not understood are counted in the facts, and so are those of no such log (`foreign_lines`: a program's own output).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix parse neo run.log\n  \
    repro-matrix parse neo stderr.gz --stream stderr\n  \
    journalctl -k -o cat | repro-matrix parse kmsg - --device 0000:c3:00.0\n  \
    dmesg | repro-matrix parse kmsg - --from 7000.0 --until 7004.5\n\n\
    Exit codes: 0 facts printed; 2 the file cannot be opened; 40 it is damaged, of a newer version, or has no line of \
    such a log, nor, for `runtime`, any message that it knows (a log without any line is told and ends with 0: nothing happened).")]
pub struct ParseArgs {
    /// What wrote the log.
    #[arg(value_enum)]
    pub format: LogFormat,
    /// The log; `-` is standard input.
    pub file: PathBuf,
    /// neo: the stream that the file holds. Default: both in one file (`2>&1`).
    #[arg(long, value_enum)]
    pub stream: Option<LogStream>,
    /// kmsg, xe-trace: only records of this PCI device, as "0000:c3:00.0" (and records that name none).
    #[arg(long, value_name = "ADDRESS")]
    pub device: Option<String>,
    /// kmsg: only records from this time on, in seconds since boot.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub from: Option<u64>,
    /// kmsg: only records before this time, in seconds since boot: when the job was killed.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub until: Option<u64>,
    /// JSON on one line. Default when the output is not a terminal.
    #[arg(long, conflicts_with = "pretty")]
    pub json: bool,
    /// Indented JSON. Default on a terminal.
    #[arg(long)]
    pub pretty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// The debug output of compute-runtime.
    Neo,
    /// strace, full trace or `-c` table.
    Strace,
    /// The kernel's log: dmesg, journalctl -k, /dev/kmsg.
    Kmsg,
    /// Level Zero loader, Unified Runtime, sycl-ls.
    Runtime,
    /// The trace of the simulated device.
    Sim,
    /// The Level Zero loader's call trace (ZEL_ENABLE_LOADER_LOGGING).
    ZeApi,
    /// tracefs text of xe's tracepoints.
    XeTrace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogStream {
    Stdout,
    Stderr,
}

/// "7000.004120" as ns.
fn seconds(text: &str) -> Result<u64, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: u64 = whole.parse().map_err(|e| format!("{e}"))?;
    if fraction.len() > 9 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err("up to nine digits after the point".to_owned());
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().map_err(|e| format!("{e}"))?;
    let total = whole.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(nanos));
    total.ok_or_else(|| "too large".to_owned())
}
