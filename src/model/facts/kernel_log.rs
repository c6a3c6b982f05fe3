//! What the kernel's log says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_zero;

/// From the kernel's log, xe and i915. Absence of a line is not evidence: fault lines are debug level in mainline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelLogFacts {
    /// False = the log could not be read; then nothing below means anything.
    pub readable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Records of the graphics drivers inside the window.
    pub entries: u64,
    /// Bursts: records that count below, less than 1 s apart. Only where records have times.
    #[serde(skip_serializing_if = "is_zero")]
    pub incidents: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub engine_resets: u64,
    /// Page faults that the kernel could not resolve, whether or not their address block survived.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fault_details: Vec<KernelFault>,
    #[serde(skip_serializing_if = "is_zero")]
    pub timed_out_jobs: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cat_errors: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub devcoredumps: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub vm_worker_errors: u64,
    /// "exec queue reset detected", an echo of a reset or of a VM worker error.
    #[serde(skip_serializing_if = "is_zero")]
    pub queue_resets_detected: u64,
    /// Requests refused because the queue or VM was banned before.
    #[serde(skip_serializing_if = "is_zero")]
    pub banned_uses: u64,
    /// i915 "GPU HANG" lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub gpu_hangs: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub context_resets: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub chip_resets: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_resets: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub fence_timeouts: u64,
    /// "fault response EINVAL", "VM worker error 12" … → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// "python3 [40112]" → counted lines that name it. Names are cut to 15 characters by the kernel.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub processes: BTreeMap<String, u64>,
    /// "i915/tgl_guc_70.bin 70.13.1".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guc_firmware: Option<String>,
    /// Records of interest outside the window, and of another PCI device.
    #[serde(skip_serializing_if = "is_zero")]
    pub outside_window: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub other_device: u64,
    /// A window was asked for and these records of interest have no time that fits it: not counted above.
    #[serde(skip_serializing_if = "is_zero")]
    pub untimed: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub long_lines: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// The records that were counted, in order.
    pub lines: Vec<String>,
}

/// The block that xe prints for one unresolved page fault. Address 48-bit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelFault {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asid: Option<u64>,
    /// "bcs".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault_type: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_type: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u64>,
    /// "EINVAL".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
}
