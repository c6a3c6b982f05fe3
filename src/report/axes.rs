//! An arm as a point: every axis with its value as text, so that arms can be compared axis by axis.

use std::collections::BTreeMap;

use crate::model::arm::{Arm, SourceKind};
use crate::model::outcome::RunRecord;

/// Axis name → value. An axis that has no meaning for the arm (the page cache of anonymous memory) is absent.
pub type Point = BTreeMap<&'static str, String>;

/// All axes of `arm`.
pub fn point(arm: &Arm) -> Point {
    let mut p = Point::new();
    let v = &arm.variant;
    p.insert("front end", text(&v.front_end));
    p.insert("kernels", v.kernels.to_string());
    p.insert("plain kernels", v.plain_kernels.to_string());
    p.insert("batch size", v.batch_size.to_string());
    p.insert("simd", v.simd.to_string());
    p.insert("padding", v.padding.to_string());
    p.insert("split", text(&v.split));
    p.insert("compilation", text(&v.compile));
    p.insert("module format", text(&v.format));
    p.insert("compiler options", v.options.join(" "));
    if let Some(command) = &v.command {
        p.insert("command", command.argv.join(" "));
    }
    source(arm, &mut p);
    workload(arm, &mut p);
    let keys: Vec<String> = arm.keys.keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
    p.insert("debug keys", if keys.is_empty() { "none".into() } else { keys.join(" ") });
    p.insert("driver", arm.driver.clone());
    if let Some(runtime) = &arm.runtime {
        p.insert("SYCL runtime", runtime.clone());
    }
    p.insert("device", arm.device.clone());
    p
}

/// Names that stand for another one.
const STAND_INS: [&str; 2] = ["auto", "default"];

/// What a run used of an axis.
type Used = fn(&RunRecord) -> &str;

/// Points of `arms`, in the same order, by what their runs used: two names of one driver build or device are one value.
pub fn points(arms: &[Arm], records: &[RunRecord]) -> Vec<Point> {
    let mut points: Vec<Point> = arms.iter().map(point).collect();
    let runs: BTreeMap<&str, &RunRecord> = records.iter().map(|run| (run.arm.as_str(), run)).collect();
    let used: [(_, Used); 2] = [("driver", |run| &run.driver), ("device", |run| &run.device)];
    for (axis, used) in used {
        let used = |arm: &Arm| runs.get(arm.id.as_str()).map(|run| used(run)).filter(|used| !used.is_empty());
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        for (arm, point) in arms.iter().zip(&points) {
            let (Some(used), Some(name)) = (used(arm), point.get(axis)) else { continue };
            let told = names.entry(used).or_insert_with(|| name.clone());
            if STAND_INS.contains(&told.as_str()) {
                told.clone_from(name);
            }
        }
        for (arm, point) in arms.iter().zip(&mut points) {
            if let Some(name) = used(arm).and_then(|used| names.get(used)) {
                point.insert(axis, name.clone());
            }
        }
    }
    points
}

fn source(arm: &Arm, p: &mut Point) {
    let s = &arm.source;
    // Nothing is read from the source then: two arms that differ in it only are the same experiment.
    if arm.workload.no_copy || arm.workload.skip_upload {
        return;
    }
    p.insert("source kind", text(&s.kind));
    if s.kind == SourceKind::None {
        return;
    }
    p.insert("source protection", text(&s.prot));
    p.insert("source size", s.size.to_string());
    if s.kind == SourceKind::Host {
        return;
    }
    p.insert("source mapping", text(&s.mapping));
    if s.kind == SourceKind::File {
        p.insert("page cache", text(&s.page_cache));
        p.insert("file medium", text(&s.medium));
    }
}

fn workload(arm: &Arm, p: &mut Point) {
    let w = &arm.workload;
    p.insert(
        "copying",
        match (w.skip_upload, w.no_copy) {
            (true, _) => "nothing between the runs".into(),
            (false, true) => "allocations only".into(),
            (false, false) => "copies".into(),
        },
    );
    if !w.skip_upload {
        p.insert("copies", (u64::from(w.copies) * u64::from(w.repeat.max(1))).to_string());
        p.insert("chunk", w.chunk.to_string());
        p.insert("same source region", w.same_src.to_string());
        p.insert("one allocation", w.one_alloc.to_string());
    }
    p.insert("guard", w.guard.to_string());
    p.insert("ballast", w.ballast.to_string());
    p.insert("late module", w.late_module.to_string());
    p.insert("command list", text(&w.command_list));
    p.insert("copy engine", text(&w.copy_engine));
    p.insert("elements", w.elements.to_string());
}

/// The name that the matrix file uses.
fn text<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(other) => other.to_string(),
        Err(e) => format!("? {e}"),
    }
}

/// A value as it is told: sizes in their unit.
pub fn shown(axis: &str, value: &str) -> String {
    match (axis, value.parse()) {
        ("source size" | "chunk" | "guard" | "ballast", Ok(bytes)) => super::words::size(bytes),
        ("debug keys", _) => match value.split(' ').collect::<Vec<_>>()[..] {
            [first, _, _, ..] => format!("{first} and {} more", value.split(' ').count() - 1),
            _ => value.to_owned(),
        },
        (_, _) => value.to_owned(),
    }
}

/// Axes in which two points differ. An axis that only one of them has follows from another that differs
/// (file → anon loses its page cache) and is left out, unless it is all there is.
pub fn differing(a: &Point, b: &Point) -> Vec<&'static str> {
    a.iter()
        .filter(|(axis, value)| b.get(*axis).is_some_and(|other| other != *value))
        .map(|(axis, _)| *axis)
        .collect()
}
