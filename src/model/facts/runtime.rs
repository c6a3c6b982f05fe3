//! What loaders and language runtimes say.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// What the Level Zero loader, Unified Runtime and older plug-in interfaces say of themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeFacts {
    /// In order; the first is the cause, the rest may follow from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<RuntimeError>,
    /// Paths of driver libraries that the loader says it loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drivers_loaded: Vec<String>,
    /// "libur_adapter_opencl.so.0".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub adapters_loaded: Vec<String>,
    /// Library → reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_loaded: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loader_version: Option<String>,
    /// Rows of `sycl-ls`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<ListedDevice>,
    /// Five-digit driver builds named by version strings: 38308 = release 26.18.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub driver_builds: BTreeSet<u32>,
    /// "N Drivers Discovered".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drivers_discovered: Option<u64>,
    pub lines: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeError {
    /// "ze", "ur", "pi" or "cl".
    pub layer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// By the number where it is known, else as printed.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedDevice {
    /// "level_zero:gpu", as printed.
    pub backend: String,
    pub text: String,
    /// "1.15.38308+1".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}
