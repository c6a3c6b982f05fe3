//! The log corpus: each `corpus/NNN-name.log` with the facts that a reader of its header and body expects, written by
//! hand beside it. `CORPUS_DIFF=1` prints what the parser makes of each file that differs; nothing writes an
//! expectation.

mod hostile;
mod round_trip;
mod verb;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use repro_matrix::logs::kmsg::{self, Span};
use repro_matrix::logs::neo::{self, Stream};
use repro_matrix::logs::{runtime, strace};
use repro_matrix::observe::neo_log::{self, Timed};
use serde_json::{Value, json};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The log without the corpus' own lines: the header and annotations.
fn body(path: &Path) -> Vec<u8> {
    let raw = fs::read(path).unwrap();
    assert!(raw.starts_with(b"# source: "), "{} has no header", path.display());
    let lines = raw.split_inclusive(|&b| b == b'\n');
    lines
        .filter(|l| !l.starts_with(b"# source: ") && !l.starts_with(b"# harness: "))
        .flatten()
        .copied()
        .collect()
}

/// "0x…" in an expectation is that number: nobody should convert addresses by hand.
fn numbers(value: Value) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16)) {
            Some(Ok(number)) => json!(number),
            _ => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, numbers(v))).collect(),
        other => other,
    }
}

fn facts(parser: &str, options: &Value, log: &[u8]) -> Value {
    let value = match parser {
        "neo" => serde_json::to_value(neo::parse(log, Stream::Mixed)),
        "strace" => serde_json::to_value(strace::parse(log)),
        "runtime" => serde_json::to_value(runtime::parse(log)),
        "kmsg" => {
            let monotonic = options["until_ns"].as_u64().map(|until| Span { from: 0, until });
            serde_json::to_value(kmsg::parse(log, &kmsg::Options { monotonic, ..Default::default() }))
        }
        other => panic!("no parser {other:?}"),
    };
    value.unwrap()
}

#[test]
fn every_case_gives_the_facts_written_beside_it() {
    let mut logs: Vec<_> = fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.extension().is_some_and(|e| e == "log"));
    logs.sort();
    assert!(logs.len() >= 50, "the corpus is there");
    let mut report = String::new();
    for path in &logs {
        let name = path.file_stem().unwrap().to_string_lossy();
        let expectation = fs::read(path.with_extension("json"))
            .unwrap_or_else(|error| panic!("{name} has no expectation: {error}"));
        let expectation: Value =
            serde_json::from_slice(&expectation).unwrap_or_else(|e| panic!("{name}: {e}"));
        let parser = expectation["parser"].as_str().unwrap();
        let expected = numbers(expectation["facts"].clone());
        let got = facts(parser, &expectation["options"], &body(path));
        differences(&name, "", &expected, &got, &mut report);
        if got != expected && std::env::var_os("CORPUS_DIFF").is_some() {
            println!("{name}: {}", serde_json::to_string_pretty(&got).unwrap());
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// One line for each place where two values differ.
fn differences(name: &str, at: &str, expected: &Value, got: &Value, report: &mut String) {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let null = Value::Null;
                let (a, b) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                differences(name, &format!("{at}/{key}"), a, b, report);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differences(name, &format!("{at}/{i}"), a, b, report);
            }
        }
        (a, b) if a != b => _ = writeln!(report, "{name} {at}: expected {a}, got {b}"),
        _ => {}
    }
}

/// A copy of the corpus cut anywhere, or with one byte changed, is still read to its end.
#[test]
fn damaged_logs_are_read_to_their_end() {
    for entry in fs::read_dir(corpus()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "log") {
            continue;
        }
        let log = body(&path);
        let all = |log: &[u8]| {
            let neo = neo::parse(log, Stream::Mixed);
            _ = (strace::parse(log), runtime::parse(log), kmsg::parse(log, &kmsg::Options::default()));
            neo.lines
        };
        for at in (0..log.len()).step_by(7) {
            let lines = log[..at].split_inclusive(|&b| b == b'\n').count() as u64;
            assert_eq!(all(&log[..at]), lines, "{} cut at {at}", path.display());
            let mut changed = log.clone();
            changed[at] ^= 0x80 | (at as u8 & 0x1f);
            all(&changed);
        }
    }
}

/// The two streams of case 002, as the pipes deliver them: failures are on stderr.
#[test]
fn the_streams_of_a_run_are_laid_together() {
    let log = body(&corpus().join("002-neo-bind-private-surface-never-rebound.log"));
    let failed = |l: &&[u8]| memchr::memmem::find(l, b"errno").is_some();
    let stderr: Vec<u8> = log.split_inclusive(|&b| b == b'\n').filter(failed).flatten().copied().collect();
    let stdout: Vec<u8> =
        log.split_inclusive(|&b| b == b'\n').filter(|l| !failed(l)).flatten().copied().collect();
    let timed = |bytes| Timed { bytes, marks: &[] };
    let split = neo_log::facts(timed(&stdout), timed(&stderr));
    let mixed = neo::parse(&log, Stream::Mixed);
    let sorted = |facts: &repro_matrix::model::facts::NeoFacts| {
        let mut ranges = facts.ranges.clone();
        ranges.sort_by_key(|r| (r.vm, r.start, r.size));
        ranges
    };
    assert_eq!(sorted(&split), sorted(&mixed), "no range has events on both streams here");
    assert_eq!((split.bind_failures, split.lines), (mixed.bind_failures, mixed.lines));
}
