//! Shards of a real run, merged, against the whole.

use std::path::{Path, PathBuf};

use crate::support::{patient, said, smoke, text, tool};

fn shards(dir: &Path, of: u32) -> Vec<PathBuf> {
    // A comparison stays on one machine: without it, the arms are cut apart.
    let alone = patient().replace("comparison = \"smoke\"\n", "");
    std::fs::write(dir.join("smoke.toml"), alone).expect("matrix");
    let matrix = "smoke.toml";
    let mut found = Vec::new();
    for index in 1..=of {
        let results = format!("shard-{index}");
        let shard = format!("{index}/{of}");
        let args =
            ["run", matrix, "--device", "sim:a770", "--shard", &shard, "--plain", "--results", &results];
        let out = tool(dir, &args);
        match out.status.code() {
            Some(0) => found.push(crate::support::results_in(&dir.join(&results), "smoke")),
            // A shard may hold nothing: it says so.
            Some(4) => assert!(
                text(&out.stderr).contains(&format!("shard {shard} has none")),
                "{}",
                text(&out.stderr)
            ),
            other => panic!("{other:?}: {}", text(&out.stderr)),
        }
    }
    found
}

#[test]
fn shards_merge_to_the_whole_in_any_order() {
    let dir = tempfile::tempdir().expect("tempdir");
    // By the hashes of the arms' names each has a shard of its own, and two are empty.
    let parts = shards(dir.path(), 5);
    assert_eq!(parts.len(), 3);
    let path = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    let merge = |parts: Vec<String>, to: &str| {
        let mut args = vec!["merge".to_owned()];
        args.extend(parts);
        args.extend(["-o".to_owned(), to.to_owned()]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        said(dir.path(), &args);
    };
    let forth: Vec<String> = parts.iter().map(path).collect();
    let back: Vec<String> = forth.iter().rev().chain(&forth).cloned().collect();
    merge(forth, "one");
    merge(back, "two");
    merge(vec!["one".into(), "two".into()], "three");
    let bytes = |of: &str, file: &str| std::fs::read(dir.path().join(of).join(file)).expect("file");
    for file in ["manifest.json", "runs.jsonl", "arms.csv"] {
        assert!(
            bytes("one", file) == bytes("two", file) && bytes("one", file) == bytes("three", file),
            "{file}"
        );
    }
    // The same verdicts as the run that was not cut, evidence and log lines with them.
    let rows = |md: String| -> Vec<String> {
        let row =
            |line: &str| line.starts_with("| `").then(|| line.replace("2/2", "1/1").replace("0/2", "0/1"));
        md.lines().filter_map(row).collect()
    };
    let whole = rows(said(dir.path(), &["report", smoke().to_str().expect("UTF-8")]));
    assert_eq!(whole.len(), 3);
    assert_eq!(rows(said(dir.path(), &["report", "one"])), whole);
    let html = said(dir.path(), &["report", "one", "--format", "html"]);
    assert!(html.contains("size: 186646528, result: 0") && !html.contains("is missing"));
    let again = tool(dir.path(), &["merge", "one", "-o", "two"]);
    assert_eq!(again.status.code(), Some(2), "what is there is not overwritten");
}

#[test]
fn a_plan_is_handed_to_each_scheduler() {
    let dir = tempfile::tempdir().expect("tempdir");
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/dg2-private.toml");
    let matrix = matrix.to_str().expect("UTF-8");
    for (format, begins, submit) in [
        ("github", "{\"include\":[", "fromJson"),
        ("gitlab", "# A child pipeline", "trigger"),
        ("slurm", "#!/bin/sh\n#SBATCH", "sbatch"),
        ("hq", "# After the job: repro-matrix merge", "hq job submit-file"),
    ] {
        let out = tool(
            dir.path(),
            &["plan", matrix, "--device", "sim:a770", "--format", format, "--target", "10m"],
        );
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert!(text(&out.stdout).starts_with(begins), "{}", text(&out.stdout));
        assert!(text(&out.stderr).contains(submit), "{}", text(&out.stderr));
    }
}
