//! Histories that are not one clean change, and axes other than driver builds.

use std::path::Path;
use std::process::Output;

use crate::standin::{Kind, Lab};
use crate::{all, only};

fn bisect(lab: &Lab, results: &Path, args: &[&str]) -> Output {
    let mut command = lab.tool();
    command.args(["bisect", "matrices/smoke.toml", "--device", "sim:a770-residency", "--timeout", "2m"]);
    command.args(["--plain", "--results"]).arg(results).args(args).output().expect("the tool runs")
}

#[test]
fn a_history_that_is_no_single_change_is_said_to_be_none() {
    let lab = Lab::new();
    let kinds = [Kind::Cured, Kind::Stock, Kind::Stock, Kind::Cured, Kind::Stock];
    for (release, kind) in (1..).zip(kinds) {
        lab.add(&format!("neo-{release}"), kind);
    }
    let results = lab.path().join("results");
    let out = bisect(
        &lab,
        &results,
        &["--arm", "over/file-r", "--drivers", "neo-*", "--rate", "90", "--jobs", "1"],
    );
    let said = all(&out);
    assert_eq!(out.status.code(), Some(12), "{said}");
    assert!(
        said.contains("does not fit: neo-4 is clean in ") && said.contains("more than one change"),
        "{said}"
    );
    // The bad end does not fail where the last build is a good one.
    let results = lab.path().join("not-reproduced");
    let args = ["--arm", "over/file-r", "--drivers", "neo-1,neo-4", "--rate", "100"];
    let out = bisect(&lab, &results, &args);
    assert_eq!(out.status.code(), Some(13), "{}", all(&out));
    assert!(all(&out).contains("no failure in") && all(&out).contains("neo-4"), "{}", all(&out));
}

#[test]
fn flaky_that_became_flakier_is_found() {
    let lab = Lab::new();
    // Three in ten runs of the good ones fail, all of the bad one do.
    let kinds = [Kind::CuredPercent(70), Kind::CuredPercent(70), Kind::Stock];
    for (release, kind) in (1..).zip(kinds) {
        lab.add(&format!("neo-{release}"), kind);
    }
    let args = ["--arm", "over/file-r", "--drivers", "neo-*", "--two-sided", "--error", "0.1"];
    let out = bisect(&lab, &lab.path().join("results"), &args);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    assert!(
        all(&out).contains("first bad   neo-3") && all(&out).contains("last good   neo-2"),
        "{}",
        all(&out)
    );
}

#[test]
fn arms_of_a_matrix_are_an_axis() {
    let lab = Lab::new();
    // In the matrix the failing arm stands before the one that does not fail.
    let results = lab.path().join("results");
    let out = bisect(&lab, &results, &["--arms", "*/file-r", "--find", "fixed", "--rate", "100"]);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    let said = all(&out);
    assert!(said.contains("fixed in    under/file-r") && said.contains("last bad    over/file-r"), "{said}");
    let replay = lab.tool().args(["bisect", "replay"]).arg(only(&results, "bisect")).output().unwrap();
    assert_eq!(replay.status.code(), Some(0), "{}", all(&replay));
}
