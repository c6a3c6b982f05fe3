//! The other simulated devices, with the real driver: on each the boundary lies where its size says, and where the
//! compiler keeps private memory in scratch the per-dispatch path is never taken.

use std::path::Path;
use std::process::Command;

use repro_matrix::build::source;
use serde_json::Value;

/// Runs arms over and under a boundary of `kernels` kernels; every run, by arm.
fn run(dir: &Path, device: &str, kernels: [u64; 2]) -> Vec<Value> {
    let matrix = dir.join("profile.toml");
    let text = format!(
        r#"name = "profile"
[defaults]
source = "file-r"
workload = "short"
[variants.over]
kernels = {}
simd = {SIMD}
[variants.under]
kernels = {}
simd = {SIMD}
[sources.file-r]
kind = "file"
prot = "r"
size = "32MiB"
[workloads.short]
copies = 3
[[product]]
variants = ["over", "under"]
"#,
        kernels[0], kernels[1]
    );
    std::fs::write(&matrix, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .arg("run")
        .arg(&matrix)
        .args(["--plain", "--device", device, "--results"])
        .arg(dir)
        .output()
        .unwrap();
    let shown =
        || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read_dir(dir.join("profile")).unwrap_or_else(|_| panic!("{}", shown()));
    let results = results.flatten().next().unwrap_or_else(|| panic!("{}", shown())).path();
    let text = std::fs::read_to_string(results.join("runs.jsonl")).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 2, "{}", shown());
    records
}

const SIMD: u64 = 32;

fn flags(record: &Value) -> Vec<bool> {
    let lines = record["facts"]["neo"]["per_dispatch"].as_array();
    lines.into_iter().flatten().map(|line| line["flag"] == true).collect()
}

/// A device whose private memory is a surface: one kernel decides.
fn boundary(device: &str) {
    let profile = xe_sim::profile::by_name(device).unwrap();
    // 95 % of the device's memory, as the driver reports it.
    let global = profile.vram_bytes * 95 / 100;
    let under = global / (SIMD * source::block_bytes(64) * profile.hw_threads());
    let dir = tempfile::tempdir().unwrap();
    for record in run(dir.path(), &format!("sim:{device}"), [under + 1, under]) {
        let over = record["arm"].as_str().unwrap().starts_with("over");
        let seen = format!("{device}: {} {} {}", record["arm"], record["verdict"], record["evidence"]);
        assert_eq!(record["verdict"], if over { "corrupt" } else { "clean" }, "{seen}");
        assert!(flags(&record).contains(&over) && !flags(&record).contains(&!over), "{seen}");
    }
}

#[test]
fn a750_has_its_boundary_where_its_memory_and_threads_put_it() {
    boundary("a750");
}

#[test]
fn a380_has_its_boundary_where_its_memory_and_threads_put_it() {
    boundary("a380");
}

#[test]
fn b580_never_takes_the_per_dispatch_path() {
    let dir = tempfile::tempdir().unwrap();
    // As much private memory as puts an A770's module on that path.
    for record in run(dir.path(), "sim:b580", [87, 86]) {
        let seen = format!("{} {} {}", record["arm"], record["verdict"], record["evidence"]);
        assert_eq!(record["verdict"], "clean", "{seen}");
        assert!(!flags(&record).contains(&true), "{seen}");
        // It has private memory, and it is not in a surface that counts.
        assert!(record["repro"]["kernel"]["private_mem_size"].as_u64().unwrap() > 0, "{seen}");
    }
}

#[test]
fn residency_only_device_judges_without_executing_a_kernel() {
    let dir = tempfile::tempdir().unwrap();
    for record in run(dir.path(), "sim:a770-residency", [87, 86]) {
        let over = record["arm"].as_str().unwrap().starts_with("over");
        let seen = format!("{} {} {}", record["arm"], record["verdict"], record["evidence"]);
        assert_eq!(record["verdict"], if over { "corrupt" } else { "clean" }, "{seen}");
        assert_eq!(record["basis"], "residency", "{seen}");
        assert_eq!(record["device"], "sim:a770-residency", "{seen}");
        // Kernels were launched, none ran, and what was not computed is not counted.
        let summary = &record["facts"]["sim"]["summary"];
        assert!(summary["dispatches"].as_u64().unwrap() > 0, "{seen} {summary}");
        assert_eq!(summary["executed"], 0, "{seen} {summary}");
        assert!(record["wrong"].is_null() && record["untouched"].is_null(), "{seen}");
    }
}
