//! One finished run with its evidence: a line of `runs.jsonl`.

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::repro::ReproResult;
use super::verdict::{Compared, Evidence, RunEnd, Verdict};

/// Version of the results format (manifest and runs). A reader refuses a higher one.
pub const RESULTS_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub version: u32,
    pub arm: String,
    /// Index of the repeat, from 0.
    pub repeat: u32,
    /// RFC 3339, UTC.
    pub started: String,
    pub wall_seconds: f64,
    /// The device really used: `sim:a770` or `pci:…`.
    pub device: String,
    /// Driver manifest's content hash.
    pub driver: String,
    /// The command line, environment and working directory that repeat this run by hand.
    pub command: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub end: RunEnd,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub evidence: Vec<Evidence>,
    /// What instruments were compared on; `None`: recorded by a build that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Vec<Compared>>,
    /// Where they do not agree.
    pub disagreements: Vec<String>,
    /// Stable text: what makes two failures the same failure.
    pub signature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_expected: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Parts of the expectation that nothing measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<ReproResult>,
    pub facts: Facts,
    /// In a merged directory: which of the manifest's sources it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Files of this run below the results directory.
    pub logs: Vec<String>,
}
