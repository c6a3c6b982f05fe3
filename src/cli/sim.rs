//! Arguments of `repro-matrix sim`.

use std::ffi::OsString;
use std::path::PathBuf;

/// Run any command on a simulated xe device.
///
/// The command (and every process it starts) sees one Intel card: /dev/dri, its sysfs files and the xe driver's
/// requests are served from a model of the device. The real driver runs unmodified; it must be found by the command as
/// on any machine (ZE_ENABLE_ALT_DRIVERS names a build of `repro-matrix drivers`). The exit status is the command's own,
/// 128 + signal if it was killed; 41 if the trace could not be written whole.
///
/// It is a model, not a security boundary. What it executes and what not: docs/device-model.md.
#[derive(Clone, Debug, clap::Args)]
pub struct SimArgs {
    /// Which card: a770, a750, a380 or b580 (`sim:` before it is allowed). With `-residency` after it no kernel is
    /// executed: dispatches change no memory, only what they could reach is judged; many times faster.
    #[arg(long, value_name = "PROFILE", default_value = "a770")]
    pub device: String,
    /// Write the device's trace (JSON lines) to this file.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Inject a fault, e.g. `vm_bind:ENOMEM@17`, `vm_bind:EPERM@userptr-file`, `exec:EIO@3`, `wait:never`,
    /// `gem_create:ENOMEM@every=50`; may be given several times.
    #[arg(long = "fault", value_name = "RULE")]
    pub faults: Vec<String>,
    /// Print the totals as JSON on stderr at the end.
    #[arg(long)]
    pub summary: bool,
    /// Say nothing but what the command says.
    #[arg(long)]
    pub quiet: bool,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
