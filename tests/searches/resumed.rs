//! Every search is killed in the middle, goes on from its record, and says how much is left.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::standin::{Kind, Lab};
use crate::{all, only, runs};

/// Starts `verb`, kills it at its second record, resumes it: ends with `code`, runs nothing twice, and has said `left`.
fn killed_and_resumed(verb: &str, args: &[&str], code: i32, left: &str) {
    let lab = Lab::new();
    let results = lab.path().join("results");
    let command = |more: &[&str]| {
        let mut command = lab.tool();
        command.arg(verb).arg("matrices/smoke.toml").args(args).args(more);
        // No kernel is executed: what is tested is the search.
        command.args([
            "--device",
            "sim:a770-residency",
            "--timeout",
            "2m",
            "--plain",
            "--jobs",
            "1",
            "--results",
        ]);
        command.arg(&results);
        command
    };
    let mut child =
        command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the tool starts");
    let root = results.join(format!("smoke-{verb}"));
    let started = Instant::now();
    loop {
        let recorded = std::fs::read_dir(&root).ok().and_then(|mut dirs| dirs.next()).is_some_and(|dir| {
            let text = std::fs::read_to_string(dir.unwrap().path().join("runs.jsonl")).unwrap_or_default();
            text.lines().count() >= 2
        });
        if recorded {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "{verb} ended before its second run was seen");
        assert!(started.elapsed() < Duration::from_secs(300), "{verb} has no second run");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("kill -9");
    child.wait().expect("the tool ends");
    let dir = only(&results, verb);
    let before = runs(&dir);
    let resumed = command(&["--resume", dir.to_str().unwrap()]).output().expect("the tool starts");
    let said = all(&resumed);
    assert_eq!(resumed.status.code(), Some(code), "{verb}\n{said}");
    assert!(said.contains("runs are recorded and count"), "{verb}\n{said}");
    assert!(said.contains(left), "{verb}: no \"{left}\" in\n{said}");
    let text = std::fs::read_to_string(dir.join("runs.jsonl")).unwrap();
    let mut ran: Vec<(String, u64)> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a whole line"))
        .map(|record| (record["arm"].as_str().unwrap().to_owned(), record["repeat"].as_u64().unwrap()))
        .collect();
    let all = ran.len();
    assert!(all > before, "{verb}: {before} of {all} runs when it was killed");
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), all, "{verb}: a run was made twice");
    // Once more, with nothing left to do: the same end without a run.
    let again = command(&["--resume", dir.to_str().unwrap()]).output().expect("the tool starts");
    assert_eq!(again.status.code(), Some(code), "{verb}\n{}", crate::all(&again));
    assert_eq!(runs(&dir), all, "{verb}");
}

#[test]
fn bisect() {
    killed_and_resumed(
        "bisect",
        &["--arm", "over/file-r", "--values", "kernels=85..89", "--rate", "100"],
        0,
        "; about 1 more (",
    );
}

#[test]
fn threshold() {
    killed_and_resumed(
        "threshold",
        &["--arm", "over/file-r", "--variant", "kernels=85..90"],
        0,
        "; about 1 more, ",
    );
}

#[test]
fn reduce() {
    let args = ["--arm", "over/file-r", "--runs", "1", "--measure", "3", "--keep", "kernels,chunk,elements"];
    killed_and_resumed("reduce", &args, 0, "more in this pass");
}

#[test]
fn keys() {
    let args = ["--arm", "over/file-r", "--keys", "MakeEachAllocationResident=2,EnableBOMmapCreate=0"];
    killed_and_resumed("keys", &args, 0, "keys     1/2: MakeEachAllocationResident=2 is settled; about ");
}

#[test]
fn compare() {
    killed_and_resumed(
        "compare",
        &["over/file-r", "under/file-r", "--runs", "5"],
        10,
        "pairs    5/5; about ",
    );
}

#[test]
fn faults() {
    let args = ["--arm", "over/anon-rw", "--points", "vm_create,queue_create", "--errnos", "ENOMEM"];
    killed_and_resumed("faults", &args, 10, " left");
}

#[test]
fn verdict() {
    let args = ["--arm", "under/file-r", "--rate", "70"];
    killed_and_resumed("verdict", &args, 0, "4 clean ones are enough");
}

/// Two searches in a row, each with a directory of its own: either is taken up where it stopped.
#[test]
fn components() {
    let lab = Lab::new();
    for (name, kind) in [("old", Kind::Cured), ("mid", Kind::Stock), ("new", Kind::Stock)] {
        lab.add(name, kind);
    }
    let results = lab.path().join("results");
    let search = |more: &[&str]| {
        let mut command = lab.tool();
        command.args(["bisect", "matrices/smoke.toml", "--arm", "over/file-r", "--drivers", "old,mid,new"]);
        command.args(["--components", "--rate", "100", "--device", "sim:a770-residency", "--timeout", "2m"]);
        command.args(["--plain", "--jobs", "1", "--results"]).arg(&results);
        command.args(more).output().expect("the tool starts")
    };
    let out = search(&["--max-runs", "1"]);
    assert_eq!(out.status.code(), Some(12), "{}", all(&out));
    let first = only(&results, "components").display().to_string();
    // The budget is that of each of the two searches.
    let out = search(&["--resume", &first, "--max-runs", "1"]);
    assert_eq!(out.status.code(), Some(12), "{}", all(&out));
    assert!(all(&out).contains("what matters: NEO of new"), "{}", all(&out));
    let second = only(&results, "bisect").display().to_string();
    let out = search(&["--resume", &second]);
    let said = all(&out);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(
        said.contains("runs are recorded and count") && said.contains("first bad   NEO of mid"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(results.join("smoke-bisect")).unwrap().count(), 1, "no search began anew");
}
