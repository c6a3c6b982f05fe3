//! `repro-matrix plan` and `repro-matrix schema` as a user calls them.

use std::process::{Command, Output};

use crate::SMALL;

fn tool(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_repro-matrix")).args(arguments).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn plan_shows_arms_exclusions_and_totals() {
    let output = tool(&["plan", "matrices/dg2-private.toml", "--device", "sim:a770", "--arm", "strace/*"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("not selected by --arm strace/*"), "{shown}");
    assert!(shown.contains("section 3 has three columns"), "{shown}");
    assert!(shown.contains("Nothing was run."), "{shown}");
}

#[test]
fn a_misspelt_arm_beside_a_good_one_is_refused_before_anything_is_run() {
    for verb in ["plan", "run"] {
        let arms = ["--arm", "under", "--arm", "over/fle-r"];
        let output = tool(&[&[verb, "matrices/smoke.toml", "--device", "sim:a770"], &arms[..]].concat());
        assert_eq!(output.status.code(), Some(4), "{verb}: {}", text(&output.stderr));
        let shown = text(&output.stderr);
        assert!(shown.contains("over/fle-r fits no arm"), "{verb}: {shown}");
        assert!(shown.contains("did you mean \"over/file-r\"?"), "{verb}: {shown}");
    }
}

#[test]
fn plan_json_has_the_run_order() {
    let output = tool(&[
        "plan",
        "matrices/smoke.toml",
        "--json",
        "--seed",
        "5",
        "--repeats",
        "2",
        "--device",
        "sim:a770",
    ]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["plan"]["seed"], 5);
    assert_eq!(json["plan"]["cells"].as_array().map(Vec::len), Some(6));
    assert_eq!(json["plan"]["arms"][0]["id"], "over/file-r");
    let again = tool(&[
        "plan",
        "matrices/smoke.toml",
        "--json",
        "--seed",
        "5",
        "--repeats",
        "2",
        "--device",
        "sim:a770",
    ]);
    assert_eq!(output.stdout, again.stdout, "the same seed gives the same plan");
}

#[test]
fn nothing_selected_is_exit_4() {
    assert_eq!(tool(&["plan", "matrices/smoke.toml", "--arm", "no-such-arm"]).status.code(), Some(4));
}

#[test]
fn bad_matrix_is_exit_3_with_place_line_and_underline() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("my.toml");
    let spoiled =
        SMALL.replace("keys = \"resident2\"", "keys = \"resident\"").replace("kernels = 4", "kernels = 0");
    std::fs::write(&path, spoiled).expect("written");
    let path = path.to_str().expect("a path");
    let output = tool(&["plan", path]);
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty());
    let shown = text(&output.stderr);
    let expected = format!(
        "{path}:14:8  unknown debug-key set \"resident\"\n   14 │ keys = \"resident\"\n      │        ^^^^^^^^^^ did you mean \
         \"resident2\"? (defined at line 7)\n"
    );
    assert!(shown.contains(&expected), "{shown}");
    assert!(shown.contains(&format!("{path}:3:11  kernels is 1 to")), "{shown}");
}

#[test]
fn missing_matrix_is_exit_3_with_the_reason() {
    let output = tool(&["plan", "/no/such.toml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("No such file"), "{}", text(&output.stderr));
}

#[test]
fn bad_device_is_a_usage_error() {
    assert_eq!(tool(&["plan", "matrices/smoke.toml", "--device", "gpu0"]).status.code(), Some(2));
}

#[test]
fn a_simulated_device_that_is_none_is_a_usage_error_with_the_nearest_name() {
    for (arguments, near) in [
        (&["plan", "matrices/smoke.toml", "--device", "sim:a77"][..], "sim:a770"),
        (&["run", "matrices/smoke.toml", "--device", "sim:b850"], "sim:b580"),
        (&["bisect", "matrices/smoke.toml", "--device", "sim:a77"], "sim:a770"),
        (&["sim", "--device", "a77", "--", "true"], "sim:a770"),
    ] {
        let output = tool(arguments);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {shown}");
        assert!(shown.contains(&format!("did you mean \"{near}\"?")), "{arguments:?}: {shown}");
    }
}

#[test]
fn schema_and_example_are_printed() {
    let json: serde_json::Value = serde_json::from_slice(&tool(&["schema"]).stdout).expect("JSON");
    assert!(json["$schema"].as_str().is_some_and(|uri| uri.contains("json-schema.org")));
    let example = tool(&["schema", "--example"]);
    crate::valid(&text(&example.stdout));
}

#[test]
fn completions_and_the_manual_know_every_verb() {
    let help = text(&tool(&["--help"]).stdout);
    let commands =
        help.split_once("Commands:").expect("commands").1.split_once("Options:").expect("options").0;
    // A verb is indented by two; what goes on below it, by more.
    let verbs: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert!(verbs.len() > 15 && verbs.contains(&"run") && !verbs.contains(&"mock-run"), "{verbs:?}");
    let man = text(&tool(&["man"]).stdout);
    assert!(man.starts_with(".ie") || man.contains(".TH repro-matrix"), "{man}");
    let scripts = ["bash", "zsh", "fish"].map(|shell| text(&tool(&["completions", shell]).stdout));
    for verb in verbs {
        let heading = format!(".SH {}", verb.to_uppercase());
        assert!(man.lines().any(|line| line == heading), "{verb} is not in the manual");
        assert!(scripts.iter().all(|script| script.contains(verb)), "{verb} is not completed");
    }
    // bash itself reads what it is given.
    let dir = tempfile::tempdir().expect("tempdir");
    let path = dir.path().join("completion");
    std::fs::write(&path, &scripts[0]).expect("write");
    let read = Command::new("bash").arg("-n").arg(&path).output().expect("bash");
    assert!(read.status.success() && read.stderr.is_empty(), "{}", text(&read.stderr));
}
