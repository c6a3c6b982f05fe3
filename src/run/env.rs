//! The environment of a run, built from nothing: a documented base, then what the driver tree, the observers and
//! the arm name. Nothing of the harness's own environment gets in.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::arm::{KeySet, Observer};

/// The base. `home` is the run's own directory, so that no user configuration is found.
pub fn base(home: &Path, tmp: &Path) -> BTreeMap<String, String> {
    let home = home.to_string_lossy();
    let tmp = tmp.to_string_lossy();
    [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", home.as_ref()),
        ("TMPDIR", tmp.as_ref()),
        // Messages of errno and numbers must not depend on the user's language.
        ("LC_ALL", "C"),
        // A cached kernel hid the culprit in compute-runtime #790.
        ("NEO_CACHE_PERSISTENT", "0"),
        ("SYCL_CACHE_PERSISTENT", "0"),
        // Otherwise the SYCL runtime may fall back to OpenCL and print a clean result.
        ("ONEAPI_DEVICE_SELECTOR", "level_zero:gpu"),
    ]
    .into_iter()
    .map(|(k, v)| (k.to_owned(), v.to_owned()))
    .collect()
}

/// Driver debug keys: those of the arm, and what the observers need printed.
///
/// The echo of accepted keys (`PrintDebugSettings`) is always on when the arm names keys: a key that the driver
/// does not know must be noticed whichever observers were asked for.
pub fn driver_keys(keys: &KeySet, observers: &[Observer]) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let neo_log = observers.contains(&Observer::NeoLog);
    if neo_log || !keys.keys.is_empty() {
        // Release builds read no key at all without it.
        env.insert("NEOReadDebugKeys".to_owned(), "1".to_owned());
        env.insert("PrintDebugSettings".to_owned(), "1".to_owned());
    }
    if neo_log {
        env.insert("PrintDebugMessages".to_owned(), "1".to_owned());
        env.insert("PrintBOBindingResult".to_owned(), "1".to_owned());
    }
    if observers.contains(&Observer::ZeApi) {
        // The loader traces through its validation layer, which checks nothing unless told to.
        for name in [
            "ZE_ENABLE_VALIDATION_LAYER",
            "ZEL_ENABLE_LOADER_LOGGING",
            "ZEL_LOADER_LOG_CONSOLE",
            "ZEL_LOADER_LOGGING_ENABLE_SUCCESS_PRINT",
            // For the callbacks that give argument bytes.
            "ZE_ENABLE_TRACING_LAYER",
        ] {
            env.insert(name.to_owned(), "1".to_owned());
        }
        env.insert("ZEL_LOADER_LOGGING_LEVEL".to_owned(), "trace".to_owned());
    }
    // The arm's word is last.
    env.extend(keys.keys.iter().map(|(k, v)| (k.clone(), v.clone())));
    env
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_keys_turn_the_echo_on_and_win() {
        let mut keys = KeySet::default();
        assert!(driver_keys(&keys, &[]).is_empty());
        keys.keys.insert("PrintDebugMessages".into(), "0".into());
        let env = driver_keys(&keys, &[Observer::NeoLog]);
        assert_eq!(env.get("PrintDebugMessages").map(String::as_str), Some("0"));
        assert_eq!(env.get("PrintBOBindingResult").map(String::as_str), Some("1"));
        let env = driver_keys(&keys, &[]);
        assert_eq!(env.get("NEOReadDebugKeys").map(String::as_str), Some("1"));
        assert_eq!(env.get("PrintDebugSettings").map(String::as_str), Some("1"));
        assert!(!env.contains_key("PrintBOBindingResult"));
    }
}
