//! Reports of runs that a rule stopped by looking at them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{mock, patient, said, tool};

fn json(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&said(dir, &["report", dir.to_str().expect("UTF-8"), "--format", "json"]))
        .expect("JSON")
}

#[test]
fn a_report_has_the_interval_that_allows_looking_and_no_arm_lacks_runs() {
    let dir = tempfile::tempdir().expect("tempdir");
    let (ruled, fixed) = (dir.path().join("ruled"), dir.path().join("fixed"));
    for dir in [&ruled, &fixed] {
        std::fs::create_dir(dir).expect("directory");
    }
    let ruled = mock(&ruled, &["corrupt=corrupt"], &["--until-hits", "3", "--max-runs", "50"]);
    let fixed = mock(&fixed, &["corrupt=corrupt"], &["--repeats", "3"]);
    let arm = |dir: &Path| json(dir)["sections"][0]["arms"][0].clone();
    let (ruled_arm, fixed_arm) = (arm(&ruled), arm(&fixed));
    let low = |arm: &serde_json::Value| arm["rate_low"].as_f64().expect("a rate");
    // Clopper and Pearson, 3 of 3: 0.025^(1/3).
    assert!((low(&fixed_arm) - 0.2924).abs() < 1e-4, "{fixed_arm}");
    assert!(low(&ruled_arm) < 0.29 && low(&ruled_arm) > 0.0, "{ruled_arm}");
    assert_eq!((&ruled_arm["runs"], &ruled_arm["planned"]), (&3.into(), &3.into()));
    assert_eq!(
        (&ruled_arm["stopped"], &fixed_arm["stopped"]),
        (&"3 failures".into(), &serde_json::Value::Null)
    );
    // The page draws the same interval: whole per cents, rounded outwards.
    let percent = (low(&ruled_arm) * 100.0).floor();
    let html = said(dir.path(), &["report", ruled.to_str().expect("UTF-8"), "--format", "html"]);
    assert!(html.contains(&format!("3/3 ({percent:.0}–100 %)")), "{percent}");
}

#[test]
fn a_run_whose_time_was_over_is_complete_and_one_that_was_interrupted_is_not() {
    let dir = tempfile::tempdir().expect("tempdir");
    let rule = ["--until-hits", "1", "--max-runs", "5000", "--max-time", "2s"];
    let results = mock(dir.path(), &["pass=clean"], &rule);
    let junit = |dir: &Path| said(dir, &["report", dir.to_str().expect("UTF-8"), "--format", "junit"]);
    assert!(junit(&results).contains("failures=\"0\" errors=\"0\""), "{}", junit(&results));
    let arm = json(&results)["sections"][0]["arms"][0].clone();
    assert_eq!((&arm["stopped"], &arm["planned"]), (&"--max-time".into(), &5000.into()));
    assert_eq!(json(&results)["sections"][0]["exit"], 0);
    // Merged, it is as complete.
    let merged = dir.path().join("merged");
    said(dir.path(), &["merge", results.to_str().expect("UTF-8"), "-o", merged.to_str().expect("UTF-8")]);
    assert_eq!(json(&merged)["sections"][0]["exit"], 0);
    // Begun a day ago, taken up again now and interrupted: its last run is far beyond the time, and that says nothing.
    let manifest = std::fs::read_to_string(results.join("manifest.json")).expect("manifest");
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    manifest["started"] = "2026-01-01T00:00:00Z".into();
    std::fs::write(results.join("manifest.json"), manifest.to_string()).expect("write");
    let mut resumed = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    resumed.args(["mock-run", "pass=clean", "--resume"]).arg(&results).args(rule);
    let mut resumed = resumed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let runs = || std::fs::read_to_string(results.join("runs.jsonl")).expect("runs").lines().count();
    let before = runs();
    while runs() == before {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    resumed.kill().expect("killed");
    resumed.wait().expect("waited for");
    assert!(junit(&results).contains("type=\"incomplete\""), "{}", junit(&results));
    assert_eq!(json(&results)["sections"][0]["exit"], 12);
}

#[test]
fn a_limit_of_time_alone_raises_no_number_of_runs_and_resume_says_the_rule_in_flags() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &["--repeats", "3", "--max-time", "10m"]);
    let arm = json(&results)["sections"][0]["arms"][0].clone();
    assert_eq!(
        (&arm["runs"], &arm["planned"], &arm["stopped"]),
        (&3.into(), &3.into(), &serde_json::Value::Null)
    );
    let resume = results.to_str().expect("UTF-8");
    let out = tool(dir.path(), &["mock-run", "pass=clean", "--until-hits", "2", "--resume", resume]);
    let told = crate::support::text(&out.stderr);
    let differs = "the stopping rule was --max-time 10m, is --until-hits 2 --max-runs 1000";
    assert!(out.status.code() == Some(40) && told.contains(differs), "{told}");
}

#[test]
fn no_run_starts_once_the_time_is_over_and_what_it_cut_is_said() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(
        dir.path(),
        &["hang=hang", "hang/2=hang"],
        &["--repeats", "3", "--timeout-ms", "1500", "--jobs", "1", "--max-time", "1s"],
    );
    let runs: u64 = json(&results)["sections"][0]["arms"]
        .as_array()
        .expect("arms")
        .iter()
        .map(|arm| arm["runs"].as_u64().expect("runs"))
        .sum();
    assert_eq!(runs, 1, "the second arm of the round was not begun");
    let md = said(dir.path(), &["report", results.to_str().expect("UTF-8")]);
    assert!(md.contains("was over before all planned runs") && md.contains("has 1 of 3 runs"), "{md}");
}

#[test]
fn an_arm_that_the_time_cut_is_as_expected_so_far_and_not_as_a_whole() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = dir.path().join("results");
    let mut args = vec!["mock-run", "hang=hang", "--repeats", "5", "--timeout-ms", "1500", "--jobs", "1"];
    args.extend(["--max-time", "1s", "--results", results.to_str().expect("UTF-8")]);
    let screen = crate::support::text(&tool(dir.path(), &args).stdout);
    let row =
        screen.lines().find(|line| line.trim_start().starts_with("hang ")).expect("the arm's row").to_owned();
    assert!(row.contains(" 1/5 ") && row.contains("yes so far"), "{screen}");
    let results = crate::support::results_in(&results, "mock");
    let md = said(dir.path(), &["report", results.to_str().expect("UTF-8")]);
    let row = md.lines().find(|line| line.starts_with("| `hang`")).expect("the arm's row");
    assert!(
        row.contains("yes so far") && md.starts_with("**mock on none: 1 arm, 1 hang; as expected so far**"),
        "{md}"
    );
    let xml = said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "junit"]);
    assert!(xml.contains("1 of 5 planned runs"), "{xml}");
}

#[test]
fn an_improvement_that_the_time_cut_is_one_so_far_and_makes_no_baseline() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=corrupt"], &["--repeats", "5000", "--max-time", "1s"]);
    let results = results.to_str().expect("UTF-8");
    let badge = said(dir.path(), &["report", results, "--format", "badge"]);
    assert!(badge.contains("; only improvements so far"), "{badge}");
    let xml = said(dir.path(), &["report", results, "--format", "junit"]);
    assert!(xml.contains("of 5000 planned runs): a known fault is gone so far\""), "{xml}");
    std::fs::write(dir.path().join("smoke.toml"), patient()).expect("matrix");
    let out = tool(dir.path(), &["expectations", "update", "smoke.toml", results]);
    let err = crate::support::text(&out.stderr);
    assert!(out.status.code() == Some(40) && err.contains("of its 5000 runs"), "{err}");
}

#[test]
fn arms_that_never_ran_are_no_pass_though_nothing_is_expected_of_them() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = dir.path().join("results");
    let args = ["mock-run", "pass", "--max-time", "0s", "--results", results.to_str().expect("UTF-8")];
    let out = tool(dir.path(), &args);
    assert_eq!(out.status.code(), Some(12), "{}", crate::support::text(&out.stderr));
    let results = crate::support::results_in(&results, "mock");
    let xml = said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "junit"]);
    assert!(xml.contains("skipped=\"0\" failures=\"0\" errors=\"1\""), "{xml}");
    assert!(xml.contains("message=\"not run\" type=\"incomplete\""), "{xml}");
}

#[test]
fn a_comparison_under_a_rule_is_told_as_one() {
    let dir = tempfile::tempdir().expect("tempdir");
    // Two failures in two runs against none in eight: Fisher's p is 1/45, a difference if the runs had been fixed before.
    let results =
        mock(dir.path(), &["corrupt=corrupt", "pass=clean"], &["--until-hits", "1", "--max-runs", "8"]);
    let manifest = std::fs::read_to_string(results.join("manifest.json")).expect("manifest");
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    for arm in manifest["arms"].as_array_mut().expect("arms") {
        arm["comparison"] = "c".into();
    }
    std::fs::write(results.join("manifest.json"), manifest.to_string()).expect("write");
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    // A second failing run, so that both arms are rates.
    let again = runs.lines().find(|line| line.contains("\"arm\":\"corrupt\"")).expect("the run");
    let again = again.replacen("\"repeat\":0", "\"repeat\":1", 1);
    std::fs::write(results.join("runs.jsonl"), format!("{runs}{again}\n")).expect("write");
    let out = tool(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "md"]);
    let md = crate::support::text(&out.stdout);
    assert!(
        md.contains("**Compared**: c: corrupt with pass: no difference found (by intervals that hold whenever runs stop), p = 0.0222"),
        "{md}"
    );
}
