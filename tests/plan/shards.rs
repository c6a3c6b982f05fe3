//! Shards and the files that hand them to schedulers.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use repro_matrix::matrix;
use repro_matrix::plan::bundle::{self, Command};
use repro_matrix::plan::shard::Shard;
use repro_matrix::plan::{HostFacts, Plan, Selection, plan};

fn dg2() -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/dg2-private.toml");
    plan(&matrix::load(&path).expect("a matrix"), &Selection::default(), &HostFacts::default())
}

#[test]
fn shards_are_a_partition_and_keep_comparisons_together() {
    let whole = dg2();
    for of in [1, 2, 3, 7, 50] {
        let parts: Vec<Plan> = (1..=of).map(|index| Shard { index, of }.cut(&whole)).collect();
        let ids: Vec<&str> =
            parts.iter().flat_map(|part| part.arms.iter().map(|arm| arm.id.as_str())).collect();
        assert_eq!(ids.len(), whole.arms.len(), "{of}");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), whole.arms.len(), "{of}");
        assert_eq!(parts.iter().map(|part| part.cells.len()).sum::<usize>(), whole.cells.len());
        for name in whole.arms.iter().filter_map(|arm| arm.comparison.as_ref()) {
            let with =
                parts.iter().filter(|p| p.arms.iter().any(|arm| arm.comparison.as_ref() == Some(name)));
            assert_eq!(with.count(), 1, "{name} in {of} shards");
        }
        // A cell still means its arm, and the order is the whole plan's.
        for part in &parts {
            let told = |plan: &Plan| -> Vec<String> {
                plan.cells.iter().map(|cell| format!("{}#{}", plan.arms[cell.arm].id, cell.repeat)).collect()
            };
            let mine = told(part);
            assert_eq!(told(&whole).into_iter().filter(|cell| mine.contains(cell)).collect::<Vec<_>>(), mine);
        }
    }
}

#[test]
fn the_cut_does_not_change_with_releases() {
    // Results of shards cut by different builds of the tool are merged: these numbers may never change.
    use repro_matrix::plan::shard::shard_of;
    let by_hand = |group: &str| {
        let out = std::process::Command::new("sh")
            .args(["-c", &format!("printf %s 'repro-matrix shard {group}' | sha256sum | cut -c1-16")])
            .output()
            .expect("sha256sum");
        let digits = String::from_utf8(out.stdout).expect("text");
        (u64::from_str_radix(digits.trim(), 16).expect("hex") % 5) as u32 + 1
    };
    for group in ["arm over/file-r", "comparison smoke"] {
        assert_eq!(shard_of(group, 5), by_hand(group));
    }
}

#[test]
fn jobs_are_no_longer_than_asked_where_that_can_be() {
    let whole = dg2();
    let minute = |_: &str| Some(60.0);
    let cut = bundle::bundles(&whole, Duration::from_secs(3600), 256, &minute);
    assert!(cut.fits && cut.jobs.iter().all(|job| job.estimate <= Duration::from_secs(3600)), "{cut:?}");
    assert_eq!(cut.jobs.iter().map(|job| job.arms).sum::<usize>(), whole.arms.len());
    // A comparison that takes longer than the target stays whole, and that is said.
    let cut = bundle::bundles(&whole, Duration::from_secs(1), 256, &minute);
    assert!(!cut.fits && cut.jobs.len() <= 256);
}

#[test]
fn each_scheduler_gets_its_own_form() {
    let whole = dg2();
    let cut = bundle::bundles(&whole, Duration::from_secs(900), 256, &|_| Some(30.0));
    let more = ["--device".to_owned(), "sim:a770".to_owned()];
    let command = Command { matrix: "matrices/dg2-private.toml", name: "dg2-private", more: &more };
    let github: serde_json::Value = serde_json::from_str(&bundle::github(&cut)).expect("JSON");
    let jobs = github["include"].as_array().expect("include");
    assert!(!jobs.is_empty() && jobs.len() <= 256);
    assert!(jobs.iter().all(|job| job["shard"].as_str().is_some_and(|s| s.parse::<Shard>().is_ok())));
    let slurm = bundle::slurm(&cut, &command);
    assert!(slurm.starts_with("#!/bin/sh\n#SBATCH "), "{slurm}");
    assert!(
        slurm.contains(
            "run matrices/dg2-private.toml --device sim:a770 --plain --shard \"$SLURM_ARRAY_TASK_ID/"
        ),
        "{slurm}"
    );
    let hq: toml::Table = bundle::hq(&cut, &command).parse().expect("TOML");
    assert_eq!(hq["task"].as_array().map(Vec::len), Some(cut.jobs.len()));
    let gitlab = bundle::gitlab(&cut, &command);
    assert!(gitlab.contains("SHARD: [\"") && gitlab.contains("--shard \"$SHARD\""), "{gitlab}");
}

#[test]
fn what_is_no_shard_says_so() {
    for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
}

#[test]
fn an_empty_shard_is_named() {
    let of = 50;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/smoke.toml");
    let smoke = plan(&matrix::load(&path).expect("a matrix"), &Selection::default(), &HostFacts::default());
    let empty = (1..=of).map(|index| Shard { index, of }).find(|shard| shard.cut(&smoke).arms.is_empty());
    let empty = empty.expect("more shards than arms").to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_repro-matrix"))
        .args(["run", "matrices/smoke.toml", "--device", "sim:a770", "--shard", &empty, "--results"])
        .arg(dir.path())
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("shard {empty} has none of the plan's")), "{said}");
}
