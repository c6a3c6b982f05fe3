//! What the Level Zero loader's own call trace says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_zero;

/// Calls through the loader, as its validation layer traces them. Set-up calls before the layer is there are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZeApiFacts {
    /// Entry point → calls that returned.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
    /// Entry point → result other than success → count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, BTreeMap<String, u64>>,
    /// Entered and never returned: what a hang or a crash was in.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unfinished: BTreeMap<String, u64>,
    /// Kernels by name, in order of first appearance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelSeen>,
    /// Lines of the trace that were not understood.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_understood: u64,
}

/// A kernel as the driver described it and the program used it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelSeen {
    pub name: String,
    /// Bytes per hardware thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<u64>,
    /// Argument index → bytes, as set by value or as a pointer. What the bytes are, the trace does not say.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<u64, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    pub launches: u64,
}
