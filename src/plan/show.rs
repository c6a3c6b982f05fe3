//! A plan as text: the arms, what is left out and why, and the totals.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::{Table, presets::NOTHING};

use super::{ExcludedBy, Plan};
use crate::model::arm::{Arm, KeySet, Source, SourceKind, Variant, Workload};

/// The whole plan for a terminal. `title` is the matrix's name and description.
pub fn text(plan: &Plan, title: &str) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{title}\n");
    let usual = commonest(plan.arms.iter().map(|arm| workload(&arm.workload)));
    let mut table = grid(&["arm", "variant", "source", "keys", "workload", "expect", "note"]);
    for arm in &plan.arms {
        let name = if arm.repeats == 1 { arm.id.clone() } else { format!("{} ×{}", arm.id, arm.repeats) };
        let name = if arm.positive_control { format!("{name} (control)") } else { name };
        let workload = workload(&arm.workload);
        let workload = if workload == usual { "·".to_owned() } else { workload };
        let row = [name, variant(&arm.variant), source(&arm.source), keys(&arm.keys)];
        table.add_row(row.into_iter().chain([workload, expectation(arm), cut(&arm.note, 48)]));
    }
    put(&mut out, &table);
    if !plan.arms.is_empty() {
        let _ = writeln!(out, "\n · = {usual}");
    }
    if !plan.excluded.is_empty() {
        let _ = writeln!(out, "\nLeft out:");
        let mut table = grid(&["arm", "by", "reason"]);
        for excluded in &plan.excluded {
            let by = match excluded.by {
                ExcludedBy::Matrix => "matrix",
                ExcludedBy::Selection => "command line",
                ExcludedBy::Host => "this machine",
            };
            table.add_row([excluded.id.as_str(), by, excluded.reason.as_str()]);
        }
        put(&mut out, &table);
    }
    for note in &plan.notes {
        let _ = writeln!(out, "note: {note}");
    }
    let variants = plan.variants();
    let kernels: u64 = variants.iter().map(|v| u64::from(v.kernels) + u64::from(v.plain_kernels) + 1).sum();
    let _ = writeln!(
        out,
        "\n{} arms, {} runs, {} variants to build ({kernels} kernels), {} left out; seed {}. Nothing was run.",
        plan.arms.len(),
        plan.cells.len(),
        variants.len(),
        plan.excluded.len(),
        plan.seed
    );
    out
}

fn grid(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(head.iter().copied());
    table
}

/// Without the blanks that fill the last column.
fn put(out: &mut String, table: &Table) {
    for line in table.to_string().lines() {
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The workload of most arms is said once, below the table.
fn commonest(texts: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(text, _)| text).unwrap_or_default()
}

fn cut(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

fn variant(variant: &Variant) -> String {
    let mut text = format!("{} × B{} simd{}", variant.kernels, variant.batch_size, variant.simd);
    if variant.plain_kernels > 0 {
        let _ = write!(text, " + {} plain", variant.plain_kernels);
    }
    if variant.padding > 0 {
        let _ = write!(text, " padding {}", variant.padding);
    }
    match variant.split {
        crate::model::arm::Split::Off => {}
        crate::model::arm::Split::PerKernel => text.push_str(" per_kernel"),
        crate::model::arm::Split::PerSource => text.push_str(" per_source"),
    }
    if variant.compile == crate::model::arm::Compile::Whole {
        text.push_str(" whole");
    }
    text
}

fn source(source: &Source) -> String {
    use crate::model::arm::{Mapping, Medium, PageCache, Prot};
    let prot = match source.prot {
        Prot::R => "r",
        Prot::Rw => "rw",
    };
    let mut text = match source.kind {
        SourceKind::None => return "none".to_owned(),
        SourceKind::Host => return "malloc".to_owned(),
        SourceKind::File => format!("file {prot}"),
        SourceKind::Anon => format!("anon {prot}"),
    };
    if source.mapping == Mapping::Shared {
        text.push_str(" shared");
    }
    if source.medium == Medium::Tmpfs {
        text.push_str(" tmpfs");
    }
    if source.page_cache == PageCache::Cold {
        text.push_str(" cold");
    }
    text
}

fn keys(set: &KeySet) -> String {
    let mut shown: Vec<String> =
        set.keys.iter().take(1).map(|(key, value)| format!("{key}={value}")).collect();
    if set.keys.len() > shown.len() {
        shown.push(format!("… ({} keys)", set.keys.len()));
    }
    if shown.is_empty() { "-".to_owned() } else { cut(&shown.join(" "), 44) }
}

fn workload(workload: &Workload) -> String {
    use crate::matrix::units::Size;
    use crate::model::arm::{CommandListKind, CopyEngine};
    if workload.skip_upload {
        return "nothing between".to_owned();
    }
    let times = if workload.repeat == 1 { String::new() } else { format!(" ×{}", workload.repeat) };
    let mut text = format!("{} × {}{times}", workload.copies, Size::show(workload.chunk));
    if workload.no_copy {
        text.push_str(" allocated only");
    }
    for (on, word) in [
        (!workload.one_alloc, "own allocations"),
        (!workload.same_src, "moving source"),
        (workload.late_module, "late module"),
        (workload.command_list == CommandListKind::Regular, "regular list"),
        (workload.copy_engine == CopyEngine::Copy, "copy engine"),
    ] {
        if on {
            let _ = write!(text, ", {word}");
        }
    }
    for (bytes, word) in [(workload.guard, "guard"), (workload.ballast, "ballast")] {
        if bytes > 0 {
            let _ = write!(text, ", {word} {}", Size::show(bytes));
        }
    }
    text
}

fn expectation(arm: &Arm) -> String {
    let Some(expect) = &arm.expect else { return "-".to_owned() };
    let mut text = expect.verdict.word().to_owned();
    match expect.per_dispatch {
        Some(true) => text.push_str(" pd=1"),
        Some(false) => text.push_str(" pd=0"),
        None => {}
    }
    if let Some(hazard) = expect.hazard {
        text.push_str(if hazard { " hazard" } else { " no hazard" });
    }
    text
}
