//! Durability: kill -9 in the middle, interruption, resume, full disks, damaged files. On the real recorder and
//! dispatcher, with mock arms.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");

fn mock_run(results: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(TOOL);
    command.arg("mock-run").arg("--results").arg(results).args(args).env("COLUMNS", "120");
    command
}

fn output(mut command: Command) -> Output {
    command.stdin(Stdio::null()).output().expect("the tool runs")
}

fn all(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn only_run_dir(results: &Path) -> PathBuf {
    let mut dirs: Vec<_> = fs::read_dir(results.join("mock")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    dirs.pop().unwrap()
}

/// (arm, repeat) → number of records; every line must parse.
fn records(dir: &Path) -> BTreeMap<(String, u64), usize> {
    let mut found = BTreeMap::new();
    for line in fs::read_to_string(dir.join("runs.jsonl")).unwrap().lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("a whole record");
        let key = (record["arm"].as_str().unwrap().to_owned(), record["repeat"].as_u64().unwrap());
        *found.entry(key).or_default() += 1;
    }
    found
}

fn wait_for_records(results: &Path, at_least: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        if let Ok(Some(dir)) = fs::read_dir(results.join("mock")).map(|mut d| d.next())
            && fs::read_to_string(dir.unwrap().path().join("runs.jsonl"))
                .is_ok_and(|text| text.lines().count() >= at_least)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no {at_least} records within 20 s");
}

const TEN: [&str; 6] = ["pass=clean", "corrupt=corrupt", "--repeats", "5", "--pause", "20"];

#[test]
fn whole_run_has_manifest_records_csv_logs_and_exit_0() {
    let tmp = tempfile::tempdir().unwrap();
    let out = output(mock_run(tmp.path(), &["pass=clean", "corrupt=corrupt", "--repeats", "2"]));
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let dir = only_run_dir(tmp.path());
    assert_eq!(records(&dir).values().copied().collect::<Vec<_>>(), [1, 1, 1, 1]);
    let csv = fs::read_to_string(dir.join("arms.csv")).unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("corrupt,2,corrupt,0,2,0,data,131072,65536"), "{csv}");
    for arm in ["pass", "corrupt"] {
        let bytes = fs::read(dir.join("logs").join(arm).join("1/stdout.gz")).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(bytes.as_slice()), &mut text)
            .unwrap();
        assert!(text.contains("phase after"), "{text}");
    }
    assert!(!dir.join("work").exists());
    let screen = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(screen.contains("CORRUPT") && screen.contains("131072 / 65536"), "{screen}");
    assert!(screen.contains("What this run establishes"), "{screen}");
}

#[test]
fn kill_9_costs_at_most_the_run_in_flight_and_resume_does_the_rest() {
    let tmp = tempfile::tempdir().unwrap();
    let mut child = mock_run(tmp.path(), &TEN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_records(tmp.path(), 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let dir = only_run_dir(tmp.path());
    let before = records(&dir);
    assert!(before.len() >= 3 && before.len() < 10, "{before:?}");

    let out = output(mock_run(tmp.path(), &[&TEN[..], &["--resume", dir.to_str().unwrap()]].concat()));
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let after = records(&dir);
    assert_eq!(after.len(), 10);
    assert!(after.values().all(|n| *n == 1), "no run twice: {after:?}");
    assert!(before.keys().all(|key| after.contains_key(key)));
}

#[test]
fn children_of_a_killed_run_die_too() {
    let tmp = tempfile::tempdir().unwrap();
    let mut child =
        mock_run(tmp.path(), &["ignore-term"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let find = || children_of(child.id());
    let until = Instant::now() + Duration::from_secs(10);
    while find().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mocks = find();
    assert_eq!(mocks.len(), 1);
    // It must be past exec, or the signal that ends it is not yet set.
    std::thread::sleep(Duration::from_millis(200));
    child.kill().unwrap();
    child.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    let dead = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |s| s.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
    };
    while !mocks.iter().all(dead) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(mocks.iter().all(dead), "{mocks:?} outlived the killed harness");
}

fn children_of(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|w| w.parse::<u32>().ok()));
    }
    found
}

#[test]
fn sigint_ends_with_130_and_is_resumable() {
    let tmp = tempfile::tempdir().unwrap();
    let args = ["pass", "hang=hang", "corrupt", "--timeout-ms", "1500"];
    let child = mock_run(tmp.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_records(tmp.path(), 1);
    std::thread::sleep(Duration::from_millis(200));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", all(&out));
    assert!(all(&out).contains("--resume"), "{}", all(&out));
    let dir = only_run_dir(tmp.path());
    assert_eq!(records(&dir).len(), 1, "the interrupted run is no record");

    let out = output(mock_run(tmp.path(), &[&args[..], &["--resume", dir.to_str().unwrap()]].concat()));
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    assert_eq!(records(&dir).len(), 3);
}

#[test]
fn a_torn_last_line_is_dropped_with_a_note_and_run_again() {
    let tmp = tempfile::tempdir().unwrap();
    output(mock_run(tmp.path(), &["pass", "corrupt"]));
    let dir = only_run_dir(tmp.path());
    let path = dir.join("runs.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "corrupt", "--resume", dir.to_str().unwrap()]));
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    assert!(all(&out).contains("are dropped"), "{}", all(&out));
    assert_eq!(records(&dir).len(), 2);
}

#[test]
fn damage_before_the_end_is_refused_with_its_place() {
    let tmp = tempfile::tempdir().unwrap();
    output(mock_run(tmp.path(), &["pass", "corrupt"]));
    let dir = only_run_dir(tmp.path());
    let path = dir.join("runs.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"arm\"", "\"a", 1)).unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "corrupt", "--resume", dir.to_str().unwrap()]));
    assert_eq!(out.status.code(), Some(40), "{}", all(&out));
    assert!(all(&out).contains("runs.jsonl:1:"), "{}", all(&out));
}

#[test]
fn resume_refuses_another_driver_and_other_arms_by_name() {
    let tmp = tempfile::tempdir().unwrap();
    output(mock_run(tmp.path(), &["pass"]));
    let dir = only_run_dir(tmp.path());
    let dir = dir.to_str().unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "--driver", "other", "--resume", dir]));
    assert_eq!(out.status.code(), Some(40), "{}", all(&out));
    let text = all(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("was mock, is other"), "{text}");
    let out = output(mock_run(tmp.path(), &["corrupt", "--resume", dir]));
    assert_eq!(out.status.code(), Some(40), "{}", all(&out));
}

#[test]
fn a_newer_format_is_refused_by_version() {
    let tmp = tempfile::tempdir().unwrap();
    output(mock_run(tmp.path(), &["pass"]));
    let dir = only_run_dir(tmp.path());
    let path = dir.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"version\": 1", "\"version\": 999", 1)).unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "--resume", dir.to_str().unwrap()]));
    assert_eq!(out.status.code(), Some(40), "{}", all(&out));
    assert!(all(&out).contains("999"), "{}", all(&out));
}

#[test]
fn two_writers_of_one_directory_are_kept_apart() {
    let tmp = tempfile::tempdir().unwrap();
    let args = ["pass", "hang", "--timeout-ms", "4000"];
    let mut first = mock_run(tmp.path(), &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_records(tmp.path(), 1);
    let dir = only_run_dir(tmp.path());
    let out = output(mock_run(tmp.path(), &[&args[..], &["--resume", dir.to_str().unwrap()]].concat()));
    assert_eq!(out.status.code(), Some(41), "{}", all(&out));
    assert!(all(&out).contains("in use"), "{}", all(&out));
    kill(Pid::from_raw(first.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

/// On a file system of 192 KiB of its own, in a mount namespace of its own.
#[test]
fn a_full_disk_ends_with_41_and_keeps_every_reported_run() {
    let tmp = tempfile::tempdir().unwrap();
    let keep = tmp.path().join("keep");
    fs::create_dir(&keep).unwrap();
    let small = tmp.path().join("small");
    fs::create_dir(&small).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=192k tmpfs {small} && {{ {TOOL} mock-run --results {small} pass --repeats 400; code=$?; \
         cp {small}/mock/*/runs.jsonl {keep}/; exit $code; }}",
        small = small.display(),
        keep = keep.display()
    );
    let out = output({
        let mut c = Command::new("unshare");
        // As an ordinary user a user namespace gives the right to mount.
        c.args(["--mount", "--map-root-user", "sh", "-c", &script]);
        c
    });
    assert_eq!(out.status.code(), Some(41), "{}", all(&out));
    let text = all(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.to_lowercase().contains("no space") && text.contains("are missing"), "{text}");
    let kept = fs::read_to_string(keep.join("runs.jsonl")).unwrap();
    assert!(kept.ends_with('\n') && !kept.is_empty());
    let lines = kept.lines().inspect(|l| drop(serde_json::from_str::<serde_json::Value>(l).unwrap())).count();
    // Every line of the screen that says a run is done stands for a record that is kept.
    let reported = text.matches("pass #").count();
    assert!(!text.contains("harness-error"), "a full disk is no result: {text}");
    assert!(lines >= reported && lines > 5, "{lines} kept, {reported} reported");
}

#[test]
fn verdicts_and_exit_codes_of_every_end() {
    let cases: [(&str, &str, i32); 12] = [
        ("pass=corrupt", "clean", 11),
        ("corrupt=clean", "corrupt", 10),
        ("wrong-before=wrong-before", "wrong-before", 0),
        ("hang=hang", "hang", 0),
        ("ignore-term=hang", "hang", 0),
        ("crash=crash", "crash", 0),
        ("device-lost=device-lost", "device-lost", 0),
        ("no-driver=clean", "untestable", 12),
        ("no-result", "harness-error", 12),
        ("garbled-result", "harness-error", 12),
        ("liar", "harness-error", 12),
        ("half-trigger", "harness-error", 12),
    ];
    for (arm, verdict, code) in cases {
        let tmp = tempfile::tempdir().unwrap();
        let out = output(mock_run(tmp.path(), &[arm, "--timeout-ms", "500"]));
        let line = fs::read_to_string(only_run_dir(tmp.path()).join("runs.jsonl")).unwrap();
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(record["verdict"], verdict, "{arm}: {line}");
        assert_eq!(out.status.code(), Some(code), "{arm}: {}", all(&out));
    }
}

#[test]
fn a_failed_build_is_recorded_for_each_of_its_arms() {
    let tmp = tempfile::tempdir().unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "corrupt", "--break-build"]));
    assert_eq!(out.status.code(), Some(21), "{}", all(&out));
    let dir = only_run_dir(tmp.path());
    assert_eq!(records(&dir).len(), 2);
    assert!(fs::read_to_string(dir.join("runs.jsonl")).unwrap().contains("asked to fail"));
}

#[test]
fn resume_makes_nothing_where_there_are_no_results() {
    let tmp = tempfile::tempdir().unwrap();
    for place in [tmp.path().to_owned(), tmp.path().join("nowhere")] {
        let out = output(mock_run(tmp.path(), &["pass", "--resume", place.to_str().unwrap()]));
        assert_eq!(out.status.code(), Some(2), "{}", all(&out));
        assert!(all(&out).contains("is no results directory"), "{}", all(&out));
    }
    assert_eq!(fs::read_dir(tmp.path()).unwrap().count(), 0);
}

#[test]
fn resume_names_the_setting_that_differs() {
    let tmp = tempfile::tempdir().unwrap();
    let out = output(mock_run(tmp.path(), &["pass", "--repeats", "2"]));
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let dir = only_run_dir(tmp.path());
    let out = output(mock_run(tmp.path(), &["pass", "--repeats", "3", "--resume", dir.to_str().unwrap()]));
    assert_eq!(out.status.code(), Some(40), "{}", all(&out));
    assert!(all(&out).contains("repeats was 2, is 3"), "{}", all(&out));
}

/// `command` with a kernel taint mask that is `mask`'s content; `None`, with the reason on stderr, where this user may not mount.
fn under_mask(mask: &Path, command: &Command) -> Option<Command> {
    let inside = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(mask);
        unshare
    };
    const MOUNT: &str = "mount --bind \"$1\" /proc/sys/kernel/tainted";
    let tried = inside(MOUNT).output();
    if !tried.as_ref().is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: no mount namespace of this user's own: {tried:?}");
        return None;
    }
    let mut inside = inside(&format!("{MOUNT} && shift && exec \"$@\""));
    inside.arg(command.get_program()).args(command.get_args()).env("COLUMNS", "120");
    Some(inside)
}

#[test]
fn a_machine_that_is_poisoned_in_the_middle_stops_the_run_and_resume_does_the_rest() {
    let tmp = tempfile::tempdir().unwrap();
    let mask = tmp.path().join("mask");
    // Set before the run began: says nothing of it.
    fs::write(&mask, "4096\n").unwrap();
    let Some(mut run) = under_mask(&mask, &mock_run(tmp.path(), &TEN)) else { return };
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_records(tmp.path(), 2);
    // A warning of the kernel.
    fs::write(&mask, "4608\n").unwrap();
    let out = child.wait_with_output().unwrap();
    let said = all(&out);
    assert_eq!(out.status.code(), Some(20), "{said}");
    assert!(
        said.contains("stopped: the kernel is tainted since ") && said.contains("(mask 4096 → 4608)"),
        "{said}"
    );
    let dir = only_run_dir(tmp.path());
    let before = records(&dir).len();
    assert!((2..10).contains(&before), "{before}");
    assert!(said.contains(&format!("--resume {}` ({} runs missing)", dir.display(), 10 - before)), "{said}");

    fs::write(&mask, "0\n").unwrap();
    let resumed = mock_run(tmp.path(), &[&TEN[..], &["--resume", dir.to_str().unwrap()]].concat());
    let out = output(under_mask(&mask, &resumed).unwrap());
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    assert!(records(&dir).len() == 10 && records(&dir).values().all(|n| *n == 1));
}

#[test]
fn a_device_that_is_lost_in_every_run_stops_the_run() {
    let tmp = tempfile::tempdir().unwrap();
    let out = output(mock_run(tmp.path(), &["device-lost", "--repeats", "9", "--jobs", "1"]));
    assert_eq!(out.status.code(), Some(20), "{}", all(&out));
    assert!(all(&out).contains("3 runs in a row ended with a reset or a lost device"), "{}", all(&out));
    assert_eq!(records(&only_run_dir(tmp.path())).len(), 3, "nothing more was run");
}
