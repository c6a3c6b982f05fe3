//! A model that is slower than silicon must not pass for a device that hangs.

use crate::support::{patient, results_in, text, tool};

#[test]
fn a_run_that_ended_while_its_kernel_was_executed_did_not_hang() {
    let dir = tempfile::tempdir().expect("tempdir");
    // Sixty-four times the usual elements: a minute of the model's time, and the arm has seconds.
    let long = "\n[workloads.long]\nelements = 8388608\ncopies = 1\n[[arm]]\nvariant = \"under\"\nsource = \"anon-rw\"\nworkload = \"long\"\ntimeout = \"10s\"\n";
    std::fs::write(dir.path().join("smoke.toml"), patient() + long).expect("matrix");
    let arm = "under/anon-rw/long";
    let out = tool(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", arm, "--plain"]);
    assert_eq!(out.status.code(), Some(12), "{}{}", text(&out.stdout), text(&out.stderr));
    let results = results_in(&dir.path().join("results"), "smoke");
    let record = std::fs::read_to_string(results.join("runs.jsonl")).expect("a record");
    let record: serde_json::Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(record["verdict"], "harness-error", "{record}");
    let reason = record["reason"].as_str().expect("a reason");
    assert!(reason.contains("the run was ended while the kernel at 0x"), "{reason}");
    // The signal that ended the run was passed on, and the trace has its end.
    assert_eq!(record["facts"]["sim"]["complete"], true, "{record}");
}
