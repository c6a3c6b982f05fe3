//! How a variant's modules were made: a line of `builds.jsonl`.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Version of the results format.
    pub version: u32,
    /// Name in the matrix; `NAME-late` for the module of a late-module workload.
    pub variant: String,
    /// The compiler's `-device`.
    pub target: String,
    /// The driver build whose compiler it was, by the name that the matrix uses.
    pub driver: String,
    /// Nothing had to be compiled.
    pub cached: bool,
    /// The compiler's time, now or when the cache was filled.
    pub compiler_seconds: f64,
    pub modules: Vec<ModuleRecord>,
    /// What a reader should know of the build.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleRecord {
    pub name: String,
    pub sha256: String,
    pub bytes: u64,
    /// Absent where the module does not say (SPIR-V).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<usize>,
    /// The compiler's command; of every part.
    pub command: String,
    /// What the module was put together from; empty for the compiler's own module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartRecord>,
}

/// A compilation that kernels were taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// Its key in the build cache.
    pub key: String,
    pub seconds: f64,
    /// Kernels that were taken, in the module's order.
    pub kernels: Vec<String>,
}

impl BuildRecord {
    /// "1 module, put together from 11 compilations", "175 modules, each compiled whole".
    pub fn how(&self) -> String {
        let modules = self.modules.len();
        let parts: std::collections::BTreeSet<&str> =
            self.modules.iter().flat_map(|module| &module.parts).map(|part| part.key.as_str()).collect();
        match (modules, parts.len()) {
            // Its device code is in it, or compiled in the run.
            (0, _) => "1 program".to_owned(),
            (1, 0) => "1 module, compiled whole".to_owned(),
            (_, 0) => format!("{modules} modules, each compiled whole"),
            (1, parts) => format!("1 module, put together from {parts} compilations"),
            (_, parts) => format!("{modules} modules, put together from {parts} compilations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(parts: &[&str]) -> ModuleRecord {
        let part = |key: &&str| PartRecord { key: (*key).to_owned(), seconds: 1.0, kernels: Vec::new() };
        ModuleRecord {
            name: "m".to_owned(),
            sha256: String::new(),
            bytes: 1,
            kernels: Some(1),
            command: String::new(),
            parts: parts.iter().map(part).collect(),
        }
    }

    #[test]
    fn a_part_of_several_modules_counts_once() {
        let of = |modules: Vec<ModuleRecord>| {
            let record = BuildRecord {
                version: 1,
                variant: "v".to_owned(),
                target: "t".to_owned(),
                driver: "d".to_owned(),
                cached: false,
                compiler_seconds: 1.0,
                modules,
                notes: Vec::new(),
            };
            record.how()
        };
        assert_eq!(of(vec![]), "1 program");
        assert_eq!(of(vec![module(&[])]), "1 module, compiled whole");
        assert_eq!(of(vec![module(&["a", "b"])]), "1 module, put together from 2 compilations");
        let split = vec![module(&["a"]), module(&["a"]), module(&["b"])];
        assert_eq!(of(split), "3 modules, put together from 2 compilations");
        assert_eq!(of(vec![module(&[]), module(&[])]), "2 modules, each compiled whole");
    }
}
