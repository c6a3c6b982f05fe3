//! What observers saw, as plain values with their source positions. Parsers make them, the judge reads them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::repro::Phase;

pub use injected::Injected;
pub use kernel_log::{KernelFault, KernelLogFacts};
pub use neo::{
    GpuFault, KmdTime, MemoryRegion, NeoFacts, ObjectCounts, Outcomes, PerDispatch, RangeRole, StreamOrder,
    ThreadMemory, ThreadMemoryKind, XeLogFacts,
};
pub use runtime::{ListedDevice, RuntimeError, RuntimeFacts};
pub use strace::{StraceFacts, SummaryRow};
pub use xe_trace::XeTraceFacts;
pub use ze_api::{
    ARGUMENT_DIGITS, ARGUMENT_MARKER, ARGUMENT_SHOWN, ARGUMENT_VALUES, ArgumentValue, KernelSeen,
    NO_ARGUMENTS_MARKER, ZeApiFacts,
};

mod injected;
mod kernel_log;
mod neo;
mod runtime;
mod strace;
mod xe_trace;
mod ze_api;

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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ze_api: Option<ZeApiFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xe_trace: Option<XeTraceFacts>,
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
    /// 0 = success; [`ERRNO_UNKNOWN`] = failed, number not printed.
    pub errno: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// [`BindEvent::errno`] of a failure whose number the log does not give.
pub const ERRNO_UNKNOWN: i32 = -1;

pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    pub calls: u64,
    /// errno name ("EPERM") → count.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

/// From the simulated device's trace, reduced to what a verdict needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimFacts {
    pub device: String,
    pub executes_kernels: bool,
    /// The rules of the faults that it was to inject; how often each did is in `summary.injected`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    pub summary: xe_sim::trace::Summary,
    pub dispatches: Vec<DispatchFact>,
    pub hazards: Vec<HazardFact>,
    pub ranges: Vec<RangeHistory>,
    /// What executed kernels read and wrote where nothing is bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmapped: Vec<UnmappedFact>,
    /// The last line (summary) was there: the trace is whole.
    pub complete: bool,
    pub not_understood: u64,
    /// Facts not kept since a limit on memory was reached.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
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

/// Bytes that dispatch `n` read (as zeros) and wrote (to nowhere) in one range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnmappedFact {
    pub n: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// As it was last bound; zero where nothing ever was.
    pub range_len: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub read: u64,
    pub written: u64,
}

/// From `/proc/PID/maps` of the client: which driver really ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedDriver {
    pub libraries: Vec<LoadedLibrary>,
}

/// Whether the file is an OpenCL implementation (not the loader `libOpenCL`, which does no work itself).
pub fn is_opencl(path: &str) -> bool {
    const NAMES: [&str; 7] = [
        "libigdrcl",
        "libpocl",
        "libintelocl",
        "libnvidia-opencl",
        "libamdocl",
        "libRusticlOpenCL",
        "libMesaOpenCL",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.iter().any(|start| name.starts_with(start))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedLibrary {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
