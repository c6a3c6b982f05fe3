//! Baselines: what is known overrides what the matrix says, and what can no longer be true is said.

use std::path::{Path, PathBuf};

use crate::support::{mock, patient, said, text, tool};

/// A copy of smoke.toml with a baseline beside it.
fn matrix(dir: &Path, baseline: &str) -> PathBuf {
    let path = dir.join("smoke.toml");
    std::fs::write(&path, patient()).expect("matrix");
    std::fs::write(dir.join("smoke.expect.toml"), baseline).expect("baseline");
    path
}

fn row(drivers: &str, id: &str, verdict: &str) -> String {
    format!(
        "version = 1\nmatrix = \"smoke\"\n\n[[range]]\ndrivers = \"{drivers}\"\n\n[[range.arm]]\nid = \"{id}\"\nverdict = \"{verdict}\"\n\
         reason = \"seen in the test\"\ntracker = \"https://example.org/1\"\n"
    )
}

fn check(path: &Path) -> (Option<i32>, String) {
    let out = tool(Path::new("."), &["check", path.to_str().expect("UTF-8")]);
    (out.status.code(), text(&out.stderr))
}

#[test]
fn a_baseline_that_is_wrong_today_makes_the_run_unexpected_and_update_puts_it_right() {
    let dir = tempfile::tempdir().expect("tempdir");
    // The driver has the defect: "clean from 20 on" is not true of it.
    let path = matrix(dir.path(), &row(">=20", "over/file-r", "clean"));
    let out =
        tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", "over/file-r", "--plain"]);
    assert_eq!(out.status.code(), Some(10), "{}", text(&out.stderr));
    let err = text(&out.stderr);
    assert!(err.contains("over/file-r: clean is expected by the baseline (seen in the test)"), "{err}");
    let results = crate::support::results_in(&dir.path().join("results"), "smoke");
    let update = |more: &[&str]| {
        let mut args = vec![
            "expectations",
            "update",
            "smoke.toml",
            results.to_str().expect("UTF-8"),
            "--drivers",
            ">=20",
        ];
        args.extend(more);
        tool(dir.path(), &args)
    };
    // Shown, not done.
    let out = update(&[]);
    assert_eq!(out.status.code(), Some(10), "{}", text(&out.stderr));
    assert!(
        text(&out.stdout).contains("-verdict = \"clean\"") || text(&out.stdout).contains("-[[range"),
        "{}",
        text(&out.stdout)
    );
    assert!(std::fs::read_to_string(dir.path().join("smoke.expect.toml")).expect("file").contains("clean"));
    // The matrix itself expects what was seen: the wrong row goes, and none comes.
    let out = update(&["--write"]);
    assert_eq!(out.status.code(), Some(0), "{}\n{}", text(&out.stdout), text(&out.stderr));
    assert!(
        !std::fs::read_to_string(dir.path().join("smoke.expect.toml")).expect("file").contains("over/file-r")
    );
    assert_eq!(check(&path).0, Some(0));
    let run = [
        "run",
        "smoke.toml",
        "--device",
        "sim:a770",
        "--arm",
        "over/file-r",
        "--plain",
        "--results",
        "again",
    ];
    said(dir.path(), &run);
}

#[test]
fn plan_shows_the_expectations_that_run_judges_by() {
    let dir = tempfile::tempdir().expect("tempdir");
    let path = matrix(dir.path(), &row(">=20", "over/file-r", "clean"));
    let plan =
        |more: &[&str]| said(dir.path(), &[&["plan", "smoke.toml", "--device", "sim:a770"], more].concat());
    let shown = plan(&[]);
    assert!(
        shown.contains("note: over/file-r: clean is expected by the baseline (seen in the test)"),
        "{shown}"
    );
    let json: serde_json::Value = serde_json::from_str(&plan(&["--json"])).expect("JSON");
    assert_eq!(json["plan"]["arms"][0]["expect"]["verdict"], "clean", "{}", json["plan"]["arms"][0]);
    std::fs::write(path.with_file_name("smoke.expect.toml"), row(">=20", "gone", "clean")).expect("baseline");
    assert_eq!(tool(dir.path(), &["plan", "smoke.toml"]).status.code(), Some(3));
}

#[test]
fn damaged_results_make_no_baseline() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["corrupt=clean"], &[]);
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    std::fs::write(results.join("runs.jsonl"), format!("{runs}junk\n")).expect("written");
    let path = matrix(dir.path(), "version = 1\nmatrix = \"smoke\"\n");
    let args = ["expectations", "update", path.to_str().expect("UTF-8"), results.to_str().expect("UTF-8")];
    let out = tool(dir.path(), &args);
    assert_eq!(out.status.code(), Some(40), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("runs.jsonl:2: no run record"), "{}", text(&out.stderr));
}

#[test]
fn results_with_injected_faults_and_arms_that_lack_runs_make_no_baseline() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=corrupt"], &[]);
    let path = matrix(dir.path(), "version = 1\nmatrix = \"smoke\"\n");
    let told = |change: &dyn Fn(&mut serde_json::Value)| {
        let file = results.join("manifest.json");
        let whole = std::fs::read_to_string(&file).expect("manifest");
        let mut changed: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
        change(&mut changed);
        std::fs::write(&file, changed.to_string()).expect("written");
        let args =
            ["expectations", "update", path.to_str().expect("UTF-8"), results.to_str().expect("UTF-8")];
        let out = tool(dir.path(), &args);
        std::fs::write(&file, whole).expect("written");
        (out.status.code(), text(&out.stderr))
    };
    let (code, err) = told(&|m| m["device"] = "sim:a770 with injected faults exec:EIO@9".into());
    assert!(
        code == Some(2) && err.contains("say nothing of the driver without the faults"),
        "{code:?} {err}"
    );
    let (code, err) = told(&|m| m["arms"][0]["repeats"] = 3.into());
    assert!(code == Some(40) && err.contains("has 1 of its 3 runs"), "{code:?} {err}");
}

#[test]
fn a_row_of_other_drivers_does_not_count() {
    let dir = tempfile::tempdir().expect("tempdir");
    matrix(dir.path(), &row("<20", "over/file-r", "clean"));
    let plan = ["run", "smoke.toml", "--device", "sim:a770", "--arm", "over/file-r", "--plain"];
    said(dir.path(), &plan);
}

#[test]
fn expectations_that_can_no_longer_occur_are_reported_with_their_line() {
    let dir = tempfile::tempdir().expect("tempdir");
    let dead = |baseline: &str| {
        let (code, err) = check(&matrix(dir.path(), baseline));
        assert_eq!(code, Some(3), "{err}");
        err
    };
    let err = dead(&row("*", "over/file", "corrupt"));
    assert!(err.contains("smoke.expect.toml:8:6") && err.contains("did you mean \"over/file-r\"?"), "{err}");
    assert!(dead(&row(">=27, <26", "over/file-r", "corrupt")).contains("no driver version is in the range"));
    let twice = format!(
        "{}\n[[range]]\ndrivers = \">=26\"\n[[range.arm]]\nid = \"over/file-r\"\nverdict = \"hang\"\nreason = \"r\"\ntracker = \"t\"\n",
        row("*", "over/file-r", "corrupt")
    );
    assert!(dead(&twice).contains("counts first"));
    let err = dead(&row("*", "over/file-r", "corrupt").replace("\"smoke\"", "\"other\""));
    assert!(
        err.contains("smoke.expect.toml:2:10") && err.contains("this is the baseline of \"other\""),
        "{err}"
    );
    let (code, err) = check(&matrix(dir.path(), &row(">=20", "over/*", "corrupt")));
    assert_eq!(code, Some(0), "{err}");
    // And before anything is run.
    matrix(dir.path(), &row("*", "gone", "corrupt"));
    let out = tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--plain"]);
    assert_eq!(out.status.code(), Some(3));
}

#[test]
fn reason_and_tracker_are_required_and_mistakes_have_a_place() {
    let dir = tempfile::tempdir().expect("tempdir");
    let told = |baseline: &str| check(&matrix(dir.path(), baseline)).1;
    let good = row("*", "over/file-r", "corrupt");
    assert!(told(&good.replace("tracker = \"https://example.org/1\"\n", "")).contains("tracker"));
    assert!(told(&good.replace("\"seen in the test\"", "\"\"")).contains("an expectation needs a reason"));
    assert!(
        told(&good.replace("version = 1", "version = 2")).contains("baseline format 2; this build reads 1")
    );
    let path = matrix(dir.path(), &good);
    std::fs::write(path.with_file_name("smoke.expect.toml"), b"version = 1\n# \xff\n").expect("baseline");
    let (_, err) = check(&path);
    assert!(err.contains("smoke.expect.toml:2:3  not UTF-8 text"), "{err}");
    let err = told(&good.replace("\"*\"", "\"26\""));
    assert!(err.contains(":5:11") && err.contains("a range is"), "{err}");
}

#[test]
fn new_rows_need_their_words() {
    let dir = tempfile::tempdir().expect("tempdir");
    // Mock results carry no driver version: an update would not know its range.
    let results = mock(dir.path(), &["corrupt=clean"], &[]);
    let path = matrix(dir.path(), "version = 1\nmatrix = \"smoke\"\n");
    let out = tool(
        dir.path(),
        &["expectations", "update", path.to_str().expect("UTF-8"), results.to_str().expect("UTF-8")],
    );
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("no driver version"), "{}", text(&out.stderr));
}

#[test]
fn the_shipped_matrices_pass_the_check() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices")).expect("matrices")
    {
        let path = entry.expect("entry").path();
        if path.extension().is_some_and(|ext| ext == "toml")
            && !path.to_string_lossy().ends_with(".expect.toml")
        {
            let (code, err) = check(&path);
            assert_eq!(code, Some(0), "{err}");
        }
    }
}
