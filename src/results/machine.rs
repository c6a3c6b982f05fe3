//! Which machine results come from. Machines are kept apart in every statistic.

use serde_json::Value;

use super::Manifest;
use crate::model::outcome::RunRecord;

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

/// The machine that `record` was made on and its environment: of a merged directory, those of the record's source.
pub fn of<'a>(manifest: &'a Manifest, record: &RunRecord) -> (String, &'a Value) {
    match record.source.as_ref().and_then(|source| manifest.sources.get(source)) {
        Some(source) => (source.machine.clone(), &source.environment),
        None => (id(&manifest.environment), &manifest.environment),
    }
}

/// PCI device id of the card at `device` ("pci:0000:09:00.0") of that machine; `None` = no card, or not known.
pub fn card(environment: &Value, device: &str) -> Option<u64> {
    let address = device.strip_prefix("pci:")?;
    let nodes = environment.get("devices")?.as_array()?;
    let node = nodes.iter().find(|node| node.get("pci_address").and_then(Value::as_str) == Some(address))?;
    node.get("device_id")?.as_u64()
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

    #[test]
    fn a_card_is_known_by_its_id_at_its_address() {
        let there = json!({"devices": [{"pci_address": "0000:03:00.0", "device_id": 0x56a0}]});
        assert_eq!(super::card(&there, "pci:0000:03:00.0"), Some(0x56a0));
        assert_eq!(super::card(&there, "pci:0000:04:00.0"), None);
        assert_eq!(super::card(&there, "sim:a770"), None);
    }
}
