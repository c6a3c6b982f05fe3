//! Checks that need the cells: ids met twice, sources too small for their workload, patterns that match nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::super::expand::{MOST_CELLS, MOST_RUNS, cell_count, expand};
use super::super::load::Named;
use super::super::problem::Problems;
use super::super::schema::SourceTable;
use super::super::units::{At, Size};
use super::super::{Matrix, Problem};
use crate::model::arm::{
    Arm, CommandListKind, CopyEngine, ExpectedVerdict, FrontEnd, ModuleFormat, SourceKind, Variant, Workload,
};

pub fn check(matrix: &Matrix, sources: &Named<SourceTable>, problems: &mut Problems<'_>) {
    for product in &matrix.products {
        if cell_count(product) > MOST_CELLS {
            problems.push(Problem::new(
                product.span.clone(),
                format!("the product has {} arms; {MOST_CELLS} is the most", cell_count(product)),
            ));
        }
    }
    if !problems.is_empty() {
        return;
    }
    let candidates = expand(matrix);
    // Every run is a line of the results and a process: a product too many is a slip.
    let runs: u64 = candidates.iter().map(|candidate| u64::from(candidate.arm.repeats)).sum();
    if candidates.len() > MOST_CELLS || runs > MOST_RUNS {
        problems.push(Problem::new(
            0..0,
            format!(
                "the matrix has {} arms and {runs} runs; {MOST_CELLS} and {MOST_RUNS} are the most",
                candidates.len()
            ),
        ));
        return;
    }

    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
    for candidate in &candidates {
        let arm = &candidate.arm;
        if let Some(&start) = first.get(arm.id.as_str()) {
            let problem =
                Problem::new(candidate.origin.clone(), format!("arm \"{}\" is defined twice", arm.id));
            let first = format!("first at line {}", problems.line(start));
            problems.push(problem.label(first).help("give one of them an `id`, or its product a `prefix`"));
        } else {
            first.insert(&arm.id, candidate.origin.start);
        }
        // A command makes of its source what it likes.
        if candidate.excluded.is_none()
            && arm.variant.front_end != FrontEnd::Command
            && pairs.insert((&arm.source.name, &arm.workload.name))
        {
            source_fits(arm, candidate.origin.clone(), sources, problems);
        }
        if candidate.excluded.is_none()
            && arm.variant.front_end == FrontEnd::Sycl
            && let Some(what) = sycl_lacks(&arm.variant, &arm.workload)
        {
            problems.push(
                Problem::new(candidate.origin.clone(), format!("\"{}\" is of the sycl front end, which has no {what}", arm.id))
                    .help("the SYCL runtime chooses command lists and engines itself; leave it out or use the level-zero front end"),
            );
        }
        if arm.positive_control
            && let Some(expect) = &arm.expect
            && !matches!(expect.verdict, ExpectedVerdict::Corrupt | ExpectedVerdict::WrongBefore)
        {
            problems.push(
                Problem::new(
                    candidate.origin.clone(),
                    format!("\"{}\" is a positive control and expects no corruption", arm.id),
                )
                .help("a positive control is an arm that is known to be corrupt"),
            );
        }
    }
    patterns_match(matrix, problems);
}

/// What an arm asks for that this front end cannot do; the runtime chooses command lists and engines itself.
fn sycl_lacks(variant: &Variant, workload: &Workload) -> Option<&'static str> {
    let missing = [
        (workload.late_module, "late_module"),
        (workload.command_list == CommandListKind::Regular, "command_list = \"regular\""),
        (workload.copy_engine == CopyEngine::Copy, "copy_engine = \"copy\""),
        (variant.plain_kernels > 0, "plain_kernels"),
        (variant.padding > 0, "padding"),
        (variant.format == ModuleFormat::Spirv, "format = \"spirv\""),
    ];
    missing.iter().find(|(asked, _)| *asked).map(|(_, what)| *what)
}

fn source_fits(
    arm: &Arm,
    origin: std::ops::Range<usize>,
    sources: &Named<SourceTable>,
    problems: &mut Problems<'_>,
) {
    let copies = !arm.workload.no_copy && !arm.workload.skip_upload;
    if !copies {
        return;
    }
    if arm.source.kind == SourceKind::None {
        problems.push(
            Problem::new(
                origin,
                format!("\"{}\" copies, and its source \"{}\" has no bytes", arm.id, arm.source.name),
            )
            .help("a source of kind \"none\" goes with a workload that has no_copy or skip_upload"),
        );
        return;
    }
    let needed = arm.workload.chunk.saturating_mul(2);
    if arm.source.size < needed {
        let table = sources.get(&arm.source.name);
        let at = table.map_or(origin, |(name, table)| table.size.as_ref().map_or(name.clone(), At::span));
        problems.push(
            Problem::new(
                at,
                format!(
                    "source \"{}\" has {}: too small for workload \"{}\"",
                    arm.source.name,
                    Size::show(arm.source.size),
                    arm.workload.name
                ),
            )
            .label(format!(
                "at least twice the chunk of {}: {}",
                Size::show(arm.workload.chunk),
                Size::show(needed)
            )),
        );
    }
}

fn patterns_match(matrix: &Matrix, problems: &mut Problems<'_>) {
    for product in &matrix.products {
        let points = super::super::expand::points(product);
        for exclude in &product.exclude {
            if !points.iter().any(|point| exclude.pattern.matches(point)) {
                problems.push(Problem::new(exclude.span.clone(), "this exclusion matches no arm"));
            }
        }
        for case in &product.cases {
            if !points.iter().chain(&product.include).any(|point| case.pattern.matches(point)) {
                problems.push(Problem::new(case.span.clone(), "this case matches no arm"));
            }
        }
    }
}
