//! `repro-matrix parse`: what it says of logs that are not what they were said to be.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn parse(args: &[&str], log: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .arg("parse")
        .args(args)
        .args(["-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(log.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn foreign(output: &Output) -> u64 {
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["foreign_lines"].as_u64().unwrap()
}

/// One line of each log, as in the corpus.
const LINES: [(&str, &str); 6] = [
    ("neo", "bind BO-1 to VM 1, range: 0xffff800000000000 - 0xffff800000010000, size: 65536, result: 0"),
    ("strace", "ioctl(3, DRM_IOCTL_GEM_CLOSE, 0x7ffc) = 0"),
    ("kmsg", "[    1.000000] usb 1-1: new high-speed USB device"),
    ("runtime", "Native API failed. Native API returns: 20 (UR_RESULT_ERROR_DEVICE_LOST)"),
    ("ze-api", "[2026-11-29 20:18:28.351] [thread-id: 1398] [trace] zeInit(flags)"),
    (
        "xe-trace",
        "x-1 [003] ..... 1.000000: xe_bo_move: dev=0000:09:00.0, move_lacks_source:no, migrate object 0000000012345678 [size 4096] from system to vram0 device_id:0000:09:00.0",
    ),
];

#[test]
fn a_log_of_something_else_is_no_success_and_foreign_lines_are_counted() {
    for (format, line) in LINES {
        let junk = parse(&[format], "hello\n\nthis is\nnothing\n");
        assert_eq!((junk.status.code(), foreign(&junk)), (Some(40), 3), "{format}");
        let said = String::from_utf8_lossy(&junk.stderr).into_owned();
        assert!(said.contains("nothing was recognised: none of its 3 lines"), "{format}: {said}");
        // The line that it shows is one that it reads.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, shown) = said.split_once("looks like this: ").expect("a line of such a log");
        assert_eq!(parse(&[format], &format!("{shown}\n")).status.code(), Some(0), "{format}: {shown}");
        let mixed = parse(&[format], &format!("hello\n\n{line}\nnothing\n"));
        assert_eq!(mixed.status.code(), Some(0), "{format}: {mixed:?}");
        // Of what programs print, only messages are looked for.
        if format != "runtime" {
            assert_eq!(foreign(&mixed), 2, "{format}: {mixed:?}");
        }
        // An empty log is one in which nothing happened, or none: it is no failure, and said.
        let empty = parse(&[format], "\n");
        let said = String::from_utf8_lossy(&empty.stderr).into_owned();
        assert!(empty.status.code() == Some(0) && said.contains("has no line"), "{format}: {empty:?}");
    }
}

/// What each format lets pass in a log of its own is nothing by itself.
#[test]
fn lines_that_only_surround_those_of_a_log_are_no_log() {
    let long = "a".repeat(3 << 20);
    for (format, junk) in
        [("strace", "> nowhere\nhello\n"), ("xe-trace", "# a note\nhello\n"), ("xe-trace", &long)]
    {
        let output = parse(&[format], junk);
        assert_eq!(output.status.code(), Some(40), "{format}");
        assert_eq!(foreign(&output), junk.lines().count() as u64, "{format}");
    }
}

#[test]
fn a_window_that_holds_nothing_is_refused() {
    for (from, until, code) in [("5", "4", 2), ("5", "5", 2), ("4.9", "5", 0)] {
        let output = parse(&["kmsg", "--from", from, "--until", until], "");
        assert_eq!(output.status.code(), Some(code), "{from} {until}");
    }
}
