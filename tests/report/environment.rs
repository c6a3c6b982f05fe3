//! `env`: what the vendor's form asks of this machine, and what is in the stores.

use std::path::Path;
use std::process::Command;

use crate::support::{TOOL, text};

fn env(data: &Path, path: &str, args: &[&str]) -> String {
    let out = Command::new(TOOL)
        .arg("env")
        .args(args)
        .env("REPRO_MATRIX_DATA", data)
        .env("PATH", path)
        .env_remove("ONEAPI_ROOT")
        .env_remove("CXX")
        .output()
        .expect("the tool starts");
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout)
}

/// A runtime of the store; its libraries are copies of an ELF file.
fn plant(data: &Path) {
    let place = data.join("toolchains/sycl-2026.2.0");
    let root = place.join("root");
    for dir in ["include/sycl", "lib"] {
        std::fs::create_dir_all(root.join(dir)).expect("directory");
    }
    std::fs::write(root.join("include/sycl/sycl.hpp"), "").expect("header");
    for name in
        ["libsycl.so", "libsycl.so.9.0.0", "libsycl-jit.so", "libur_loader.so.0", "libur_loader.so.0.12.0"]
    {
        std::fs::copy("/bin/true", root.join("lib").join(name)).expect("copy");
    }
    let package =
        |name: &str, version: &str| serde_json::json!({"name": name, "version": version, "sha256": "00"});
    let packages = [package("intel-sycl-rt", "2026.2.0"), package("intel-cmplr-lib-ur", "2026.2.0")];
    let manifest =
        serde_json::json!({"schema": 1, "version": "2026.2.0", "packages": packages, "hash": "00"});
    std::fs::write(place.join("manifest.json"), manifest.to_string()).expect("manifest");
}

#[test]
fn sycl_runtimes_unified_runtime_and_the_compiler_are_named_with_their_build_ids() {
    let data = tempfile::tempdir().expect("tempdir");
    let path = std::env::var("PATH").unwrap_or_default();
    let none = env(data.path(), &path, &[]);
    assert!(
        none.contains("SYCL runtimes and Unified Runtime\n  none (repro-matrix toolchains fetch sycl)"),
        "{none}"
    );
    plant(data.path());
    // A oneAPI compiler, as far as its version goes.
    let bin = data.path().join("bin");
    std::fs::create_dir(&bin).expect("directory");
    let icpx = bin.join("icpx");
    std::fs::write(
        &icpx,
        "#!/bin/sh\necho 'Intel(R) oneAPI DPC++/C++ Compiler 2026.2.0 (2026.2.0.20260901)'\n",
    )
    .expect("script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&icpx, mode).expect("mode");
    let told = env(data.path(), &format!("{}:{path}", bin.display()), &[]);
    assert!(told.contains("SYCL runtime 2026.2.0 · Unified Runtime 0.12.0 · "), "{told}");
    assert!(told.contains("oneAPI compiler\n  Intel(R) oneAPI DPC++/C++ Compiler 2026.2.0"), "{told}");
    for line in [
        "  intel-cmplr-lib-ur 2026.2.0",
        "  libsycl.so.9.0.0  build-id ",
        "  libur_loader.so.0.12.0  build-id ",
    ] {
        assert!(told.contains(line), "{line} in\n{told}");
    }
    // As another reader of the file has it.
    let notes = Command::new("readelf").args(["-n", "/bin/true"]).output().expect("readelf");
    let notes = text(&notes.stdout);
    let id = notes.split_once("Build ID: ").expect("a build-id").1.split_whitespace().next().expect("hex");
    let json: serde_json::Value = serde_json::from_str(&env(data.path(), &path, &["--json"])).expect("JSON");
    let library = &json["runtimes"][0]["libraries"][0];
    assert_eq!((&library["build_id"], &library["version"]), (&id.into(), &"9.0.0".into()), "{json}");
    assert_eq!(library["sha256"].as_str().map(str::len), Some(64));
}
