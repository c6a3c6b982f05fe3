//! What the driver's own debug output says.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{CallCount, RangeHistory, is_default, is_zero};

/// From the driver's own debug output.
///
/// A part that is empty was not printed: that says nothing of whether it happened. `dropped` > 0 or `long_lines` > 0
/// means that the log held more than these facts do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NeoFacts {
    /// One per module that has private memory; empty = not observable in this release or no such module.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_dispatch: Vec<PerDispatch>,
    /// Bind histories keyed by (VM, range), in order of first appearance. From PrintBOBindingResult.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeHistory>,
    /// How events of stdout and stderr were put in order; absent when there was no more than one stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<StreamOrder>,
    /// Form of the bind lines ("bo", "vm", "drmVmId", "vmHandleId") → lines.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bind_forms: BTreeMap<String, u64>,
    /// errno → failed binds. [`super::ERRNO_UNKNOWN`] where the line has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bind_failures: BTreeMap<i32, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unbind_failures: BTreeMap<i32, u64>,
    /// Tiles named by the bind lines. More than one: a range's history mixes the tiles.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tiles: BTreeSet<u32>,
    /// "Non-default value of debug variable": key → value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted_keys: BTreeMap<String, String>,
    /// Kernel-level private sizes: bytes per hardware thread; each value once, in order of first appearance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_thread_private: Vec<u64>,
    /// The three size lines that a size check prints; each combination once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_memory: Vec<ThreadMemory>,
    /// The first value printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_units: Option<u64>,
    /// Bytes, as the size check prints it (another rounding than in the per-dispatch line).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub global_memory: Option<u64>,
    /// "file.cpp:39" of each internal assertion; "?:39" when the line with the file is missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aborts: Vec<String>,
    /// A page fault of the GPU was reported (a different thing from a crash of the process).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub gpu_segfault: bool,
    /// Each once, although the driver prints it on both streams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpu_faults: Vec<GpuFault>,
    /// Lines that say the driver itself noticed a hang.
    #[serde(skip_serializing_if = "is_zero")]
    pub hang_messages: u64,
    /// "I915_GEM_EXECBUFFER2" (printed on xe too) → errno → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_ioctls: BTreeMap<String, BTreeMap<i32, u64>>,
    /// PrintIoctlEntries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ioctls: BTreeMap<String, CallCount>,
    /// I915 GETPARAM results: parameter → value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, i64>,
    /// PrintIoctlTimes / PrintKmdTimes, summed over the tables in the log.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kmd_times: BTreeMap<String, KmdTime>,
    #[serde(skip_serializing_if = "is_default")]
    pub objects: ObjectCounts,
    /// Graphics allocations: type → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub allocations: BTreeMap<String, u64>,
    /// What addresses are, from the allocation log. Exclusive end = start + size, 48-bit, no VM.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RangeRole>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory_regions: Vec<MemoryRegion>,
    #[serde(skip_serializing_if = "is_default")]
    pub prefetches: Outcomes,
    /// PrintXeLogs; its binds repeat those in `ranges` seen from a lower layer.
    #[serde(skip_serializing_if = "is_default")]
    pub xe: XeLogFacts,
    /// Rows of execution buffer dumps, completion fence lines and the like: known, and of no use to a verdict.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_known: u64,
    /// Messages kept as they are: text → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub messages: BTreeMap<String, u64>,
    /// Lines that look like the driver's but were not understood.
    pub not_understood: u64,
    pub lines: u64,
    /// Lines longer than the limit, of which the tail was not read.
    #[serde(skip_serializing_if = "is_zero")]
    pub long_lines: u64,
    /// Facts not kept since a limit on memory was reached.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// How two separate byte streams were laid into one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamOrder {
    /// By arrival time of each line.
    Arrival,
    /// By phase, and within one phase stdout before stderr: the true order inside a phase is not known.
    PhaseOnly,
}

/// Bytes per hardware thread and in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMemory {
    pub kind: ThreadMemoryKind,
    pub per_thread: u64,
    pub total: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadMemoryKind {
    #[default]
    Private,
    Scratch,
    PrivateScratch,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuFault {
    /// As printed, not cut to 48 bits.
    pub address: u64,
    pub context: u64,
    /// "NotPresent".
    pub kind: String,
    /// "PTE".
    pub level: String,
    /// "Read".
    pub access: String,
    pub banned: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KmdTime {
    pub count: u64,
    pub total_ns: u64,
    pub min_ns: i64,
    pub max_ns: i64,
}

/// Buffer objects, from PrintBOCreateDestroyResult.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObjectCounts {
    #[serde(skip_serializing_if = "is_zero")]
    pub created: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub create_failed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub userptr: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub imported: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub closed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub close_skipped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRole {
    pub start: u64,
    pub size: u64,
    /// "PRIVATE_SURFACE".
    pub kind: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRegion {
    pub memory_type: u32,
    pub instance: u32,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcomes {
    #[serde(skip_serializing_if = "is_zero")]
    pub ok: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// The line does not say how it ended (releases 23.35 to 23.43).
    #[serde(skip_serializing_if = "is_zero")]
    pub not_said: u64,
}

/// PrintXeLogs. The lines carry no errno.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XeLogFacts {
    /// "MAP", "UNMAP", "MAP_USERPTR", "UNMAP ALL", "PREFETCH", "madvise" … → how they ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, Outcomes>,
    /// Only lines with a result; a failure is [`super::ERRNO_UNKNOWN`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeHistory>,
    #[serde(skip_serializing_if = "is_default")]
    pub userptr: Outcomes,
    #[serde(skip_serializing_if = "is_zero")]
    pub contexts: u64,
    /// GetResetStats with a value other than 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub banned_queues: u64,
    /// "error: bind" lines. They repeat the failure of the line before them.
    #[serde(skip_serializing_if = "is_zero")]
    pub error_lines: u64,
    /// Submissions, waits and table rows.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_known: u64,
}

/// `Private Memory Per Dispatch %d for modulePrivateMemorySize … subDevices … globalMemorySize …`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerDispatch {
    pub flag: bool,
    pub module_private: u64,
    pub sub_devices: u64,
    pub global_memory: u64,
}
