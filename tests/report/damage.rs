//! Bad input: said with its place, and nothing else is lost.

use std::path::Path;

use crate::support::{TOOL, mock, text, tool};

fn md(dirs: &[&Path]) -> (i32, String, String) {
    let mut args = vec!["report"];
    args.extend(dirs.iter().map(|dir| dir.to_str().expect("UTF-8")));
    let out = tool(Path::new("."), &args);
    (out.status.code().unwrap_or(-1), text(&out.stdout), text(&out.stderr))
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let old = std::fs::read_to_string(path).expect("read");
    std::fs::write(path, change(old)).expect("write");
}

#[test]
fn a_cut_line_and_a_garbled_line_are_named_and_the_rest_counts() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean", "corrupt=corrupt"], &["--repeats", "2"]);
    edit(&results.join("runs.jsonl"), |runs| {
        let lines: Vec<&str> = runs.lines().collect();
        format!("{}\n{{\"version\":1,\"arm\":7}}\n{}\n{}\n{}", lines[0], lines[1], lines[2], &lines[3][..40])
    });
    let (code, out, err) = md(&[&results]);
    assert_eq!(code, 40, "{err}");
    assert!(err.contains("runs.jsonl:2: no run record"), "{err}");
    assert!(err.contains("runs.jsonl:5: the last line is cut off after 40 bytes"), "{err}");
    // Told in the report too, and the three whole runs are there.
    assert!(out.contains("> ⚠ ") && out.contains("cut off"), "{out}");
    let runs: usize = out
        .lines()
        .filter(|l| l.starts_with("| `"))
        .filter_map(|l| l.split('|').nth(3))
        .filter_map(|c| c.trim().split('/').nth(1)?.parse::<usize>().ok())
        .sum();
    assert_eq!(runs, 3, "{out}");
}

#[test]
fn lost_runs_are_neither_green_nor_a_success_of_watch() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    let verb = |args: &[&str]| {
        let out = tool(Path::new("."), &[args, &[results.to_str().expect("UTF-8")]].concat());
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    assert_eq!(verb(&["watch"]).0, Some(0));
    edit(&results.join("runs.jsonl"), |runs| runs.clone() + &runs[..40]);
    let (code, _, err) = verb(&["watch"]);
    assert!(code == Some(40) && err.contains("runs.jsonl:2: the last line is cut off"), "{code:?} {err}");
    let (code, badge, _) = verb(&["report", "--format", "badge"]);
    assert!(code == Some(40) && badge.contains("\"color\":\"yellow\""), "{code:?} {badge}");
}

#[test]
fn a_newer_format_is_refused_by_name_and_other_directories_are_reported() {
    let (new, old) = (tempfile::tempdir().expect("tempdir"), tempfile::tempdir().expect("tempdir"));
    let newer = mock(new.path(), &["pass=clean"], &[]);
    let fine = mock(old.path(), &["corrupt=corrupt"], &[]);
    edit(&newer.join("manifest.json"), |text| text.replace("\"version\": 1", "\"version\": 99"));
    let (code, _, err) = md(&[&newer]);
    assert_eq!(code, 40);
    assert!(
        err.contains("results format 99 is newer than this build reads (1); use a newer repro-matrix"),
        "{err}"
    );
    let (code, out, err) = md(&[&newer, &fine]);
    assert_eq!(code, 40);
    assert!(err.contains("results format 99"), "{err}");
    assert!(out.contains("`corrupt`"), "{out}");
}

#[test]
fn a_newer_record_in_an_old_directory_is_not_guessed_at() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &["--repeats", "2"]);
    edit(&results.join("runs.jsonl"), |runs| runs.replacen("\"version\":1", "\"version\":2", 1));
    let (code, _, err) = md(&[&results]);
    assert_eq!(code, 40);
    assert!(err.contains("runs.jsonl:1: results format 2 is newer"), "{err}");
}

#[test]
fn missing_logs_are_said_once_and_verdicts_stand() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean", "corrupt=corrupt"], &[]);
    std::fs::remove_dir_all(results.join("logs")).expect("logs");
    let (code, out, err) = md(&[&results]);
    assert_eq!(code, 40);
    assert_eq!(err.matches("log files are missing").count(), 1, "{err}");
    assert!(out.contains("**corrupt** | 1/1"), "{out}");
}

#[test]
fn machines_are_not_counted_together() {
    let (one, two) = (tempfile::tempdir().expect("tempdir"), tempfile::tempdir().expect("tempdir"));
    let here = mock(one.path(), &["pass=clean"], &[]);
    let there = mock(two.path(), &["pass=clean"], &[]);
    let (_, out, _) = md(&[&here, &there]);
    assert!(out.contains("| clean | 0/2 |"), "one machine: counted together\n{out}");
    edit(&there.join("manifest.json"), |text| {
        text.replace("\"environment\": null", "\"environment\": {\"machine\": \"elsewhere\"}")
    });
    let (code, out, err) = md(&[&here, &there]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("results of 2 machines"), "{err}");
    assert_eq!(out.matches("| clean | 0/1 |").count(), 2, "{out}");
    assert!(out.contains("machine elsewhere"), "{out}");
}

#[test]
fn a_directory_that_holds_results_is_pointed_out() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    let (code, _, err) = md(&[&dir.path().join("results")]);
    assert_eq!(code, 2);
    assert!(
        err.contains("no results directory")
            && err.contains(results.file_name().and_then(|n| n.to_str()).expect("name")),
        "{err}"
    );
}

#[test]
fn a_reader_of_stderr_that_leaves_is_no_fault_and_garbage_is_said_in_few_lines() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    std::fs::write(results.join("runs.jsonl"), "junk\n".repeat(500)).expect("written");
    let (code, _, err) = md(&[&results]);
    assert_eq!(code, 40);
    assert!(err.lines().count() < 20 && err.contains("490 more lines"), "{err}");
    // `2>&1 | head -1`
    for args in [&["report"][..], &["diff", "."], &["report", "nowhere"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(TOOL);
        command.current_dir(&results).args(args).arg(".").stderr(writer).stdout(std::process::Stdio::null());
        let code = command.status().expect("the tool starts").code();
        assert_eq!(code, Some(if args[0] == "diff" { 4 } else { 40 }), "{args:?}");
    }
}

#[test]
fn an_output_that_is_no_file_is_not_replaced() {
    let dir = tempfile::tempdir().expect("tempdir");
    let results = mock(dir.path(), &["pass=clean"], &[]);
    let to = |place: &str| {
        let out = tool(dir.path(), &["report", results.to_str().expect("UTF-8"), "-o", place]);
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (code, out, err) = to("/dev/stdout");
    assert!(code == Some(0) && out.contains("clean"), "{code:?} {out} {err}");
    let (code, _, err) = to("/dev/full");
    assert!(code == Some(41) && err.contains("/dev/full: No space left"), "{code:?} {err}");
    let kind = std::fs::metadata("/dev/full").expect("still there");
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&kind.file_type()));
}
