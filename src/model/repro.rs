//! What a reproducer says of itself: one JSON object on the descriptor named by `REPRO_MATRIX_RESULT_FD`, written
//! once at the end (also on failure), and phase markers on both output streams while it runs.

use serde::{Deserialize, Serialize};

/// Environment variable with the number of the inherited descriptor for [`ReproResult`].
pub const RESULT_FD_ENV: &str = "REPRO_MATRIX_RESULT_FD";
/// After the marker of this phase (the driver is loaded, nothing was run) a reproducer whose result descriptor is a socket
/// waits there for one byte, at most [`HANDSHAKE_TIMEOUT`]: until then the harness reads which driver it has mapped.
pub const HANDSHAKE_PHASE: &str = "before";
pub const HANDSHAKE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);
/// Version of [`ReproResult`].
pub const REPRO_RESULT_VERSION: u32 = 1;
/// A marker line is this, then a [`Phase`] name; it is written to stdout *and* stderr and flushed, so that each
/// stream can be cut into phases without trusting the order between the streams.
pub const PHASE_MARKER: &str = "== repro-matrix phase ";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// zeInit … module creation.
    SetUp,
    /// First kernel run and its check.
    Before,
    /// The copies (or what stands in their place).
    Copies,
    /// Second kernel run and its check.
    After,
    /// Late module: created and checked after the copies.
    LateModule,
    /// Second round of copies.
    CopiesAgain,
    /// Third kernel run, both modules.
    AfterAgain,
    TearDown,
}

impl Phase {
    /// All phases with their names, in order.
    pub const NAMES: [(&'static str, Phase); 8] = [
        ("set_up", Phase::SetUp),
        ("before", Phase::Before),
        ("copies", Phase::Copies),
        ("after", Phase::After),
        ("late_module", Phase::LateModule),
        ("copies_again", Phase::CopiesAgain),
        ("after_again", Phase::AfterAgain),
        ("tear_down", Phase::TearDown),
    ];

    /// The phase that a marker line begins; text behind the name does not matter.
    pub fn from_marker(line: &[u8]) -> Option<Phase> {
        let rest = line.strip_prefix(PHASE_MARKER.as_bytes())?;
        let end = rest.iter().position(|b| !b.is_ascii_lowercase() && *b != b'_').unwrap_or(rest.len());
        let name = rest.get(..end)?;
        Phase::NAMES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, phase)| *phase)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproResult {
    pub version: u32,
    /// `level-zero`, or the SYCL front end's full description.
    pub front_end: String,
    pub device_name: String,
    pub device_id: u32,
    /// As zeDriverGetProperties gives it, decoded where the layout is known: "1.15.39122".
    pub driver_version: String,
    pub global_memory: u64,
    pub modules: u32,
    pub kernel: KernelProperties,
    pub control: KernelProperties,
    /// The late module's kernel of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_kernel: Option<KernelProperties>,
    /// CLOCK_MONOTONIC ns at the start of each phase, in order.
    pub phases: Vec<PhaseMark>,
    pub checks: Vec<Check>,
    pub copies: Copies,
    /// Words of guard memory that lost their sentinel; absent without guards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard_disturbed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<PageCacheState>,
    /// The workload has no check before the trigger: its only one is at its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_check: bool,
    /// An OpenCL implementation that a process of a command had mapped: its work may have been done there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opencl: Option<String>,
    /// Steps of a session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<super::extract::Step>,
    /// The call that ended the run early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ReproError>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelProperties {
    pub name: String,
    /// Bytes per hardware thread, as zeKernelGetProperties gives it.
    pub private_mem_size: u32,
    pub spill_mem_size: u32,
    pub simd: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseMark {
    pub phase: Phase,
    pub start_ns: u64,
}

/// One comparison of an output buffer with what the host computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub phase: Phase,
    /// "module" or "late-module".
    pub module: String,
    pub total: u64,
    pub wrong: u64,
    pub untouched: u64,
    pub control_total: u64,
    pub control_wrong: u64,
    pub control_untouched: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    pub requested: u64,
    pub done: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub allocations: u64,
}

/// Verified with mincore(2) before the copies, not assumed. Pages of the copied region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCacheState {
    pub pages: u64,
    pub resident: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReproError {
    pub phase: Phase,
    /// e.g. "zeInit".
    pub call: String,
    /// ze_result_t.
    pub code: u32,
    /// "ZE_RESULT_ERROR_UNINITIALIZED" or an explanation for errors outside Level Zero.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_names_are_the_serialised_ones() {
        for (name, phase) in Phase::NAMES {
            assert_eq!(serde_json::to_string(&phase).unwrap(), format!("\"{name}\""));
            let marker = format!("{PHASE_MARKER}{name} ==");
            assert_eq!(Phase::from_marker(marker.as_bytes()), Some(phase));
        }
        assert_eq!(Phase::from_marker(b"== repro-matrix phase lunch"), None);
    }
}
