//! The wire tables of a matrix file: what may be written, before names are resolved. Their doc comments become the
//! descriptions of the JSON schema, so they speak to the author of a matrix.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::units::{At, OneOrMany, Period, Size};
use crate::model::arm::{
    CommandListKind, Compile, CopyEngine, ExpectedVerdict, FrontEnd, Mapping, Medium, ModuleFormat, Observer,
    PageCache, Prot, SourceKind, Split,
};

/// The JSON schema (draft 2020-12) of a matrix file.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(MatrixFile).to_value()
}

/// The sections of a matrix file that are tables of named tables.
pub const NAMED_SECTIONS: [&str; 4] = ["variants", "sources", "keys", "workloads"];

/// A matrix of repro-matrix: variants × sources × debug keys × workloads × drivers × SYCL runtimes × devices.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the whole file; the loader reads it section by section")]
pub struct MatrixFile {
    /// Names the results directory.
    name: String,
    /// What the matrix is to find out.
    description: Option<String>,
    /// Seed of the run order; 0 if absent. The same seed gives the same order.
    seed: Option<u64>,
    /// What every arm has when it says nothing else.
    defaults: Option<DefaultsTable>,
    /// What is built.
    variants: Option<BTreeMap<String, VariantTable>>,
    /// Where the copied bytes come from.
    sources: Option<BTreeMap<String, SourceTable>>,
    /// Sets of driver debug keys. `default` exists without being written and is empty.
    keys: Option<BTreeMap<String, KeyTable>>,
    /// The steps between the two kernel runs. `default` exists without being written.
    workloads: Option<BTreeMap<String, WorkloadTable>>,
    /// Combinations of axes.
    product: Option<Vec<ProductTable>>,
    /// Single named arms.
    arm: Option<Vec<ArmTable>>,
}

/// The part of the file outside the sections.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub name: At<String>,
    pub description: Option<String>,
    pub seed: Option<u64>,
}

/// What every arm has when it says nothing else.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefaultsTable {
    /// No default: every arm and product says it unless it is said here.
    pub variant: Option<At<String>>,
    /// No default: every arm and product says it unless it is said here.
    pub source: Option<At<String>>,
    /// A key set; `default` if absent.
    pub keys: Option<At<String>>,
    /// `default` if absent.
    pub workload: Option<At<String>>,
    /// A driver build of the store; `default` if absent.
    pub driver: Option<At<String>>,
    /// The SYCL runtime of sycl variants: a version (`2026.2.0`), `icpx`, or `default`.
    pub runtime: Option<At<String>>,
    /// `auto`, `sim:PROFILE` or `pci:DDDD:BB:DD.F`; `auto` if absent.
    pub device: Option<At<String>>,
    /// `neo-log`, `sim` and `maps` if absent.
    pub observers: Option<Vec<At<Observer>>>,
    /// Runs of each arm; 1 if absent.
    pub repeats: Option<At<u32>>,
    /// The end of a run that does not end; `60s` if absent.
    pub timeout: Option<At<Period>>,
    /// Silence that ends a run as a hang; no limit if absent.
    pub inactivity: Option<At<Period>>,
}

/// What is built.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantTable {
    /// BLOAT_N: private-memory kernels in the module. A command may have modules built for it, or none.
    pub kernels: Option<At<u32>>,
    /// Ordinary kernels (private size 0) beside the control kernel; 0 if absent.
    pub plain_kernels: Option<At<u32>>,
    /// BATCH_SIZE: entries of the by-value argument block of 21·B+80 bytes; 64 if absent. A multiple of 8.
    pub batch_size: Option<At<u32>>,
    /// Required sub-group size, 16 or 32; 16 if absent.
    pub simd: Option<At<u32>>,
    /// Extra instructions per kernel, to make an image big without more private memory; 0 if absent.
    pub padding: Option<At<u32>>,
    /// How device code is split into modules; `off` (one module) if absent.
    pub split: Option<Split>,
    /// `parts` (a native module of many kernels is put together from compilations of a few) or `whole` (the compiler's
    /// own module, which takes minutes for hundreds of kernels); `parts` if absent.
    pub compile: Option<Compile>,
    /// `native` (zebin by ocloc) or `spirv` (compiled by the driver); `native` if absent.
    pub format: Option<ModuleFormat>,
    /// `level-zero` if absent.
    pub front_end: Option<FrontEnd>,
    /// Further compiler options; none if absent.
    pub options: Option<Vec<At<String>>>,
    /// With `front_end = "command"`: the words of the command. `{tool}` is this program, `{file}` the source's file,
    /// `{module}` the first module built for `kernels`, `{modules}` all of them (a word of its own).
    pub command: Option<At<Vec<String>>>,
    /// With `front_end = "command"`: what its output means.
    pub extract: Option<At<crate::model::extract::Rules>>,
}

/// Where the copied bytes come from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceTable {
    pub kind: At<SourceKind>,
    /// Page protection. Must be said for `file` and `anon`: it decides whether the kernel refuses the copies.
    pub prot: Option<At<Prot>>,
    /// MAP_PRIVATE or MAP_SHARED, for `file` and `anon`; `private` if absent.
    pub mapping: Option<At<Mapping>>,
    /// Page cache before the copies, for `file`; `warm` if absent.
    pub page_cache: Option<At<PageCache>>,
    /// File system of the file, for `file`; `disk` if absent.
    pub medium: Option<At<Medium>>,
    /// Bytes of the file or mapping, at least twice the chunk of the workload; `64MiB` if absent.
    pub size: Option<At<Size>>,
}

/// The steps between and around the two kernel runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadTable {
    /// Host-to-device copies a round; 942 if absent.
    pub copies: Option<At<u32>>,
    /// Bytes of one copy; `11MiB` if absent.
    pub chunk: Option<At<Size>>,
    /// Every copy reads the same region; true if absent.
    pub same_src: Option<At<bool>>,
    /// One device allocation instead of one per copy; true if absent.
    pub one_alloc: Option<At<bool>>,
    /// Allocate but never copy; false if absent.
    pub no_copy: Option<At<bool>>,
    /// Nothing at all between the two kernel runs; false if absent.
    pub skip_upload: Option<At<bool>>,
    /// Times the copy volume; 1 if absent.
    pub repeat: Option<At<u32>>,
    /// Bytes of sentinel-filled device memory on either side of the destination; none if absent.
    pub guard: Option<At<Size>>,
    /// Bytes of device memory held for the whole run; none if absent.
    pub ballast: Option<At<Size>>,
    /// Create a second module after the copies, then copy again and check both; false if absent.
    pub late_module: Option<At<bool>>,
    /// `immediate` if absent.
    pub command_list: Option<CommandListKind>,
    /// `compute` if absent.
    pub copy_engine: Option<CopyEngine>,
    /// 32-bit output elements of the checked kernels; 131072 if absent.
    pub elements: Option<At<u32>>,
}

/// Every combination of its axes, less the excluded, plus the included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProductTable {
    /// Put before the ids of its arms, with a slash.
    pub prefix: Option<At<String>>,
    pub variants: Option<OneOrMany>,
    pub sources: Option<OneOrMany>,
    pub keys: Option<OneOrMany>,
    pub workloads: Option<OneOrMany>,
    pub drivers: Option<OneOrMany>,
    /// SYCL runtimes, for variants of the sycl front end; `default` (the newest fetched, or icpx) if absent.
    pub runtimes: Option<OneOrMany>,
    pub devices: Option<OneOrMany>,
    /// Arms outside the combinations.
    #[serde(default)]
    pub include: Vec<IncludeTable>,
    /// Combinations left out; `plan` shows them with the reason.
    #[serde(default)]
    pub exclude: Vec<At<ExcludeTable>>,
    /// Of every arm of the product, unless a case says otherwise.
    pub expect: Option<At<Expect>>,
    /// Arms of one comparison alternate in time. Its prefix, or a name made for it, if absent.
    pub comparison: Option<At<String>>,
    pub note: Option<String>,
    pub observers: Option<Vec<At<Observer>>>,
    pub repeats: Option<At<u32>>,
    pub timeout: Option<At<Period>>,
    pub inactivity: Option<At<Period>>,
    /// What is said of some of its arms only; the last matching case wins.
    #[serde(default)]
    pub case: Vec<At<CaseTable>>,
}

/// One arm beside the combinations; an absent axis has the default.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IncludeTable {
    pub variant: Option<At<String>>,
    pub source: Option<At<String>>,
    pub keys: Option<At<String>>,
    pub workload: Option<At<String>>,
    pub driver: Option<At<String>>,
    pub runtime: Option<At<String>>,
    pub device: Option<At<String>>,
}

/// Combinations to leave out; an absent axis matches every value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludeTable {
    pub reason: String,
    pub variant: Option<OneOrMany>,
    pub source: Option<OneOrMany>,
    pub keys: Option<OneOrMany>,
    pub workload: Option<OneOrMany>,
    pub driver: Option<OneOrMany>,
    pub runtime: Option<OneOrMany>,
    pub device: Option<OneOrMany>,
}

/// Some arms of a product; an absent axis matches every value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseTable {
    pub variant: Option<OneOrMany>,
    pub source: Option<OneOrMany>,
    pub keys: Option<OneOrMany>,
    pub workload: Option<OneOrMany>,
    pub driver: Option<OneOrMany>,
    pub runtime: Option<OneOrMany>,
    pub device: Option<OneOrMany>,
    pub expect: Option<At<Expect>>,
    pub note: Option<String>,
    pub repeats: Option<At<u32>>,
    pub timeout: Option<At<Period>>,
    pub positive_control: Option<bool>,
}

/// One named arm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmTable {
    /// Made of the axis values if absent: variant/source, then what differs from the defaults.
    pub id: Option<At<String>>,
    pub variant: Option<At<String>>,
    pub source: Option<At<String>>,
    pub keys: Option<At<String>>,
    pub workload: Option<At<String>>,
    pub driver: Option<At<String>>,
    pub runtime: Option<At<String>>,
    pub device: Option<At<String>>,
    pub expect: Option<At<Expect>>,
    pub comparison: Option<At<String>>,
    /// What this row is for.
    pub note: Option<String>,
    /// If this arm is not corrupt, "clean" elsewhere proves little.
    pub positive_control: Option<bool>,
    pub observers: Option<Vec<At<Observer>>>,
    pub repeats: Option<At<u32>>,
    pub timeout: Option<At<Period>>,
    pub inactivity: Option<At<Period>>,
}

/// `expect = "corrupt"`, or a table that says more.
#[derive(Debug)]
pub struct Expect(pub ExpectTable);

/// What the author says will happen; what is absent is not checked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectTable {
    pub verdict: ExpectedVerdict,
    /// Elements that differ from what the host computed.
    pub wrong: Option<u64>,
    /// Elements that still hold the sentinel.
    pub untouched: Option<u64>,
    /// Whether the driver puts the module on the per-dispatch private-memory path.
    pub per_dispatch: Option<bool>,
    /// Whether a dispatch reaches an address that had been bound and no longer is (simulated device).
    pub hazard: Option<bool>,
    pub reason: Option<String>,
    /// Address of the tracker entry.
    pub tracker: Option<String>,
}

impl<'de> Deserialize<'de> for Expect {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Expect;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a verdict such as \"clean\", or a table with `verdict`")
            }
            fn visit_str<E: Error>(self, verdict: &str) -> Result<Expect, E> {
                let verdict = ExpectedVerdict::deserialize(StrDeserializer::new(verdict))?;
                Ok(Expect(ExpectTable {
                    verdict,
                    wrong: None,
                    untouched: None,
                    per_dispatch: None,
                    hazard: None,
                    reason: None,
                    tracker: None,
                }))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Expect, A::Error> {
                ExpectTable::deserialize(MapAccessDeserializer::new(map)).map(Expect)
            }
        }
        d.deserialize_any(Either)
    }
}

impl JsonSchema for Expect {
    fn schema_name() -> Cow<'static, str> {
        "Expect".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let verdict = generator.subschema_for::<ExpectedVerdict>();
        let table = generator.subschema_for::<ExpectTable>();
        json_schema!({ "anyOf": [verdict, table] })
    }
}

/// `[keys.NAME]`: debug keys as the driver spells them (they begin with a capital), and the set's own settings.
#[derive(Debug, Default)]
pub struct KeyTable {
    pub keys: BTreeMap<String, At<KeyValue>>,
    pub expect_unknown: bool,
}

/// A debug key's value; integers and booleans become the decimal text that the environment takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue(pub String);

impl<'de> Deserialize<'de> for KeyValue {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Value;
        impl Visitor<'_> for Value {
            type Value = KeyValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the value of a debug key: an integer, a boolean or a string")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<KeyValue, E> {
                Ok(KeyValue(u8::from(value).to_string()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<KeyValue, E> {
                Ok(KeyValue(value.to_string()))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<KeyValue, E> {
                Ok(KeyValue(value.to_owned()))
            }
        }
        d.deserialize_any(Value)
    }
}

impl<'de> Deserialize<'de> for KeyTable {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = KeyTable;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of debug keys")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KeyTable, A::Error> {
                let mut table = KeyTable::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "expect_unknown" {
                        table.expect_unknown = map.next_value()?;
                    } else {
                        // Names are checked in `validate`, where every bad one can be reported.
                        table.keys.insert(key, map.next_value()?);
                    }
                }
                Ok(table)
            }
        }
        d.deserialize_map(Keys)
    }
}

impl JsonSchema for KeyTable {
    fn schema_name() -> Cow<'static, str> {
        "KeyTable".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Debug keys of the driver, as it spells them, and their values.",
            "type": "object",
            "properties": {
                "expect_unknown": {
                    "description": "The set exists to prove its keys unknown to the driver; false if absent.",
                    "type": "boolean"
                }
            },
            "patternProperties": { "^[A-Z][A-Za-z0-9_]*$": { "type": ["integer", "boolean", "string"] } },
            "additionalProperties": false
        })
    }
}
