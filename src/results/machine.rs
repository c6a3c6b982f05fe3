//! Which machine results come from. Machines are kept apart in every statistic.

use serde_json::Value;

/// Key of a manifest's environment that names the machine.
pub const MACHINE: &str = "machine";

/// A short name of the machine that says nothing of its owner: what the environment gives, or, for results that have no
/// such entry, a hash of the parts of the environment that do not change from run to run.
pub fn id(environment: &Value) -> String {
    if let Some(id) = environment.get(MACHINE).and_then(Value::as_str) {
        return id.to_owned();
    }
    if environment.is_null() {
        return "unknown".into();
    }
    let mut steady = environment.clone();
    if let Some(map) = steady.as_object_mut() {
        map.remove("memory_available");
    }
    let hash = crate::driver::sha256(steady.to_string().as_bytes());
    hash.get(..8).unwrap_or(&hash).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn free_memory_makes_no_other_machine_but_a_kernel_does() {
        let machine =
            |kernel: &str, free: u64| super::id(&json!({"kernel": kernel, "memory_available": free}));
        assert_eq!(machine("6.18", 1), machine("6.18", 2));
        assert_ne!(machine("6.18", 1), machine("6.17", 1));
        assert_eq!(super::id(&json!({"machine": "7f3a", "kernel": "x"})), "7f3a");
    }
}
