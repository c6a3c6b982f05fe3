//! Shares of a comparison and of a key sweep, put together again.

use crate::standin::Lab;
use crate::{all, only};

const ON: [&str; 6] = ["--device", "sim:a770-residency", "--timeout", "2m", "--plain", "--results"];

#[test]
fn two_shares_of_a_comparison_are_the_whole() {
    let lab = Lab::new();
    let compare = |place: &str, more: &[&str]| {
        let mut command = lab.tool();
        command.args([
            "compare",
            "matrices/smoke.toml",
            "over/file-r",
            "under/file-r",
            "--runs",
            "4",
            "--json",
        ]);
        let out = command.args(more).args(ON).arg(lab.path().join(place)).output().unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}\n{}", all(&out)));
        (out.status.code(), json)
    };
    let testable = |json: &serde_json::Value| json["pair"]["a"]["testable"].as_u64().unwrap();
    let (_, one) = compare("one", &["--shard", "1/2"]);
    let (_, two) = compare("two", &["--shard", "2/2"]);
    assert!(testable(&one) > 0 && testable(&two) > 0, "{one} {two}");
    assert_eq!(testable(&one) + testable(&two), 4);
    let dir = |place: &str| only(&lab.path().join(place), "compare").display().to_string();
    let (first, second) = (dir("one"), dir("two"));
    let repeats = |dir: &str| -> std::collections::BTreeSet<u64> {
        let text = std::fs::read_to_string(format!("{dir}/runs.jsonl")).unwrap();
        let record = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| record(line)["repeat"].as_u64().unwrap()).collect()
    };
    assert!(repeats(&first).is_disjoint(&repeats(&second)));
    // Cut by a budget, it has found no difference only so far.
    let (code, cut) = compare("cut", &["--max-runs", "2"]);
    assert_eq!((code, testable(&cut), &cut["cut"]), (Some(12), 1, &"--max-runs 2 is spent".into()), "{cut}");
    // Together, without a further run.
    let with = ["--shard", "1/2", "--resume", &first, "--with", &second];
    // Each run once, though both directories are given twice.
    let twice = [&with[..], &["--with", &first, "--with", &second]].concat();
    let (code, whole) = compare("one", &twice);
    assert_eq!((code, testable(&whole), &whole["pair"]["a"]["hits"]), (Some(10), 4, &4.into()), "{whole}");
    let none = lab
        .tool()
        .args(["compare", "matrices/smoke.toml", "over/file-r", "under/file-r", "--runs", "1", "--shard"])
        .args([if repeats(&first).contains(&0) { "2/2" } else { "1/2" }])
        .args(ON)
        .arg(lab.path().join("none"))
        .output()
        .unwrap();
    assert_eq!(none.status.code(), Some(4), "an empty share is no answer\n{}", all(&none));
}

#[test]
fn each_key_is_in_one_share_with_all_its_values() {
    let lab = Lab::new();
    let mut found = Vec::new();
    for shard in ["1/2", "2/2"] {
        let out = lab
            .tool()
            .args(["keys", "matrices/smoke.toml", "--arm", "over/file-r", "--shard", shard])
            .args(["--keys", "MakeEachAllocationResident=2,EnableBOMmapCreate,NoSuchKey"])
            .args(ON)
            .arg(lab.path().join("results"))
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", all(&out));
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let keys = text.lines().filter(|line| line.starts_with("  "));
        found.extend(keys.map(|line| (line.split_whitespace().next().unwrap().to_owned(), shard)));
    }
    found.sort();
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    let want = [
        "EnableBOMmapCreate=0",
        "EnableBOMmapCreate=1",
        "MakeEachAllocationResident=2",
        "NoSuchKey=0",
        "NoSuchKey=1",
    ];
    assert_eq!(keys, want);
    assert!(found[0].1 == found[1].1 && found[3].1 == found[4].1, "{found:?}");
    assert!(found.iter().any(|(_, shard)| *shard != found[0].1), "both shares have some: {found:?}");
}
