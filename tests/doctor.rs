//! `repro-matrix doctor` on whatever machine this is.

use std::process::{Command, Output};

use serde_json::Value;

fn doctor(data: &std::path::Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .arg("doctor")
        .args(arguments)
        .env("REPRO_MATRIX_DATA", data)
        .output()
        .expect("repro-matrix starts")
}

#[test]
fn without_a_driver_build_it_says_what_to_type() {
    let data = tempfile::tempdir().expect("tempdir");
    let output = doctor(data.path(), &["--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = value["checks"].as_array().expect("checks");
    let driver = checks.iter().find(|check| check["feature"] == "driver build").expect("a driver row");
    // A machine with a driver installed has the build called `system`.
    if driver["state"] == "missing" {
        assert_eq!(driver["action"], "repro-matrix drivers fetch debian");
        assert_eq!(value["usable"], false);
        assert_eq!(output.status.code(), Some(20));
    } else {
        assert!(driver["found"].as_str().is_some_and(|found| found.starts_with("system")), "{driver}");
    }
    for check in checks {
        assert!(check["purpose"].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        let must_act = check["state"] != "ok";
        assert_eq!(must_act, check["action"].is_string(), "{check}");
    }
    assert!(!data.path().join("drivers").exists(), "doctor only looks");
}

#[test]
fn the_text_names_every_feature() {
    let data = tempfile::tempdir().expect("tempdir");
    let output = doctor(data.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    for feature in [
        "Intel render node",
        "seccomp notify",
        "process_vm_readv",
        "kcmp",
        "driver build",
        "glibc",
        "ocloc",
        "SYCL front end",
        "strace",
        "kernel log",
        "drop_caches",
        "/dev/shm",
        "disk",
        "memory",
        "cores",
    ] {
        assert!(text.contains(feature), "{feature} is missing:\n{text}");
    }
}
