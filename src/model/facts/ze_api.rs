//! What the Level Zero loader's own call trace says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_zero;

/// How a line with an argument's bytes begins, on stderr, written by the reproducers from the loader's callbacks:
/// `[ze-args] hKernel=0x5581 argIndex=2 argSize=4 bytes=00000100`.
pub const ARGUMENT_MARKER: &str = "[ze-args] ";
/// Instead of such lines, with the reason: the loader has no callbacks.
pub const NO_ARGUMENTS_MARKER: &str = "[ze-args] not traced: ";
/// Bytes of an argument that are kept themselves; the hash is of all.
pub const ARGUMENT_SHOWN: usize = 64;
/// Hexadecimal digits of the SHA-256 that are kept: 64 bits.
pub const ARGUMENT_DIGITS: usize = 16;
/// Different values of one argument that are kept.
pub const ARGUMENT_VALUES: usize = 16;

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
    /// Why there are no argument bytes, where the reproducer tried and could not have them. Programs that are not ours do
    /// not try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_bytes: Option<String>,
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
    /// Argument index → size in bytes, as last set by value or as a pointer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<u64, u64>,
    /// Argument index → the different values it was given, in order of first appearance, at most [`ARGUMENT_VALUES`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<u64, Vec<ArgumentValue>>,
    /// Calls with values beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub values_left_out: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub launches: u64,
}

/// Bytes that an argument was set to. A pointer is one too: its value differs where memory lies elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArgumentValue {
    pub size: u64,
    /// First [`ARGUMENT_DIGITS`] digits of the SHA-256 of all bytes; empty where no address was given (memory of the work
    /// group: a size alone).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
    /// The first [`ARGUMENT_SHOWN`] bytes, hexadecimal, in the order of memory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub first: String,
    /// Calls with exactly these bytes.
    pub times: u64,
}
