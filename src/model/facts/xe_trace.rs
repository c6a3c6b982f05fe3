//! What the kernel's tracepoints of xe say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RangeHistory, is_zero};

/// From tracefs: a second witness on a card, below the driver and beside its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct XeTraceFacts {
    /// "xe_vma_bind" → events of the device under test.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
    /// Binds and unbinds by address space and range, in order of first appearance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeHistory>,
    /// "vram0 → system" → moves.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub moves: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub other_device: u64,
    /// Entries in the buffer and entries written: a difference means that events were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<(u64, u64)>,
    #[serde(skip_serializing_if = "is_zero")]
    pub not_understood: u64,
}
