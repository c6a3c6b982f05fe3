//! Every class of arm on the real driver and the simulated A770: relations between what is varied and what is seen.
//!
//! One run of `tests/data/classes.toml`; each test looks at another part of its results, as an outside reader would
//! (JSON lines), and states no address, size or count of one driver version.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

struct Ran {
    stdout: String,
    exit: Option<i32>,
    records: BTreeMap<String, Value>,
}

fn ran() -> &'static Ran {
    static RAN: OnceLock<Ran> = OnceLock::new();
    RAN.get_or_init(|| {
        // In the build directory: the system's temporary directory may be a tmpfs, whose pages cannot be dropped.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
            .args(["run", "tests/data/classes.toml", "--plain", "--device", "sim:a770", "--results"])
            .arg(dir.path())
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let runs = find(dir.path().join("classes"))
            .unwrap_or_else(|| panic!("no results:\n{stdout}\n{}", String::from_utf8_lossy(&output.stderr)));
        let text = std::fs::read_to_string(runs.join("runs.jsonl")).unwrap();
        let records = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|record| (record["arm"].as_str().unwrap().to_owned(), record))
            .collect();
        Ran { stdout, exit: output.status.code(), records }
    })
}

fn find(matrix: PathBuf) -> Option<PathBuf> {
    std::fs::read_dir(matrix).ok()?.flatten().map(|entry| entry.path()).find(|path| path.is_dir())
}

fn record(arm: &str) -> &'static Value {
    ran().records.get(arm).unwrap_or_else(|| panic!("no run of {arm}: {:?}", ran().records.keys()))
}

fn verdict(arm: &str) -> &'static str {
    record(arm)["verdict"].as_str().unwrap()
}

/// Why, for the message of a failed assertion.
fn why(arm: &str) -> String {
    let record = record(arm);
    format!("{arm}: {} {} {}", record["verdict"], record["reason"], record["evidence"])
}

fn per_dispatch(arm: &str) -> bool {
    let lines = record(arm)["facts"]["neo"]["per_dispatch"].as_array().unwrap();
    lines.iter().any(|line| line["flag"] == true)
}

fn eperm(arm: &str) -> u64 {
    let failed = record(arm)["facts"]["sim"]["summary"]["failed"].as_object().unwrap();
    failed.iter().filter(|(name, _)| name.ends_with("EPERM")).map(|(_, n)| n.as_u64().unwrap()).sum()
}

const READ_ONLY: [&str; 5] = ["file-r", "anon-r", "shared-r", "tmpfs-r", "cold-r"];
const WRITABLE: [&str; 4] = ["file-rw", "anon-rw", "shared-rw", "malloc"];

#[test]
fn over_threshold_and_read_only_source_are_both_needed() {
    for source in READ_ONLY {
        let (over, under) = (format!("over/{source}"), format!("under/{source}"));
        assert_eq!(verdict(&over), "corrupt", "{}", why(&over));
        assert_eq!(verdict(&under), "clean", "{}", why(&under));
        assert!(per_dispatch(&over) && !per_dispatch(&under));
        assert!(eperm(&over) > 0 && eperm(&under) > 0, "the failed binds alone are harmless");
    }
    for source in WRITABLE {
        for variant in ["over", "under"] {
            let arm = format!("{variant}/{source}");
            assert_eq!(verdict(&arm), "clean", "{}", why(&arm));
            assert_eq!(eperm(&arm), 0, "{arm}");
        }
    }
}

#[test]
fn corrupt_arms_lose_the_private_surface_and_clean_ones_bind_it_again() {
    for (arm, record) in &ran().records {
        let hazards = record["facts"]["sim"]["hazards"].as_array().unwrap();
        let lost = hazards.iter().any(|hazard| hazard["role"] == "private surface");
        match record["verdict"].as_str().unwrap() {
            // Under this key the sweep takes more than the private surface, and sooner.
            "corrupt" if arm.ends_with("resident1") => assert!(!hazards.is_empty(), "{}", why(arm)),
            "corrupt" => assert!(lost, "{}", why(arm)),
            "clean" => assert!(hazards.is_empty(), "{}", why(arm)),
            _ => {}
        }
        // Two witnesses, the residency oracle and the executed kernels, and they agree.
        if ["corrupt", "clean", "wrong-before"].contains(&record["verdict"].as_str().unwrap()) {
            assert_eq!(record["basis"], "both", "{}", why(arm));
        }
        assert_eq!(record["disagreements"], Value::Array(Vec::new()), "{arm}");
    }
}

/// (elements, wrong, untouched) of the private kernels, added up over the checks `before` or after the copies. The control
/// kernel, which has no private memory, must be right in all of them.
fn counts(arm: &str, before: bool) -> (u64, u64, u64) {
    let checks = record(arm)["repro"]["checks"].as_array().unwrap();
    let of = |check: &Value, name: &str| check[name].as_u64().unwrap();
    let mine: Vec<_> = checks.iter().filter(|c| (c["phase"] == "before") == before).collect();
    assert!(!mine.is_empty(), "{arm}: {checks:?}");
    for check in &mine {
        let control = (of(check, "control_wrong"), of(check, "control_untouched"));
        assert!(of(check, "control_total") > 0 && control == (0, 0), "{arm}: {check}");
    }
    let sum = |name: &str| mine.iter().map(|c| of(c, name)).sum();
    (sum("total"), sum("wrong"), sum("untouched"))
}

#[test]
fn elements_are_as_the_report_counted_them_by_execution() {
    for (arm, record) in &ran().records {
        match record["verdict"].as_str().unwrap() {
            // What else was unbound there is another matter.
            "corrupt" if arm.ends_with("resident1") => {}
            "corrupt" => {
                let (_, wrong, untouched) = counts(arm, true);
                assert_eq!((wrong, untouched), (0, 0), "{}", why(arm));
                let (total, wrong, untouched) = counts(arm, false);
                assert_eq!((wrong, 2 * untouched), (total, total), "all wrong, half untouched: {}", why(arm));
            }
            "clean" => {
                for before in [true, false] {
                    let (total, wrong, untouched) = counts(arm, before);
                    assert!(total > 0 && (wrong, untouched) == (0, 0), "{}", why(arm));
                }
            }
            "wrong-before" => {
                let (total, wrong, untouched) = counts(arm, true);
                assert_eq!((2 * wrong, 4 * untouched), (total, total), "half, and half of it: {}", why(arm));
            }
            _ => {}
        }
    }
}

#[test]
fn keys_act_as_the_report_says() {
    assert_eq!(verdict("over/file-r/resident2"), "clean", "{}", why("over/file-r/resident2"));
    // It hangs with the report's 942 copies; after twelve it may get to its end, with much unbound.
    assert!(
        ["hang", "corrupt"].contains(&verdict("over/file-r/resident1")),
        "{}",
        why("over/file-r/resident1")
    );
    assert_eq!(verdict("under/file-r/units8192"), "corrupt", "{}", why("under/file-r/units8192"));
    assert!(per_dispatch("under/file-r/units8192"));
    assert_eq!(verdict("over/file-r/units2048"), "wrong-before", "{}", why("over/file-r/units2048"));
    assert_eq!(verdict("over/file-r/no-scratch"), "corrupt", "{}", why("over/file-r/no-scratch"));
    assert_eq!(verdict("over/file-r/no-direct"), "corrupt", "{}", why("over/file-r/no-direct"));
}

#[test]
fn key_that_the_driver_does_not_echo_is_never_silently_kept() {
    assert_eq!(verdict("over/file-r/misspelt"), "untestable", "{}", why("over/file-r/misspelt"));
    assert_eq!(verdict("over/file-r/unknown"), "corrupt", "{}", why("over/file-r/unknown"));
}

#[test]
fn workloads_act_as_the_report_says() {
    for arm in ["over/file-r/own-allocs", "over/file-r/guard", "over/file-r/ballast"] {
        assert_eq!(verdict(arm), "corrupt", "{}", why(arm));
    }
    for arm in ["over/none/no-copy", "over/none/skip-upload", "over/file-r/regular", "few/file-r"] {
        assert_eq!(verdict(arm), "clean", "{}", why(arm));
    }
    assert_eq!(record("few/file-r")["repro"]["modules"], 3, "one module a kernel: two and the control");
    assert!(
        ["corrupt", "clean"].contains(&verdict("over/file-r/copy-engine")),
        "{}",
        why("over/file-r/copy-engine")
    );
}

#[test]
fn strace_sees_what_the_simulated_kernel_sees() {
    let record = record("strace/over/file-r");
    assert_eq!(record["verdict"], "corrupt", "{}", why("strace/over/file-r"));
    let facts = &record["facts"];
    let by_strace = &facts["strace"]["ioctls"]["XE_VM_BIND"];
    assert_eq!(by_strace["errors"]["EPERM"], eperm("strace/over/file-r"), "{by_strace}");
    assert_eq!(by_strace["calls"], facts["sim"]["summary"]["ioctls"]["XE_VM_BIND"]);
    assert_eq!(record["disagreements"], Value::Array(Vec::new()));
}

#[test]
fn every_verdict_names_its_driver_and_is_evidence_based() {
    for (arm, record) in &ran().records {
        assert_eq!(record["device"], "sim:a770");
        let instruments: Vec<&str> =
            record["evidence"].as_array().unwrap().iter().filter_map(|e| e["instrument"].as_str()).collect();
        for needed in ["maps", "sim"] {
            assert!(instruments.contains(&needed), "{arm}: {instruments:?}");
        }
        assert_ne!(record["verdict"], "harness-error", "{}", why(arm));
    }
}

#[test]
fn screen_says_what_was_established() {
    let ran = ran();
    for text in ["Threshold:", "Decides:", "Cause:", "Instruments:", "Not shown: silicon"] {
        assert!(ran.stdout.contains(text), "{text} in\n{}", ran.stdout);
    }
    // Which instruments were compared on what, not that they agree in general.
    let told = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "data and sim on the verdict",
        "sim, strace and neo-log on binds that failed with EPERM (at most as many in neo-log) agree in 1 run",
        "sim and neo-log on the life of the private surface agree in",
    ] {
        assert!(told.contains(text), "{text} in\n{}", ran.stdout);
    }
    // The misspelt key has no verdict: that is not a pass.
    assert_eq!(ran.exit, Some(12), "{}", ran.stdout);
}

#[test]
fn a_cold_file_was_seen_cold_beside_runs_with_warm_ones() {
    for arm in ["over/cold-r", "under/cold-r"] {
        let cache = &record(arm)["repro"]["page_cache"];
        assert!(cache["pages"].as_u64().is_some_and(|pages| pages > 0), "{cache}");
        assert_eq!(cache["resident"], 0, "{}", why(arm));
        assert!(why(arm).contains("from a cold page cache"), "{}", why(arm));
    }
    let warm = &record("over/file-r")["repro"]["page_cache"];
    assert_eq!(warm["resident"], warm["pages"], "{warm}");
}
