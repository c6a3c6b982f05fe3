//! Commands as workloads, end to end: the shipped example on the real driver and the simulated card.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_shipped_example_runs_and_is_judged_by_its_rules() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/command-example.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .arg("run")
        .arg(matrix)
        .args(["--plain", "--results", "results"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let runs =
        std::fs::read_dir(dir.path().join("results/command-example")).unwrap().flatten().next().unwrap();
    let lines = std::fs::read_to_string(runs.path().join("runs.jsonl")).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |arm: &str| records.iter().find(|r| r["arm"] == arm).unwrap_or_else(|| panic!("{arm}: {text}"));
    for record in &records {
        assert_eq!(record["as_expected"], true, "{}: {}\n{text}", record["arm"], record["evidence"]);
    }
    // One arm is untestable on purpose, and says so: as expected, and still no verdict.
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("No verdict: elsewhere (untestable"), "{text}");

    // The rules' numbers are the program's own.
    let over = of("lines/over");
    let check = &over["repro"]["checks"][0];
    assert_eq!((&check["wrong"], &check["untouched"]), (&131_072.into(), &65_536.into()));
    assert_eq!(over["repro"]["one_check"], true);
    assert_eq!(of("lines/under")["repro"]["checks"][0]["wrong"], 0);

    // The session: right, then wrong, with the surface unbound in between and never bound again.
    let steps = of("session/over")["repro"]["steps"].as_array().unwrap();
    let life: Vec<_> =
        steps.iter().map(|s| (s["wrong"].clone(), s["binds"].clone(), s["unbinds"].clone())).collect();
    assert_eq!(life, [(false.into(), 1.into(), 0.into()), (true.into(), 1.into(), 1.into())]);

    // What a program prints is no proof that it ran on the driver.
    let elsewhere = of("elsewhere");
    assert_eq!(elsewhere["verdict"], "untestable");
    assert_eq!(elsewhere["repro"]["checks"][0]["wrong"], 0);
}

#[test]
fn a_command_that_says_nothing_of_before_and_after_can_be_clean() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = r#"
name = "plain"
[defaults]
source = "none"
device = "sim:a770"
[sources.none]
kind = "none"
[variants.plain]
front_end = "command"
kernels = 1
command = ["{tool}", "level-zero", "--module", "{module}", "--skip-upload"]
[variants.plain.extract]
exit_wrong = [1]
[[arm]]
variant = "plain"
expect = "clean"
"#;
    std::fs::write(dir.path().join("plain.toml"), matrix).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .args(["run", "plain.toml", "--plain"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_command_that_never_comes_to_level_zero_breaks_no_observer_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = r#"
name = "elsewhere"
[defaults]
source = "none"
device = "sim:a770-residency"
observers = ["neo-log", "sim", "maps", "ze-api"]
[sources.none]
kind = "none"
[variants.prints]
front_end = "command"
command = ["echo", "wrong=0"]
extract = { wrong = 'wrong=(\d+)' }
[variants.dies]
front_end = "command"
command = ["sh", "-c", "kill -SEGV $$"]
extract = { exit_wrong = [1] }
[[product]]
variants = ["prints", "dies"]
"#;
    std::fs::write(dir.path().join("elsewhere.toml"), matrix).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .args(["run", "elsewhere.toml", "--plain"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = |arm: &str| text.lines().find(|line| line.trim_start().starts_with(arm)).unwrap_or_default();
    assert!(said("prints").contains("untestable"), "{output:?}");
    assert!(said("dies").contains("crash"), "{output:?}");
}
