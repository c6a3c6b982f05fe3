//! What strace says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CallCount, is_zero};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StraceFacts {
    /// Request name without DRM_IOCTL_ ("XE_VM_BIND") → calls and errors; names corrected by number where strace
    /// mislabels them. Requests no table knows keep their printed form. Injected errors count as calls only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ioctls: BTreeMap<String, CallCount>,
    /// "XE_WAIT_USER_FENCE printed as DRM_IOCTL_ETNAVIV_PM_QUERY_DOM" … → calls.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub relabelled: BTreeMap<String, u64>,
    /// Calls marked "(INJECTED)".
    #[serde(skip_serializing_if = "is_zero")]
    pub injected: u64,
    /// Request or system call → errno name → count of the injected errors.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub injected_errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// "I915_GEM_MMAP ENOMEM": the first request that failed by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failed: Option<String>,
    /// System calls other than ioctl that failed: name → errno name → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other_errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// System calls other than ioctl in a full trace.
    #[serde(skip_serializing_if = "is_zero")]
    pub other_calls: u64,
    /// Signals delivered: name → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, u64>,
    /// Ends of tasks: "exited with 0", "killed by SIGABRT" → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ends: BTreeMap<String, u64>,
    /// Calls whose second half ("resumed") never came.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Lines of stack traces (`-k`).
    #[serde(skip_serializing_if = "is_zero")]
    pub frames: u64,
    /// Tables of `-c`: system call → its row. It never tells requests apart.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, SummaryRow>,
    /// Row "total" of the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_total: Option<SummaryRow>,
    /// Lines not understood.
    pub not_understood: u64,
    pub lines: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub long_lines: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

/// One row of `strace -c`. Times in µs; absent columns were not in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SummaryRow {
    pub calls: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_min: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_average: Option<u64>,
}
