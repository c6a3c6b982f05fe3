//! A model that is slower than silicon must not pass for a device that hangs.

use crate::support::{patient, results_in, text, tool};

/// The record of a run on so many elements that the model needs tens of seconds for them, ended after `seconds`.
fn ended_after(seconds: u32) -> serde_json::Value {
    let dir = tempfile::tempdir().expect("tempdir");
    let long = format!(
        "\n[workloads.long]\nelements = 16777216\ncopies = 1\n[[arm]]\nvariant = \"under\"\nsource = \"anon-rw\"\nworkload = \"long\"\n\
         timeout = \"{seconds}s\"\n"
    );
    std::fs::write(dir.path().join("smoke.toml"), patient() + &long).expect("matrix");
    let arm = "under/anon-rw/long";
    let out = tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", arm, "--plain"]);
    let results = results_in(&dir.path().join("results"), "smoke");
    let record = std::fs::read_to_string(results.join("runs.jsonl")).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    if record["verdict"] == "harness-error" {
        assert_eq!(out.status.code(), Some(12), "{}{}", text(&out.stdout), text(&out.stderr));
    }
    record
}

#[test]
fn a_run_that_ended_while_its_kernel_was_executed_did_not_hang() {
    // On a loaded machine the program may not have come to its kernel by then: it has more time in the next run.
    let mut records = [6, 12, 24, 48].into_iter().map(ended_after);
    let record =
        records.find(|record| record["verdict"] != "hang").expect("the model was at work in one of them");
    assert_eq!(record["verdict"], "harness-error", "{record}");
    let reason = record["reason"].as_str().expect("a reason");
    assert!(reason.contains("the run was ended while the kernel at 0x"), "{reason}");
    // The signal that ended the run was passed on, and the trace has its end.
    assert_eq!(record["facts"]["sim"]["complete"], true, "{record}");
}
