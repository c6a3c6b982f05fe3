//! Comparisons that are stopped early, pooled or not, and of builds that differ in nothing that matters.

use std::path::Path;

use object::Object;
use repro_matrix::driver::DriverStore;

use crate::standin::{Kind, Lab};
use crate::{all, only};

fn compare(lab: &Lab, results: &str, args: &[&str]) -> (Option<i32>, String) {
    let mut command = lab.tool();
    command.args(["compare", "matrices/smoke.toml", "--device", "sim:a770-residency", "--timeout", "2m"]);
    let out = command.args(args).arg("--results").arg(lab.path().join(results)).output().unwrap();
    (out.status.code(), all(&out))
}

#[test]
fn a_comparison_ends_as_soon_as_it_is_decided() {
    let lab = Lab::new();
    let args = ["over/file-r", "under/file-r", "--until-decided", "--runs", "60", "--jobs", "2"];
    let (code, said) = compare(&lab, "results", &args);
    assert_eq!(code, Some(10), "{said}");
    // All of one fail and none of the other: certain under peeking with eight of each (see `stats::pair`), two pairs at a time.
    assert!(said.contains("decided  after 8 runs of each"), "{said}");
}

#[test]
fn results_of_another_build_are_not_pooled_in_silence() {
    // The same name of a build for two different ones, as on two machines.
    let (here, there) = (Lab::new(), Lab::new());
    here.add("build", Kind::Stock);
    there.add("build", Kind::Cured);
    let args = ["--arm", "over/file-r", "build", "build", "--runs", "4"];
    compare(&there, "results", &args);
    let other = only(&there.path().join("results"), "compare").display().to_string();
    let (code, said) = compare(&here, "refused", &[&args[..], &["--with", &other]].concat());
    assert_eq!(code, Some(12), "{said}");
    assert!(said.contains("2 origins, not pooled: they do not fit together (homogeneity p = 0."), "{said}");
    assert!(said.contains(": 4/4") && said.contains(": 0/4") && said.contains("--pool"), "{said}");
    let dir = only(&here.path().join("refused"), "compare").display().to_string();
    let more = ["--with", &other, "--pool", "--resume", &dir];
    let (code, said) = compare(&here, "pooled", &[&args[..], &more].concat());
    assert_eq!(code, Some(0), "the same arm twice does not differ from itself\n{said}");
    assert!(said.contains("pooled: they do not fit together") && said.contains("corrupt 4/8"), "{said}");
}

#[test]
fn results_of_another_arm_of_the_same_name_are_refused_before_anything_runs() {
    let lab = Lab::new();
    let (code, said) = compare(&lab, "before", &["over/file-r", "over/file-r", "--runs", "1"]);
    assert_eq!(code, Some(0), "{said}");
    let before = only(&lab.path().join("before"), "compare");
    let manifest = std::fs::read_to_string(before.join("manifest.json")).unwrap();
    std::fs::write(before.join("manifest.json"), manifest.replace("\"copies\": 12", "\"copies\": 13"))
        .unwrap();
    let nowhere = lab.path().join("nowhere").display().to_string();
    for (with, expected, why) in [
        (before.display().to_string(), 40, "its arm over/file-r is another one than here"),
        (nowhere, 2, "is no results directory"),
    ] {
        let args = ["over/file-r", "under/file-r", "--runs", "1", "--with", &with];
        let (code, said) = compare(&lab, "after", &args);
        assert_eq!(code, Some(expected), "{said}");
        assert!(said.contains(why) && !lab.path().join("after").exists(), "{said}");
    }
}

/// What a maintainer adds is another file, if only by its build-id: never taken for the stock build.
#[test]
fn a_build_that_differs_in_its_build_id_alone_is_a_build_of_its_own() {
    let lab = Lab::new();
    let store = DriverStore::open().unwrap();
    let stock = store.resolve("default").unwrap().driver_path().unwrap().canonicalize().unwrap();
    let mut bytes = std::fs::read(stock).unwrap();
    let id = object::File::parse(bytes.as_slice()).unwrap().build_id().unwrap().expect("a build-id").to_vec();
    let place = bytes.windows(id.len()).position(|window| window == id).expect("the note");
    bytes[place] ^= 0xff;
    let library = lab.path().join("libze_intel_gpu.so.1");
    std::fs::write(&library, bytes).unwrap();
    let added = lab
        .tool()
        .args(["drivers", "add", "patched", "--base", "default", "--lib"])
        .arg(&library)
        .output()
        .unwrap();
    assert!(added.status.success(), "{}", all(&added));
    let (code, said) =
        compare(&lab, "results", &["--arm", "over/file-r", "default", "patched", "--runs", "2"]);
    assert_eq!(code, Some(0), "two of two and two of two\n{said}");
    assert_eq!(said.matches("corrupt 2/2").count(), 2, "both were really run\n{said}");
    let dir = only(&lab.path().join("results"), "compare");
    let records = records(&dir);
    let of = |arm: &str, field: &dyn Fn(&serde_json::Value) -> String| {
        let mut values: Vec<String> =
            records.iter().filter(|r| r["arm"].as_str().unwrap().ends_with(arm)).map(field).collect();
        values.dedup();
        assert_eq!(values.len(), 1, "{values:?}");
        values.remove(0)
    };
    let build = |record: &serde_json::Value| record["driver"].as_str().unwrap().to_owned();
    assert_ne!(of("default", &build), of("patched", &build), "two builds");
    // Proved from what the runs had mapped, not from what was asked for.
    let mapped = |record: &serde_json::Value| record["facts"]["loaded"].to_string();
    let changed: String =
        std::iter::once(id[0] ^ 0xff).chain(id[1..].iter().copied()).map(|b| format!("{b:02x}")).collect();
    let stock: String = id.iter().map(|b| format!("{b:02x}")).collect();
    assert!(of("default", &mapped).contains(&stock), "{}", of("default", &mapped));
    assert!(of("patched", &mapped).contains(&changed), "{}", of("patched", &mapped));
}

fn records(dir: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(dir.join("runs.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
