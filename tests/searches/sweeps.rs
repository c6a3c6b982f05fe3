//! Sweeps and reductions that have nothing to say are no success.

use std::process::Output;

use crate::all;
use crate::standin::{Kind, Lab};

fn tool(lab: &Lab, verb: &str, args: &[&str]) -> Output {
    let mut command = lab.tool();
    command.args([verb, "matrices/smoke.toml", "--device", "sim:a770-residency", "--timeout", "2m"]);
    command.args(args).arg("--plain").arg("--results").arg(lab.path().join("results"));
    command.output().expect("the tool runs")
}

#[test]
fn a_fault_sweep_that_shows_nothing_is_no_pass() {
    let lab = Lab::new();
    let sweep = |arm: &str, errno: &str| {
        let points = ["--points", "vm_create", "--errnos", errno];
        tool(&lab, "faults", &[&["--arm", arm], &points[..]].concat())
    };
    let out = sweep("under/file-r", "NOSUCH");
    assert_eq!(out.status.code(), Some(4), "{}", all(&out));
    let said = all(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("under/file-r makes no request at these points that can fail with these"),
        "{said}"
    );
    assert!(said.contains("vm_create: "), "what can fail is named\n{said}");
    // What a fault adds to an arm that fails by itself cannot be told.
    let out = sweep("over/file-r", "ENOMEM");
    assert_eq!(out.status.code(), Some(12), "{}", all(&out));
    assert!(all(&out).contains("without any fault the arm is corrupt"), "{}", all(&out));
}

#[test]
fn a_reduction_of_what_fails_less_often_than_the_floor_is_not_certain() {
    let lab = Lab::new();
    lab.add("flaky", Kind::CuredPercent(50));
    let keep = "kernels,chunk,elements,source_size,copies,padding";
    let often = ["--floor", "100", "--runs", "16", "--measure", "16", "--keep", keep];
    let args = [&["--arm", "over/file-r", "--driver", "flaky"], &often[..]].concat();
    let out = tool(&lab, "reduce", &args);
    assert_eq!(out.status.code(), Some(12), "{}", all(&out));
    let why = "not certain: as written the arm fails less often than the floor of 100 %";
    assert!(all(&out).contains(why), "{}", all(&out));
}

/// A prediction between two values of a coarse axis is met by the flip between them.
#[test]
fn a_prediction_between_two_steps_is_as_measured() {
    let lab = Lab::new();
    let axis = ["--arm", "over/file-r", "--variant", "kernels=86..90", "--step", "4"];
    let out = tool(&lab, "threshold", &axis);
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    assert!(all(&out).contains("from kernels=90 on"), "{}", all(&out));
    assert!(all(&out).contains("predicted   kernels=87: as measured"), "{}", all(&out));
}

#[test]
fn an_error_of_none_in_many_histories_has_its_upper_bound() {
    let lab = Lab::new();
    let args = ["bisect", "calibrate", "--rate", "50", "--histories", "20", "--seed", "1"];
    let out = lab.tool().args(args).output().expect("the tool runs");
    assert_eq!(out.status.code(), Some(0), "{}", all(&out));
    // 0.025^(1/20) = 83.2 %.
    assert!(all(&out).contains("the wrong release: 0/20: below 16.8 % (asked: at most 1"), "{}", all(&out));
}
