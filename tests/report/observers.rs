//! The loader's call trace of a real run.

use crate::support::{patient, said, text, tool};

#[test]
fn the_loader_tells_its_calls_kernels_and_argument_sizes() {
    let dir = tempfile::tempdir().expect("tempdir");
    let matrix = patient();
    let traced = matrix.replace("observers = [\"neo-log\",", "observers = [\"ze-api\", \"neo-log\",");
    assert_ne!(matrix, traced);
    std::fs::write(dir.path().join("smoke.toml"), traced).expect("write");
    said(dir.path(), &["run", "smoke.toml", "--device", "sim:a770", "--arm", "over/file-r", "--plain"]);
    let results = crate::support::results_in(&dir.path().join("results"), "smoke");
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    let record: serde_json::Value = serde_json::from_str(runs.trim()).expect("one record");
    let facts = &record["facts"]["ze_api"];
    // Two checks of the kernel with private memory, before and after the copies; its arguments as the kernel's source
    // has them: a pointer, a block by value, a number.
    let kernel = facts["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .find(|k| k["name"] == "priv0")
        .expect("priv0")
        .clone();
    assert_eq!(
        (kernel["private"].as_u64(), kernel["launches"].as_u64()),
        (Some(45_568), Some(2)),
        "{kernel}"
    );
    // 21·64 + 80 (docs/matrix.md, batch_size).
    assert_eq!(kernel["set"]["1"], 1424, "{kernel}");
    assert!(facts["calls"]["zeCommandListAppendMemoryCopy"].as_u64().is_some_and(|n| n >= 12), "{facts}");
    assert!(
        facts.get("errors").is_none() && facts.get("unfinished").is_none(),
        "a silent fault returns no error: {facts}"
    );
    // The driver's own log is read as well as without the trace in it.
    assert_eq!(record["facts"]["neo"]["not_understood"], 0);
    let draft = said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "issue"]);
    assert!(draft.contains("| `zeModuleCreate` | 1 | – |") && draft.contains("1: 1424 B"), "{draft}");
}

#[test]
fn the_tracepoints_of_a_card_are_left_out_on_a_simulated_device_and_parsed_from_a_file() {
    let dir = tempfile::tempdir().expect("tempdir");
    let trace = "x-1 [003] ..... 1.000000: xe_vma_bind: dev=0000:09:00.0, vma=1, vm=2, asid=0x00012, start=0xd556aaa00000, end=0xd556b02fffff, userptr=0x000000000000\n";
    std::fs::write(dir.path().join("trace"), trace).expect("write");
    let facts: serde_json::Value = serde_json::from_str(&said(
        dir.path(),
        &["parse", "xe-trace", "trace", "--device", "0000:09:00.0", "--json"],
    ))
    .expect("JSON");
    assert_eq!(facts["ranges"][0]["size"], 93_323_264);
    let matrix = patient();
    std::fs::write(dir.path().join("m.toml"), matrix.replace("\"maps\"]", "\"maps\", \"xe-trace\"]"))
        .expect("write");
    let out = tool(dir.path(), &["plan", "m.toml", "--device", "sim:a770"]);
    assert!(text(&out.stdout).contains("observer xe-trace: only on a card"), "{}", text(&out.stdout));
}
