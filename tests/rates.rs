//! Rates and stopping rules on the real recorder and dispatcher, with mock arms.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn mock_run(results: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
    command.arg("mock-run").arg("--results").arg(results).args(args).env("COLUMNS", "120");
    command.stdin(Stdio::null()).output().expect("the tool runs")
}

fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// arm → its line of arms.csv by column.
fn csv(results: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let dir = std::fs::read_dir(results.join("mock")).unwrap().next().unwrap().unwrap().path();
    let mut reader = csv::Reader::from_path(dir.join("arms.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn until_hits_stops_each_arm_by_itself() {
    let tmp = tempfile::tempdir().unwrap();
    let out =
        mock_run(tmp.path(), &["flaky", "pass", "--until-hits", "3", "--max-runs", "40", "--jobs", "4"]);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let rows = csv(tmp.path());
    let of = |arm: &str, column: &str| {
        rows.iter().find(|row| row["arm"] == arm).unwrap_or_else(|| panic!("{arm}"))[column].clone()
    };
    let number =
        |arm: &str, column: &str| of(arm, column).parse::<f64>().unwrap_or_else(|e| panic!("{column}: {e}"));
    // A third fails: 40 runs without three failures would be a chance of 1 in 100,000.
    assert!(number("flaky", "hits") >= 3.0 && number("flaky", "testable") < 40.0, "{rows:?}");
    assert!(of("flaky", "stopped").contains("failures"), "{rows:?}");
    assert_eq!((of("pass", "hits").as_str(), of("pass", "testable").as_str()), ("0", "40"));
    // The anytime interval holds more than the exact one, and both hold what was seen.
    for arm in ["flaky", "pass"] {
        let seen = number(arm, "hits") / number(arm, "testable");
        assert!(number(arm, "anytime_low") <= number(arm, "exact_low") + 1e-6);
        assert!(number(arm, "exact_low") <= seen && seen <= number(arm, "exact_high"));
        assert!(number(arm, "exact_high") <= number(arm, "anytime_high") + 1e-6);
    }
    let text = all(&out);
    assert!(text.contains("corrupt 0/40: below"), "none seen has a bound, never 0 %\n{text}");
}

#[test]
fn until_width_stops_and_untestable_runs_stand_beside() {
    let tmp = tempfile::tempdir().unwrap();
    let args = ["corrupt", "no-driver", "--until-width", "0.3", "--max-runs", "60", "--jobs", "4"];
    let out = mock_run(tmp.path(), &args);
    let rows = csv(tmp.path());
    let corrupt = rows.iter().find(|row| row["arm"] == "corrupt").unwrap();
    let width =
        corrupt["anytime_high"].parse::<f64>().unwrap() - corrupt["anytime_low"].parse::<f64>().unwrap();
    assert!(width <= 0.3 && corrupt["testable"].parse::<u32>().unwrap() < 60, "{corrupt:?}");
    let never = rows.iter().find(|row| row["arm"] == "no-driver").unwrap();
    assert_eq!((never["testable"].as_str(), never["untestable_share"].as_str()), ("0", "1.000000"));
    assert_eq!(never["exact_high"], "", "no answer, no rate");
    assert_eq!(out.status.code(), Some(12), "an arm without an answer is inconclusive\n{}", all(&out));
}

#[test]
fn a_fixed_number_of_runs_and_a_rule_exclude_each_other() {
    let tmp = tempfile::tempdir().unwrap();
    let out = mock_run(tmp.path(), &["pass", "--until-hits", "2", "--repeats", "5"]);
    assert_eq!(out.status.code(), Some(2), "{}", all(&out));
}
