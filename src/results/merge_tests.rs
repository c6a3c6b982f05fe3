use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::report::fixture;

/// A run of a shard of the arms a…f on one of three machines.
fn part(machine: u8, shard: u32, of: u32, repeats: u32, seed: u64) -> Loaded {
    let all: Vec<Arm> = ["f", "a", "c", "b", "e", "d"]
        .iter()
        .map(|id| fixture::arm(id, |arm| arm.repeats = repeats))
        .collect();
    let arms: Vec<Arm> =
        all.iter().filter(|arm| crate::plan::shard::Shard { index: shard, of }.holds(arm)).cloned().collect();
    let records = arms
        .iter()
        .flat_map(|arm| {
            (0..repeats).map(move |repeat| {
                let mut record = fixture::record(arm, repeat, arm.id == "a");
                record.started = format!("2026-11-29T15:{seed:02}:{repeat:02}.000Z");
                record.wall_seconds = f64::from(machine) + 0.5;
                record.logs = vec![format!("logs/{}/{repeat}/stdout.gz", arm.id)];
                record
            })
        })
        .collect();
    let manifest = Manifest {
        version: 1,
        tool: "0.1.0".into(),
        matrix: "m".into(),
        matrix_sha256: "0".into(),
        matrix_text: String::new(),
        seed,
        started: format!("2026-11-29T15:{seed:02}:00Z"),
        device: "sim:a770".into(),
        drivers: BTreeMap::new(),
        stop: None,
        shard: Some(format!("{shard}/{of}")),
        plan: all.iter().map(|arm| arm.id.clone()).collect(),
        sources: BTreeMap::new(),
        runtimes: BTreeMap::new(),
        arms,
        excluded: Vec::new(),
        left_out: Vec::new(),
        environment: serde_json::json!({ "machine": format!("m{machine}") }),
    };
    Loaded {
        dir: PathBuf::from("/nowhere"),
        manifest,
        records,
        whole_bytes: 0,
        torn_bytes: 0,
        out_of_time: false,
    }
}

fn loaded(merged: &Merged) -> Loaded {
    Loaded {
        dir: PathBuf::from("/nowhere"),
        manifest: merged.manifest.clone(),
        records: merged.records.clone(),
        whole_bytes: 0,
        torn_bytes: 0,
        out_of_time: false,
    }
}

fn merge(parts: &[Loaded]) -> Merged {
    union(parts).expect("one matrix").expect("parts")
}

fn copy(one: &Loaded) -> Loaded {
    Loaded { dir: one.dir.clone(), manifest: one.manifest.clone(), records: one.records.clone(), ..*one }
}

fn parts() -> impl Strategy<Value = Vec<Loaded>> {
    let one = (0u8..3, 1u32..4, 1u32..4, 1u32..3, 0u64..20)
        .prop_map(|(machine, index, of, repeats, seed)| part(machine, index.min(of), of, repeats, seed));
    proptest::collection::vec(one, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_does_not_depend_on_order_or_on_repetition(parts in parts()) {
        let once = merge(&parts);
        let mut turned: Vec<Loaded> = parts.iter().rev().map(copy).collect();
        turned.extend(parts.iter().map(copy));
        prop_assert_eq!(&merge(&turned), &once);
        // Again, and in two steps.
        prop_assert_eq!(&merge(&[loaded(&once)]), &once);
        prop_assert_eq!(&merge(&[loaded(&once), copy(&parts[0])]), &once);
        let (left, right) = parts.split_at(parts.len() / 2);
        if !left.is_empty() {
            prop_assert_eq!(&merge(&[loaded(&merge(left)), loaded(&merge(right))]), &once);
        }
        // Nothing is lost and nothing made up.
        let runs: std::collections::BTreeSet<String> = parts
            .iter()
            .flat_map(|part| {
                let source = sources(&part.manifest).into_keys().next();
                part.records.iter().map(move |r| format!("{source:?} {} {} {}", r.arm, r.repeat, r.started)).collect::<Vec<_>>()
            })
            .collect();
        prop_assert_eq!(once.records.len(), runs.len());
    }
}

#[test]
fn missing_shards_and_other_matrices_are_named() {
    let merged = merge(&[part(0, 1, 3, 1, 0)]);
    assert_eq!(merged.missing().len() + merged.manifest.arms.len(), 6);
    let all = merge(&[part(0, 1, 3, 1, 0), part(1, 2, 3, 1, 0), part(2, 3, 3, 1, 0)]);
    assert_eq!(all.missing(), Vec::<&str>::new());
    assert_eq!(
        all.manifest.arms.iter().map(|arm| arm.id.as_str()).collect::<String>(),
        "facbed",
        "the plan's order"
    );
    let mut other = part(0, 1, 3, 1, 0);
    other.manifest.matrix_sha256 = "1".into();
    let error = union(&[part(0, 1, 3, 1, 0), other]).unwrap_err();
    assert!(error.to_string().contains("SHA-256"), "{error}");
}

#[test]
fn a_card_is_one_machines_and_each_merged_run_is_its_own_machines() {
    let on = |machine: u8, device: &str| {
        let mut part = part(machine, 1, 1, 1, 0);
        part.manifest.device = device.into();
        part
    };
    let (one, other) = (on(0, "pci:0000:03:00.0"), on(1, "pci:0000:03:00.0"));
    assert_eq!(one.manifest.differences(&other.manifest), ["the machine was m0, is m1"]);
    let model = [on(0, "sim:a770"), on(1, "sim:a770")];
    assert_eq!(model[0].manifest.differences(&model[1].manifest), Vec::<String>::new());
    let merged = merge(&[one, other]);
    let machines: BTreeSet<(String, String)> = (merged.records.iter())
        .map(|run| (run.wall_seconds.to_string(), machine::of(&merged.manifest, run).0))
        .collect();
    // The fixture's wall time tells which machine made the run.
    let want = [("0.5", "m0"), ("1.5", "m1")].map(|(wall, name)| (wall.to_owned(), name.to_owned()));
    assert_eq!(machines, want.into());
}
