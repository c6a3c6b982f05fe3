//! One point of the matrix, fully resolved: what the planner hands to build and run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A resolved arm (= cell). `id` is unique in the matrix and stable under reordering of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// e.g. `over/file-r` or `over/file-r/resident2`.
    pub id: String,
    pub variant: Variant,
    pub source: Source,
    pub workload: Workload,
    pub keys: KeySet,
    /// Name of a driver build in the store, or `default`.
    pub driver: String,
    /// SYCL runtime of a sycl variant: `default`, a version or `icpx`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Fault rules of the simulated device for every run of the arm (`vm_bind:ENOMEM@17`), besides the command line's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// As written: `auto`, `sim:a770`, `pci:0000:09:00.0`.
    pub device: String,
    pub observers: Vec<Observer>,
    /// Observers that the matrix asks for and that this device cannot have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_observed: Vec<NotObserved>,
    pub repeats: u32,
    #[serde(with = "duration_secs")]
    pub timeout: Duration,
    /// No output and no device activity for this long ends the run as a hang.
    #[serde(default, with = "option_duration_secs", skip_serializing_if = "Option::is_none")]
    pub inactivity: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// The positive control: if this arm is not corrupt, "clean" elsewhere proves little.
    #[serde(default)]
    pub positive_control: bool,
    /// Arms of one comparison alternate in time and stay on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<String>,
    /// What this row of the table is for, in the author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FrontEnd {
    LevelZero,
    Sycl,
    /// Any command; rules say what its output means.
    Command,
}

/// How device code is split into modules (`-fsycl-device-code-split`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// One module holds every kernel.
    Off,
    PerSource,
    /// One module per kernel.
    PerKernel,
}

/// Who makes a native module of many kernels.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Compile {
    /// The compiler takes a few kernels at a time, and the module is put together from what it gives: minutes less.
    #[default]
    Parts,
    /// The compiler makes the module.
    Whole,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleFormat {
    /// zebin by `ocloc -device …`.
    Native,
    /// SPIR-V, compiled by the driver at module creation.
    Spirv,
}

/// What is built.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variant {
    pub name: String,
    pub front_end: FrontEnd,
    /// BLOAT_N: private-memory kernels in the module.
    pub kernels: u32,
    /// Ordinary kernels (private size 0) beside the control kernel.
    pub plain_kernels: u32,
    /// BATCH_SIZE: entries of the by-value argument block; a multiple of 8. Sets privateMemSize.
    pub batch_size: u32,
    /// Required sub-group size, 16 or 32 (8 where the device has it).
    pub simd: u32,
    /// Extra instructions per kernel, to make an image big without more private memory.
    pub padding: u32,
    pub split: Split,
    #[serde(default)]
    pub compile: Compile,
    pub format: ModuleFormat,
    /// Further OpenCL C / IGC options.
    pub options: Vec<String>,
    /// Of the front end `command` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSpec>,
}

/// A command as a workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Words with the placeholders `{tool}`, `{file}`, `{module}` and `{modules}`.
    pub argv: Vec<String>,
    pub extract: super::extract::Rules,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    File,
    Anon,
    /// malloc'd memory.
    Host,
    /// No source: nothing is copied.
    None,
}

impl SourceKind {
    /// The word of matrix files and of the reproducers' command lines.
    pub fn word(self) -> &'static str {
        match self {
            SourceKind::File => "file",
            SourceKind::Anon => "anon",
            SourceKind::Host => "host",
            SourceKind::None => "none",
        }
    }
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    Private,
    Shared,
}

/// Page protection of the mapping the copies read from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Prot {
    R,
    Rw,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PageCache {
    Warm,
    Cold,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    Disk,
    Tmpfs,
}

/// Where the copied bytes come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Source {
    pub name: String,
    pub kind: SourceKind,
    pub mapping: Mapping,
    pub prot: Prot,
    pub page_cache: PageCache,
    pub medium: Medium,
    /// Bytes of the file or mapping; at least `2 × chunk`.
    pub size: u64,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CommandListKind {
    Immediate,
    Regular,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CopyEngine {
    Compute,
    Copy,
}

/// The steps between and around the two kernel runs (the flags of seed 003's reproducer).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    /// Host-to-device copies a round.
    pub copies: u32,
    /// Bytes of one copy.
    pub chunk: u64,
    /// `--same-src`: every copy reads the same region.
    pub same_src: bool,
    /// `--one-alloc`: one device allocation; false = one per copy.
    pub one_alloc: bool,
    /// `--no-copy`: allocate but never copy.
    pub no_copy: bool,
    /// `--skip-upload`: nothing at all between the two kernel runs.
    pub skip_upload: bool,
    /// `--repeat`: times the copy volume.
    pub repeat: u32,
    /// `--guard`: bytes of sentinel-filled device memory on either side of the destination; 0 = none.
    pub guard: u64,
    /// `--ballast`: bytes of device USM held for the whole run.
    pub ballast: u64,
    /// A module created after the copies, checked, then a second round of copies and a check of both.
    pub late_module: bool,
    pub command_list: CommandListKind,
    pub copy_engine: CopyEngine,
    /// 32-bit output elements of the checked kernels; half of them per input.
    pub elements: u32,
}

/// NEO debug keys of an arm, by name; values as the environment takes them (decimal).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeySet {
    pub name: String,
    pub keys: BTreeMap<String, String>,
    /// Keys that this set exists to prove unknown: not being echoed is then expected.
    #[serde(default)]
    pub expect_unknown: bool,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Observer {
    NeoLog,
    Strace,
    StraceSummary,
    Sim,
    Maps,
    KernelLog,
    /// The Level Zero loader's own call trace.
    ZeApi,
    /// The kernel's tracepoints of xe, on a card as root.
    XeTrace,
}

impl Observer {
    /// As matrix files have it.
    pub fn word(self) -> &'static str {
        match self {
            Observer::NeoLog => "neo-log",
            Observer::Strace => "strace",
            Observer::StraceSummary => "strace-summary",
            Observer::Sim => "sim",
            Observer::Maps => "maps",
            Observer::KernelLog => "kernel-log",
            Observer::ZeApi => "ze-api",
            Observer::XeTrace => "xe-trace",
        }
    }
}

/// An observer that was asked for and taken from the arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotObserved {
    pub observer: Observer,
    pub why: String,
}

impl std::fmt::Display for NotObserved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "observer {}: {}", self.observer.word(), self.why)
    }
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedVerdict {
    Clean,
    Corrupt,
    WrongBefore,
    Hang,
    Crash,
    DeviceLost,
    BuildFailed,
    Untestable,
}

impl ExpectedVerdict {
    /// The word of matrix files and results.
    pub fn word(self) -> &'static str {
        match self {
            ExpectedVerdict::Clean => "clean",
            ExpectedVerdict::Corrupt => "corrupt",
            ExpectedVerdict::WrongBefore => "wrong-before",
            ExpectedVerdict::Hang => "hang",
            ExpectedVerdict::Crash => "crash",
            ExpectedVerdict::DeviceLost => "device-lost",
            ExpectedVerdict::BuildFailed => "build-failed",
            ExpectedVerdict::Untestable => "untestable",
        }
    }
}

/// What the author of the matrix says will happen. Absent fields are not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    pub verdict: ExpectedVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untouched: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_dispatch: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hazard: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Address of the tracker entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker: Option<String>,
}

mod duration_secs {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;
    pub fn serialize<S: Serializer>(value: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(value.as_secs_f64())
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(d)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

mod option_duration_secs {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;
    pub fn serialize<S: Serializer>(value: &Option<Duration>, s: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => s.serialize_some(&value.as_secs_f64()),
            None => s.serialize_none(),
        }
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(d)?
            .map(|s| Duration::try_from_secs_f64(s).map_err(serde::de::Error::custom))
            .transpose()
    }
}
