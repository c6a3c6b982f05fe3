//! `diff`: what changed, and whether the runs suffice to say so.

use std::path::{Path, PathBuf};

use crate::support::{mock, text, tool};

fn results(dir: &Path, name: &str, arms: &[&str], repeats: &str) -> PathBuf {
    let dir = dir.join(name);
    std::fs::create_dir_all(&dir).expect("directory");
    mock(&dir, arms, &["--repeats", repeats, "--jobs", "2"])
}

/// The same arm ids with other outcomes: the mock's id is its mode.
fn with(results: &Path, change: impl Fn(&mut serde_json::Value)) {
    let path = results.join("runs.jsonl");
    let runs = std::fs::read_to_string(&path).expect("runs");
    let changed: String = runs
        .lines()
        .map(|line| {
            let mut record: serde_json::Value = serde_json::from_str(line).expect("JSON");
            change(&mut record);
            format!("{record}\n")
        })
        .collect();
    std::fs::write(path, changed).expect("write");
}

fn corrupt(record: &mut serde_json::Value) {
    record["verdict"] = "corrupt".into();
    for field in ["wrong", "untouched", "control_wrong"] {
        record[field] = serde_json::Value::Null;
    }
    record["basis"] = "data".into();
}

fn diff(a: &Path, b: &Path) -> (Option<i32>, String) {
    let out = tool(Path::new("."), &["diff", a.to_str().expect("UTF-8"), b.to_str().expect("UTF-8")]);
    (out.status.code(), text(&out.stdout) + &text(&out.stderr))
}

#[test]
fn significance_needs_runs_and_directions_are_told_apart() {
    let dir = tempfile::tempdir().expect("tempdir");
    let old = results(dir.path(), "old", &["pass"], "6");
    let same = results(dir.path(), "same", &["pass"], "6");
    let (code, told) = diff(&old, &same);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("1 arm: 1 same"), "{told}");
    let bad = results(dir.path(), "bad", &["pass"], "6");
    with(&bad, corrupt);
    let (code, told) = diff(&old, &bad);
    assert_eq!(code, Some(10), "{told}");
    // 6 of 6 against 0 of 6: 2 / C(12, 6) = 0.00216.
    assert!(told.contains("| WORSE | clean (0/6) | corrupt (6/6) | 0.002 |"), "{told}");
    let (code, told) = diff(&bad, &old);
    assert_eq!(code, Some(11), "{told}");
    assert!(told.contains("| better |"), "{told}");
    // One run each says nothing.
    let (few, few_bad) =
        (results(dir.path(), "few", &["pass"], "1"), results(dir.path(), "few-bad", &["pass"], "1"));
    with(&few_bad, corrupt);
    let (code, told) = diff(&few, &few_bad);
    assert_eq!(code, Some(12), "{told}");
    assert!(told.contains("unclear") && told.contains("More repeats decide it"), "{told}");
}

#[test]
fn other_machines_and_lone_arms_are_pointed_out() {
    let dir = tempfile::tempdir().expect("tempdir");
    let a = results(dir.path(), "a", &["pass", "corrupt"], "1");
    let b = results(dir.path(), "b", &["pass"], "1");
    let manifest = std::fs::read_to_string(b.join("manifest.json")).expect("manifest");
    let other = manifest.replace(
        "\"environment\": null",
        "\"environment\": {\"machine\": \"elsewhere\", \"kernel\": \"7.1\"}",
    );
    std::fs::write(b.join("manifest.json"), other).expect("write");
    let (code, told) = diff(&a, &b);
    assert_eq!(code, Some(12), "{told}");
    assert!(told.contains("caution: the machine differs (unknown, elsewhere)"), "{told}");
    assert!(told.contains("Only in A: corrupt"), "{told}");
}

#[test]
fn damaged_results_and_results_without_runs_are_told_apart_from_no_change() {
    let dir = tempfile::tempdir().expect("tempdir");
    let a = results(dir.path(), "a", &["pass"], "1");
    let b = results(dir.path(), "b", &["pass"], "1");
    let whole = std::fs::read_to_string(b.join("runs.jsonl")).expect("runs");
    std::fs::write(b.join("runs.jsonl"), format!("{whole}junk\n")).expect("write");
    let (code, told) = diff(&a, &b);
    assert_eq!(code, Some(40), "{told}");
    assert!(told.contains("1 arm: 1 same"), "{told}");
    std::fs::write(b.join("runs.jsonl"), "").expect("write");
    let (code, told) = diff(&a, &b);
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("has no runs") && !told.contains("no arm in common"), "{told}");
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let dir = tempfile::tempdir().expect("tempdir");
    let a = results(dir.path(), "a", &["pass=clean"], "2");
    let b = results(dir.path(), "b", &["pass=clean"], "2");
    assert_eq!(diff(&a, &b).0, Some(0));
    std::fs::copy(a.join("runs.jsonl"), b.join("runs.jsonl")).expect("a copy");
    let (code, said) = diff(&a, &b);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("A and B have 2 of their runs in common"), "{said}");
}

#[test]
fn a_side_that_compared_no_data_and_arms_that_could_not_run_are_said() {
    let dir = tempfile::tempdir().expect("tempdir");
    let a = results(dir.path(), "a", &["pass=clean"], "2");
    let b = results(dir.path(), "b", &["pass=clean"], "2");
    with(&a, |record| record["basis"] = "both".into());
    with(&b, |record| record["basis"] = "residency".into());
    let manifest = std::fs::read_to_string(b.join("manifest.json")).expect("manifest");
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    manifest["left_out"] =
        serde_json::json!([{ "arm": "on/absent", "reason": "no driver build \"absent\"", "not_here": true }]);
    std::fs::write(b.join("manifest.json"), manifest.to_string()).expect("write");
    let (_, told) = diff(&a, &b);
    assert!(told.contains("caution: in 1 arm B compared no data and A did"), "{told}");
    assert!(told.contains("Could not run in B:\n\n- on/absent: no driver build \"absent\""), "{told}");
    assert!(!told.contains("A compared no data") && !told.contains("Could not run in A"), "{told}");
}
