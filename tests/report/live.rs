//! Watching a run, and being told of its end.

use std::process::{Command, Stdio};

use crate::support::{TOOL, mock, text, tool};

#[test]
fn watch_follows_a_run_to_its_end() {
    let dir = tempfile::tempdir().expect("tempdir");
    let mut run = Command::new(TOOL)
        .current_dir(dir.path())
        .args([
            "mock-run",
            "pass=clean",
            "corrupt=corrupt",
            "--repeats",
            "3",
            "--pause",
            "200",
            "--results",
            "results",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("run");
    let results = loop {
        let mut found = std::fs::read_dir(dir.path().join("results/mock")).into_iter().flatten().flatten();
        match found.next().map(|entry| entry.path()) {
            Some(path) if path.join("manifest.json").exists() && path.join("runs.jsonl").exists() => {
                break path;
            }
            _ => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    let out = tool(dir.path(), &["watch", results.to_str().expect("UTF-8")]);
    let err = text(&out.stderr);
    assert_eq!(err.matches("run      ").count(), 6, "{err}");
    assert!(err.contains("6/6"), "{err}");
    assert!(text(&out.stdout).contains("2 arms, 1 clean, 1 corrupt; as expected"), "{}", text(&out.stdout));
    assert_eq!(out.status.code(), Some(0), "{err}");
    assert!(run.wait().expect("run").success(), "watch ends after its writer, not before");
}

#[test]
fn watch_of_a_finished_run_says_what_is_there() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=corrupt"], &[]);
    let out = tool(dir.path(), &["watch", results.to_str().expect("UTF-8")]);
    assert_eq!(out.status.code(), Some(11), "{}", text(&out.stderr));
}

#[test]
fn watch_tells_the_times_of_the_run_not_its_own() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &["--repeats", "4"]);
    let file = results.join("runs.jsonl");
    let runs = std::fs::read_to_string(&file).expect("runs");
    // Three of four runs, of ten seconds each.
    let three = runs.lines().take(3).enumerate().map(|(n, line)| {
        let mut record: serde_json::Value = serde_json::from_str(line).expect("a record");
        record["started"] = format!("2026-11-29T12:00:{}0.000Z", n).into();
        record["wall_seconds"] = 10.0.into();
        format!("{record}\n")
    });
    std::fs::write(&file, three.collect::<String>()).expect("written");
    let out = tool(dir.path(), &["watch", results.to_str().expect("UTF-8")]);
    let err = text(&out.stderr);
    assert!(err.contains("about 10s left") && err.contains("done     3 of 4 runs in 30s"), "{err}");
}

#[test]
fn notify_is_told_what_came_out() {
    let dir = tempfile::tempdir().expect("tempdir");
    let command = "printf '%s|%s' \"$REPRO_MATRIX_EXIT\" \"$REPRO_MATRIX_HEADLINE\" >told; test -d \"$REPRO_MATRIX_RESULTS\"";
    mock(dir.path(), &["corrupt=clean"], &["--notify", command]);
    let told = std::fs::read_to_string(dir.path().join("told")).expect("told");
    assert_eq!(told, "10|mock on none: 1 arm, 1 corrupt; 1 not as expected");
}
