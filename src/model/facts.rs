//! What observers saw, as plain values with their source positions. Parsers make them, the judge reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::repro::Phase;

/// Everything known of one run, each part absent where its observer was not there. Absent is never "clean".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neo: Option<NeoFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strace: Option<StraceFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim: Option<SimFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded: Option<LoadedDriver>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_log: Option<KernelLogFacts>,
}

/// From the driver's own debug output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NeoFacts {
    /// One per module that has private memory; empty = not observable in this release or no such module.
    pub per_dispatch: Vec<PerDispatch>,
    /// Bind histories keyed by (VM, range), in order of first appearance.
    pub ranges: Vec<RangeHistory>,
    pub bind_failures: BTreeMap<i32, u64>,
    /// "Non-default value of debug variable": key → value.
    pub accepted_keys: BTreeMap<String, String>,
    /// Kernel-level private sizes: bytes per hardware thread.
    pub per_thread_private: Vec<u64>,
    pub compute_units: Option<u64>,
    pub aborts: Vec<String>,
    pub gpu_segfault: bool,
    /// Lines that look like the driver's but were not understood.
    pub not_understood: u64,
    pub lines: u64,
}

/// `Private Memory Per Dispatch %d for modulePrivateMemorySize … subDevices … globalMemorySize …`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerDispatch {
    pub flag: bool,
    pub module_private: u64,
    pub sub_devices: u64,
    pub global_memory: u64,
}

/// One GPU address range in one VM. Addresses 48-bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeHistory {
    pub vm: u32,
    pub start: u64,
    pub size: u64,
    pub events: Vec<BindEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindEvent {
    pub bind: bool,
    /// 0 = success.
    pub errno: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StraceFacts {
    /// Request name → calls and errors; names corrected by number where strace mislabels them.
    pub ioctls: BTreeMap<String, CallCount>,
    /// "XE_WAIT_USER_FENCE printed as DRM_IOCTL_ETNAVIV_PM_QUERY_DOM" …
    pub relabelled: BTreeMap<String, u64>,
    pub injected: u64,
    /// Lines not understood.
    pub not_understood: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    pub calls: u64,
    /// errno name ("EPERM") → count.
    pub errors: BTreeMap<String, u64>,
}

/// From the simulated device's trace, reduced to what a verdict needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimFacts {
    pub device: String,
    pub executes_kernels: bool,
    pub summary: xe_sim::trace::Summary,
    pub dispatches: Vec<DispatchFact>,
    pub hazards: Vec<HazardFact>,
    pub ranges: Vec<RangeHistory>,
    /// The last line (summary) was there: the trace is whole.
    pub complete: bool,
    pub not_understood: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchFact {
    pub n: u64,
    pub kernel: u64,
    pub groups: [u32; 3],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// (address, length, bound now) of each range the payload points into.
    pub ranges: Vec<(u64, u64, bool)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HazardFact {
    pub n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    pub vm: u32,
    pub pointer: u64,
    pub range_addr: u64,
    pub range_len: u64,
    /// What the range is, where the harness could tell: "private surface".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// From `/proc/PID/maps` of the client: which driver really ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedDriver {
    pub libraries: Vec<LoadedLibrary>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedLibrary {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLogFacts {
    /// False = the log could not be read; then nothing below means anything.
    pub readable: bool,
    pub why_not: Option<String>,
    pub entries: u64,
    pub engine_resets: u64,
    pub faults: u64,
    pub timed_out_jobs: u64,
    pub cat_errors: u64,
    pub devcoredumps: u64,
    pub vm_worker_errors: u64,
    /// The lines that were counted.
    pub lines: Vec<String>,
}
