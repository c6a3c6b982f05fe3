//! The form's fields about what happened: tables computed from the runs.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::facts::{KernelSeen, ZeApiFacts};
use crate::model::outcome::RunRecord;
use crate::report::aggregate::ArmSummary;
use crate::report::boundary;
use crate::report::findings::Finding;
use crate::report::section::{Report, Section};
use crate::report::words::{grouped, plural};
use crate::report::{markdown, text};

use super::{Case, contrast, field};

pub(super) fn fields(out: &mut String, case: &Case<'_>, report: &Report) {
    field(out, "Actual Behavior", &actual(case, report));
    field(out, "Expected Behavior", expected(case.summary.verdict.word));
}

fn expected(word: &str) -> &'static str {
    match word {
        "corrupt" => {
            "Copying data to the device must not change what kernels of modules that are already loaded compute. What a \
             dispatch reads and writes (its private memory included) must be bound when it runs; where that is not possible, \
             the launch must fail.\n"
        }
        "wrong-before" => "A kernel's output equals what the host computes, from the first launch on.\n",
        "crash" => "The call returns, with an error where it cannot do its work.\n",
        "device-lost" => "The work completes; the device stays usable.\n",
        _ => "The work completes in a time of the same order as in the arms that are clean.\n",
    }
}

fn actual(case: &Case<'_>, report: &Report) -> String {
    let section = case.section;
    let mut out = format!("`{}`: {}.", case.arm.id, case.summary.verdict);
    if let Some(arm) = contrast(case) {
        let here = super::super::axes::point(case.arm);
        let there = super::super::axes::point(arm);
        let differ: Vec<String> = super::super::axes::differing(&here, &there)
            .iter()
            .map(|axis| {
                format!(
                    "{axis} {} instead of {}",
                    there.get(axis).map_or("–", String::as_str),
                    here.get(axis).map_or("–", String::as_str)
                )
            })
            .collect();
        out += &format!(" `{}`, with {}: clean.", arm.id, differ.join(", "));
    }
    out += "\n\n#### Arms\n\nEach row is a process of its own. \"wrong / untouched\": output elements that differ from the host's, and those never written. \"Per Dispatch\": the driver's own `Private Memory Per Dispatch`. \"private surface\": binds and unbinds of the checked kernel's private memory up to the end of the work; `─` = never bound again. EPERM: binds that the kernel refused.\n\n";
    for one in &report.sections {
        if report.sections.len() > 1 {
            out += &format!(
                "{} on {}, {} (machine {})\n\n",
                one.key.matrix,
                one.key.device,
                one.driver_line(),
                one.key.machine
            );
        }
        out += &markdown::table(&one.summaries.iter().collect::<Vec<&ArmSummary>>());
        out.push('\n');
    }
    out += &boundary_points(section);
    out += &ioctls(section);
    let told = |headings: &[&str]| list(&section.findings, headings);
    let cause = told(&[
        "Threshold",
        "Cause",
        "Decides",
        "Failed binds",
        "Arguments",
        "Ended early",
        "Instruments",
        "Control",
    ]);
    if !cause.is_empty() {
        out += &format!("#### What the runs show\n\n{cause}\n");
    }
    out
}

fn list(findings: &[Finding], headings: &[&str]) -> String {
    findings
        .iter()
        .filter(|f| headings.contains(&f.heading))
        .map(|f| format!("- {}: {}\n", f.heading, f.text))
        .collect()
}

fn boundary_points(section: &Section) -> String {
    let points = boundary::points(section);
    if points.is_empty() {
        return String::new();
    }
    // Arms of one size that fared alike are one row.
    let mut rows: Vec<([String; 7], Vec<String>)> = Vec::new();
    for p in &points {
        let row = [
            grouped(p.per_thread),
            p.kernels.to_string(),
            grouped(p.predicted),
            grouped(p.measured),
            format!("{} {}", if p.predicted_flag() { "over" } else { "under" }, grouped(p.global_memory)),
            u8::from(p.flag).to_string(),
            p.verdict.clone(),
        ];
        let arm = format!("`{}`", p.arm);
        match rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, arms)) => arms.push(arm),
            None => rows.push((row, vec![arm])),
        }
    }
    let rows = rows.into_iter().map(|([size, kernels, predicted, measured, limit, flag, verdict], arms)| {
        [arms.join(", "), size, kernels, predicted, measured, limit, flag, verdict]
    });
    let table = text::table(
        [
            "arm",
            "private bytes / thread",
            "kernels",
            "predicted: × threads",
            "modulePrivateMemorySize",
            "globalMemorySize",
            "Per Dispatch",
            "verdict",
        ],
        rows,
    );
    let odd = points.iter().filter(|point| !point.as_predicted()).count();
    let odd =
        if odd > 0 { format!("\n{} not as the sizes predict.\n", plural(odd, "arm")) } else { String::new() };
    format!("#### Boundary points\n\n{table}{odd}\n")
}

/// Requests of the device by arm: as strace counts them, or the simulated kernel.
fn ioctls(section: &Section) -> String {
    let mut names = BTreeSet::new();
    let mut rows: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for arm in &section.arms {
        let Some(counts) = section.runs_of(&arm.id).find_map(|(record, _)| counts(record)) else { continue };
        names.extend(counts.keys().cloned());
        rows.push((arm.id.clone(), counts));
    }
    // Ways to ask for the version differ between runs and say nothing.
    names.retain(|name| name.starts_with("XE_") || name.starts_with("I915_") || name.starts_with("GEM_"));
    if rows.is_empty() || names.is_empty() {
        return String::new();
    }
    let mut out =
        "#### ioctl counts\n\nFirst run of each arm; \"220, 24 EPERM\" = calls, of which failed.\n\n"
            .to_owned();
    out += &format!(
        "| arm | {} |\n|{}\n",
        names.iter().cloned().collect::<Vec<_>>().join(" | "),
        " --- |".repeat(names.len() + 1)
    );
    for (arm, counts) in rows {
        let cells: Vec<&str> =
            names.iter().map(|name| counts.get(name).map_or("–", String::as_str)).collect();
        out += &format!("| `{arm}` | {} |\n", cells.join(" | "));
    }
    out.push('\n');
    out
}

fn counts(record: &RunRecord) -> Option<BTreeMap<String, String>> {
    if let Some(strace) = record.facts.strace.as_ref().filter(|strace| !strace.ioctls.is_empty()) {
        let cell = |count: &crate::model::facts::CallCount| {
            let failed: String = count.errors.iter().map(|(errno, n)| format!(", {n} {errno}")).collect();
            format!("{}{failed}", count.calls)
        };
        return Some(strace.ioctls.iter().map(|(name, count)| (name.clone(), cell(count))).collect());
    }
    let sim = &record.facts.sim.as_ref()?.summary;
    let cell = |name: &str, calls: u64| {
        let prefix = format!("{name} ");
        let failed: String = sim
            .failed
            .iter()
            .filter_map(|(what, n)| Some(format!(", {n} {}", what.strip_prefix(&prefix)?)))
            .collect();
        format!("{calls}{failed}")
    };
    Some(sim.ioctls.iter().map(|(name, calls)| (name.clone(), cell(name, *calls))).collect())
}

/// API calls, strace, kernel log, backtrace.
pub(super) fn logs(out: &mut String, case: &Case<'_>) {
    let runs: Vec<&RunRecord> = case.section.runs_of(&case.arm.id).map(|(record, _)| record).collect();
    field(out, "API Call Logs", &api(&runs));
    let strace = runs.iter().any(|r| r.facts.strace.is_some());
    field(
        out,
        "strace Logs",
        if strace {
            "The counts are under Actual Behavior; the full output is attached (`strace.gz`).\n"
        } else {
            "Not taken: the arms do not ask for strace. The ioctl counts under Actual Behavior are the simulated kernel's own where the device is simulated.\n"
        },
    );
    field(out, "System Logs / dmesg Output", &kernel_log(&runs));
    let crash = runs.iter().find_map(|r| match &r.verdict {
        crate::model::verdict::Verdict::Crash { signal, location } => Some(format!(
            "Signal {signal}{}.\n",
            location.as_ref().map(|at| format!(" at {at}")).unwrap_or_default()
        )),
        _ => None,
    });
    field(
        out,
        "Backtrace (if crash or hang occurred)",
        crash.as_deref().unwrap_or(match case.summary.verdict.word {
            "hang" => "✎ None was taken.\n",
            _ => "Not applicable: no crash and no hang.\n",
        }),
    );
}

fn api(runs: &[&RunRecord]) -> String {
    let errors: BTreeSet<String> = runs
        .iter()
        .filter_map(|r| r.repro.as_ref()?.error.as_ref())
        .map(|error| format!("{} returned {} (0x{:x})", error.call, error.name, error.code))
        .collect();
    let mut out = match errors.is_empty() {
        true => "No Level Zero call of the reproducer returned an error.\n".to_owned(),
        false => format!("{}.\n", errors.into_iter().collect::<Vec<_>>().join("; ")),
    };
    if let Some(facts) = runs.iter().find_map(|r| r.facts.ze_api.as_ref()) {
        out += &calls(facts);
    }
    out
}

/// As the loader traced them in the first run.
fn calls(facts: &ZeApiFacts) -> String {
    let rows = facts.calls.iter().map(|(name, calls)| {
        let failed = facts.errors.get(name).map(|errors| {
            errors.iter().map(|(result, n)| format!("{n} {result}")).collect::<Vec<_>>().join(", ")
        });
        [format!("`{name}`"), calls.to_string(), failed.unwrap_or_else(|| "–".into())]
    });
    let mut out = format!(
        "\nCalls through the Level Zero loader, by its own trace:\n\n{}",
        text::table(["call", "returned", "not ZE_RESULT_SUCCESS"], rows)
    );
    if !facts.unfinished.is_empty() {
        let open: Vec<String> = facts.unfinished.iter().map(|(name, n)| format!("`{name}` ({n})")).collect();
        out += &format!("\nEntered and never returned: {}.\n", open.join(", "));
    }
    let kernels: Vec<String> = facts
        .kernels
        .iter()
        .filter(|kernel| kernel.launches > 0)
        .map(|kernel| {
            let size = |value: Option<u64>| value.map_or("?".into(), |v| v.to_string());
            let set: Vec<String> =
                kernel.set.iter().map(|(index, bytes)| set(kernel, *index, *bytes)).collect();
            format!(
                "- `{}`: private {} B, spill {} B, {} launches; arguments {}\n",
                kernel.name,
                size(kernel.private),
                size(kernel.spill),
                kernel.launches,
                set.join(", ")
            )
        })
        .collect();
    if !kernels.is_empty() {
        out += &format!("\nKernels that were launched:\n\n{}", kernels.concat());
    }
    out
}

/// "1: 1424 B sha256 ba7816bf8f01cfea (2 values)": the first value's hash where the bytes were seen.
fn set(kernel: &KernelSeen, index: u64, bytes: u64) -> String {
    let values = kernel.values.get(&index).map_or(&[][..], Vec::as_slice);
    let hash = values.first().filter(|value| !value.sha256.is_empty());
    let hash = hash.map_or(String::new(), |value| format!(" sha256 {}…", value.sha256));
    let more = if values.len() > 1 { format!(" ({} values)", values.len()) } else { String::new() };
    format!("{index}: {bytes} B{hash}{more}")
}

fn kernel_log(runs: &[&RunRecord]) -> String {
    let logs: Vec<_> = runs.iter().filter_map(|r| r.facts.kernel_log.as_ref()).collect();
    let readable: Vec<_> = logs.iter().filter(|log| log.readable).collect();
    if readable.is_empty() {
        let why = logs
            .first()
            .and_then(|log| log.why_not.clone())
            .unwrap_or_else(|| "the arm does not ask for the observer `kernel-log`".into());
        return format!("Not read: {why}.\n");
    }
    let lines: Vec<String> = readable.iter().flat_map(|log| log.lines.iter().cloned()).collect();
    let window = format!(
        "Kernel messages of the graphics drivers between the start and the end of each run ({}):\n\n",
        plural(readable.len(), "run")
    );
    window
        + &text::fence("", &if lines.is_empty() { "-- No entries --".to_owned() } else { lines.join("\n") })
}

pub(super) fn notes(out: &mut String, case: &Case<'_>) {
    let section = case.section;
    let mut body = String::new();
    let mut part = |heading: &str, text: String| {
        if !text.is_empty() {
            body += &format!("**{heading}**\n\n{text}\n");
        }
    };
    part("Ruled out", list(&section.findings, &["Does not matter", "Clean either way"]));
    part(
        "Open",
        list(&section.findings, &["Confounded", "Depends", "Same point", "No verdict", "Not shown"]),
    );
    part("Attachments", attachments(case));
    let evidence: String = section
        .runs_of(&case.arm.id)
        .map(|(record, _)| record)
        .find(|record| record.verdict.word() == case.summary.verdict.word)
        .map(|record| record.evidence.iter().map(|e| format!("- {}: {}\n", e.instrument, e.says)).collect())
        .unwrap_or_default();
    part(&format!("Evidence of the verdict on `{}`", case.arm.id), evidence);
    field(out, "Additional Notes", &body);
}

/// Logs of the faulty arm and of the arm for contrast, first run each.
fn attachments(case: &Case<'_>) -> String {
    let mut out = String::new();
    for arm in std::iter::once(case.arm).chain(contrast(case)) {
        if let Some((record, dir)) = case.section.runs_of(&arm.id).next() {
            for log in &record.logs {
                let there = if dir.join(log).exists() { "" } else { " (missing)" };
                out += &format!("- `{log}`{there}\n");
            }
        }
    }
    if out.is_empty() { String::new() } else { format!("{out}- `manifest.json`, `runs.jsonl`\n") }
}
