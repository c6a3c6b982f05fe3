//! The loader's call trace of a real run.

use crate::support::{patient, results_in, said, text, tool};

#[test]
fn the_loader_tells_its_calls_kernels_and_argument_sizes() {
    let dir = tempfile::tempdir().expect("tempdir");
    let matrix = patient();
    let traced = matrix.replace("observers = [\"neo-log\",", "observers = [\"ze-api\", \"neo-log\",");
    assert_ne!(matrix, traced);
    std::fs::write(dir.path().join("smoke.toml"), traced).expect("write");
    // The corrupt arm, and the clean one that is given the same module.
    let table = said(
        dir.path(),
        &["run", "smoke.toml", "--device", "sim:a770", "--arm", "over/*", "--plain", "--jobs", "1"],
    );
    let results = crate::support::results_in(&dir.path().join("results"), "smoke");
    let runs = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    let records: Vec<serde_json::Value> =
        runs.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let record = records.iter().find(|r| r["arm"] == "over/file-r").expect("the corrupt arm");
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
    // What the reproducer is known to set: its block by value, and the number of words of one input, 65,536.
    let value = |index: &str| {
        let values = kernel["values"][index].as_array().expect("values").clone();
        assert_eq!((values.len(), values[0]["times"].as_u64()), (1, Some(1)), "{kernel}");
        values[0].clone()
    };
    // printf '\0\0\1\0' | sha256sum
    assert_eq!(
        value("2"),
        serde_json::json!({"size": 4, "sha256": "6b1e73a0094b7b81", "first": "00000100", "times": 1})
    );
    let block = value("1");
    assert_eq!(block["first"].as_str().map(str::len), Some(128), "the first 64 bytes: {block}");
    // It begins with the addresses of the two inputs, which the control kernel is given one by one.
    let control = facts["kernels"].as_array().expect("kernels").iter().find(|k| k["name"] == "nopriv");
    let control = control.expect("the control kernel");
    let address = |index: &str| control["values"][index][0]["first"].as_str().expect("an address").to_owned();
    assert!(block["first"].as_str().expect("hex").starts_with(&(address("1") + &address("2"))), "{facts}");
    // The corrupt run and the clean one were given the same bytes: the fault is not in what the kernel was told.
    assert!(table.contains("same bytes in all runs, corrupt and clean ones"), "{table}");
    assert!(facts["calls"]["zeCommandListAppendMemoryCopy"].as_u64().is_some_and(|n| n >= 12), "{facts}");
    assert!(
        facts.get("errors").is_none() && facts.get("unfinished").is_none(),
        "a silent fault returns no error: {facts}"
    );
    // The driver's own log is read as well as without the trace in it.
    assert_eq!(record["facts"]["neo"]["not_understood"], 0);
    let draft = said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", "issue"]);
    assert!(draft.contains("| `zeModuleCreate` | 1 | – |") && draft.contains("1: 1424 B sha256 "), "{draft}");
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
    // What the screen says once stays with the results, and is in every report of them.
    said(dir.path(), &["run", "m.toml", "--arm", "under/file-r", "--device", "sim:a770", "--plain"]);
    let results = results_in(&dir.path().join("results"), "smoke");
    let says = "observer xe-trace: only on a card";
    for format in ["md", "html", "junit", "json", "csv"] {
        let report = said(dir.path(), &["report", results.to_str().expect("UTF-8"), "--format", format]);
        assert!(report.contains(says), "{format}:\n{report}");
    }
    let record = std::fs::read_to_string(results.join("runs.jsonl")).expect("runs");
    assert!(record.contains(says), "{record}");
    let manifest = std::fs::read_to_string(results.join("manifest.json")).expect("manifest");
    let manifest: serde_json::Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["arms"][0]["not_observed"][0]["observer"], "xe-trace");
}
