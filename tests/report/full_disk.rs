//! A real run on a file system too small for it: no run without its evidence becomes a result.

use std::path::Path;
use std::process::Command;

use crate::support::{TOOL, patient, text};

/// Runs one arm with its results on a file system of `kib` KiB, in a mount namespace of its own. What the tool said, and
/// the records that were there at the end.
fn run_on(dir: &Path, kib: u32) -> (Option<i32>, String, String) {
    let (small, kept) = (dir.join(format!("small-{kib}")), dir.join(format!("kept-{kib}")));
    for place in [&small, &kept] {
        std::fs::create_dir(place).expect("directory");
    }
    let script = format!(
        "mount -t tmpfs -o size={kib}k tmpfs {small} || exit 99
         {TOOL} run smoke.toml --arm over/anon-rw --device sim:a770 --plain --results {small}; code=$?
         cat {small}/smoke/*/runs.jsonl >{kept}/runs.jsonl 2>&-; exit $code",
        small = small.display(),
        kept = kept.display(),
    );
    // As an ordinary user a user namespace gives the right to mount.
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(dir);
    let out = command.output().expect("unshare");
    let records = std::fs::read_to_string(kept.join("runs.jsonl")).expect("records");
    (out.status.code(), text(&out.stdout) + &text(&out.stderr), records)
}

#[test]
fn a_run_whose_device_or_evidence_has_no_room_is_not_recorded() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(dir.path().join("smoke.toml"), patient()).expect("matrix");
    // Room for the manifest and little more: at 64 and 128 KiB the device's trace cannot be begun, at 256 not ended.
    for kib in [64, 128, 256] {
        let (code, told, records) = run_on(dir.path(), kib);
        assert_eq!(code, Some(41), "{kib} KiB: {told}");
        assert!(told.to_lowercase().contains("no space"), "{kib} KiB: {told}");
        assert!(told.contains("0 runs are recorded") && told.contains("1 are missing"), "{kib} KiB: {told}");
        assert_eq!(records, "", "{kib} KiB: a full disk is no result");
    }
    let (code, told, records) = run_on(dir.path(), 4096);
    assert_eq!((code, records.lines().count()), (Some(0), 1), "where there is room, it runs: {told}");
}

#[test]
fn a_run_whose_source_had_no_room_is_not_recorded_and_resume_does_it() {
    let dir = tempfile::tempdir().expect("tempdir");
    std::fs::write(dir.path().join("smoke.toml"), patient()).expect("matrix");
    let results = dir.path().join("results");
    std::fs::create_dir(&results).expect("directory");
    // The arm maps a file of 32 MiB, made beside the results.
    let run = format!("{TOOL} run smoke.toml --arm over/file-r --device sim:a770 --plain");
    let script = format!(
        "mount -t tmpfs -o size=8m tmpfs {results} || exit 99
         {run} --results {results} 1>&2; echo $?
         wc -l <$(echo {results}/smoke/*)/runs.jsonl
         mount -o remount,size=256m {results} || exit 99
         {run} --resume {results}/smoke/* 1>&2; echo $?
         wc -l <$(echo {results}/smoke/*)/runs.jsonl",
        results = results.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(dir.path());
    let out = command.output().expect("unshare");
    let told = text(&out.stderr);
    assert_eq!(text(&out.stdout).split_whitespace().collect::<Vec<_>>(), ["41", "0", "0", "1"], "{told}");
    assert!(told.contains("the source file could not be made: No space left on device"), "{told}");
}

#[test]
fn what_could_not_be_shown_is_no_success() {
    let dir = tempfile::tempdir().expect("tempdir");
    let end = |args: &[&str], to: std::process::Stdio| {
        let out =
            Command::new(TOOL).args(args).current_dir(dir.path()).stdout(to).output().expect("the tool");
        (out.status.code(), text(&out.stderr))
    };
    let full = || std::fs::File::create("/dev/full").expect("/dev/full").into();
    let run = |arm| ["mock-run", arm, "--results", "results"];
    let search = ["bisect", "calibrate", "--releases", "2", "--histories", "1"];
    for args in [&run("pass=clean")[..], &search] {
        let (code, told) = end(args, full());
        assert!(code == Some(41) && told.contains("the output is not complete"), "{code:?} {told}");
        // `| true`
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(end(args, writer.into()).0, Some(0), "{args:?}");
    }
    assert_eq!(end(&run("pass=corrupt"), full()).0, Some(11), "what the run came to says more");
}
