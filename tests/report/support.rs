//! Results to report on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");

/// Runs the tool in `dir`.
pub fn tool(dir: &Path, args: &[&str]) -> Output {
    Command::new(TOOL).current_dir(dir).args(args).output().expect("the tool starts")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Stdout of a verb that must succeed.
pub fn said(dir: &Path, args: &[&str]) -> String {
    let out = tool(dir, args);
    assert!(out.status.success(), "{args:?}: {}\n{}", out.status, text(&out.stderr));
    text(&out.stdout)
}

/// The one results directory below `root`.
pub fn results_in(root: &Path, matrix: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root.join(matrix))
        .expect("results")
        .map(|entry| entry.expect("entry").path())
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The text of `matrices/smoke.toml` with time limits that a machine under load keeps: a hang would be no fault of a
/// report.
pub fn patient() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/smoke.toml");
    let text = std::fs::read_to_string(path).expect("matrix");
    let patient = text.replace("timeout = \"30s\"", "timeout = \"300s\"");
    assert_ne!(text, patient);
    patient
}

/// `matrices/smoke.toml` on the real driver, twice each arm; run once for all tests of this file.
pub fn smoke() -> &'static Path {
    static SMOKE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    &SMOKE
        .get_or_init(|| {
            let dir = tempfile::tempdir().expect("tempdir");
            std::fs::write(dir.path().join("smoke.toml"), patient()).expect("matrix");
            said(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--repeats", "2", "--plain"]);
            let results = results_in(&dir.path().join("results"), "smoke");
            (dir, results)
        })
        .1
}

/// Results of mock arms (`MODE=EXPECTED`), which take no time.
pub fn mock(dir: &Path, arms: &[&str], more: &[&str]) -> PathBuf {
    let mut args = vec!["mock-run"];
    args.extend(arms);
    args.extend(more);
    args.extend(["--results", "results"]);
    let out = tool(dir, &args);
    assert!(dir.join("results/mock").exists(), "{}", text(&out.stderr));
    results_in(&dir.join("results"), "mock")
}
