//! Matrix → cells, in the order of the file. Excluded cells are kept with their reason.

use std::ops::Range;

use super::{Matrix, Point, Product, Settings, Usual};
use crate::model::arm::{Arm, Expectation, FrontEnd};

/// Arms of one matrix.
pub const MOST_CELLS: usize = 20_000;
/// Runs of one matrix.
pub const MOST_RUNS: u64 = 1_000_000;

/// A cell before the host has its say.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub arm: Arm,
    /// Why the matrix itself leaves it out.
    pub excluded: Option<String>,
    /// Bytes of the file where it comes from.
    pub origin: Range<usize>,
}

/// Combinations plus included arms; saturates.
pub fn cell_count(product: &Product) -> usize {
    let axes = &product.axes;
    [&axes.variants, &axes.sources, &axes.keys, &axes.workloads, &axes.drivers, &axes.runtimes, &axes.devices]
        .iter()
        .fold(1_usize, |cells, axis| cells.saturating_mul(axis.len()))
        .saturating_add(product.include.len())
}

/// The combinations of the axes, in the order of the file, the last axis fastest.
pub fn points(product: &Product) -> Vec<Point> {
    let axes = &product.axes;
    let mut points = Vec::new();
    for variant in &axes.variants {
        for source in &axes.sources {
            for keys in &axes.keys {
                for workload in &axes.workloads {
                    for driver in &axes.drivers {
                        for runtime in &axes.runtimes {
                            for device in &axes.devices {
                                points.push(Point {
                                    variant: variant.clone(),
                                    source: source.clone(),
                                    keys: keys.clone(),
                                    workload: workload.clone(),
                                    driver: driver.clone(),
                                    runtime: runtime.clone(),
                                    device: device.clone(),
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    points
}

/// Every cell of a valid matrix. A point that names something undefined gives no cell; validation has refused it.
pub fn expand(matrix: &Matrix) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for product in &matrix.products {
        let combined = points(product).into_iter().map(|point| (point, true));
        let included = product.include.iter().cloned().map(|point| (point, false));
        for (point, excludable) in combined.chain(included) {
            let excluded = product
                .exclude
                .iter()
                .find(|exclude| excludable && exclude.pattern.matches(&point))
                .map(|exclude| exclude.reason.clone())
                .or_else(|| no_runtime(matrix, &point));
            let (mut settings, mut expect) = (product.settings.clone(), product.expect.clone());
            let (mut note, mut positive_control) = (product.note.clone(), false);
            for case in product.cases.iter().filter(|case| case.pattern.matches(&point)) {
                expect = case.expect.clone().or(expect);
                note = case.note.clone().unwrap_or(note);
                settings.timeout = case.timeout.unwrap_or(settings.timeout);
                settings.repeats = case.repeats.unwrap_or(settings.repeats);
                positive_control |= case.positive_control;
            }
            let about =
                About { expect, comparison: product.comparison.clone(), note, positive_control, settings };
            let id = id(product.prefix.as_deref(), &point, &matrix.usual);
            if let Some(arm) = arm(matrix, id, &point, about) {
                candidates.push(Candidate { arm, excluded, origin: product.span.clone() });
            }
        }
    }
    for single in &matrix.singles {
        let about = About {
            expect: single.expect.clone(),
            comparison: single.comparison.clone(),
            note: single.note.clone(),
            positive_control: single.positive_control,
            settings: single.settings.clone(),
        };
        let id = single.id.clone().unwrap_or_else(|| id(None, &single.point, &matrix.usual));
        if let Some(arm) = arm(matrix, id, &single.point, about) {
            candidates.push(Candidate { arm, excluded: None, origin: single.span.clone() });
        }
    }
    candidates
}

/// `variant/source`, then what differs from the usual. Depends on nothing but the point, so that an arm keeps its id
/// when the file is reordered or grows.
fn id(prefix: Option<&str>, point: &Point, usual: &Usual) -> String {
    let mut parts: Vec<&str> = prefix.into_iter().collect();
    parts.extend([point.variant.as_str(), point.source.as_str()]);
    for (value, usual) in [
        (&point.keys, &usual.keys),
        (&point.workload, &usual.workload),
        (&point.driver, &usual.driver),
        (&point.runtime, &usual.runtime),
        (&point.device, &usual.device),
    ] {
        if value != usual {
            parts.push(value);
        }
    }
    // `sim:a770`: a colon is no character of an id.
    parts.join("/").replace(':', "-")
}

fn is_sycl(matrix: &Matrix, point: &Point) -> bool {
    matrix.variants.get(&point.variant).is_some_and(|variant| variant.front_end == FrontEnd::Sycl)
}

/// A variant of another front end would be run once more under each runtime's name, with no difference at all.
fn no_runtime(matrix: &Matrix, point: &Point) -> Option<String> {
    let needless = point.runtime != matrix.usual.runtime && !is_sycl(matrix, point);
    needless.then(|| format!("runtime {} is of the sycl front end only", point.runtime))
}

/// What is said of a cell besides its axes.
struct About {
    expect: Option<Expectation>,
    comparison: Option<String>,
    note: String,
    positive_control: bool,
    settings: Settings,
}

fn arm(matrix: &Matrix, id: String, point: &Point, about: About) -> Option<Arm> {
    Some(Arm {
        id,
        variant: matrix.variants.get(&point.variant)?.clone(),
        source: matrix.sources.get(&point.source)?.clone(),
        workload: matrix.workloads.get(&point.workload)?.clone(),
        keys: matrix.keys.get(&point.keys)?.clone(),
        driver: point.driver.clone(),
        runtime: is_sycl(matrix, point).then(|| point.runtime.clone()),
        faults: Vec::new(),
        device: point.device.clone(),
        observers: about.settings.observers,
        not_observed: Vec::new(),
        repeats: about.settings.repeats,
        timeout: about.settings.timeout,
        inactivity: about.settings.inactivity,
        expect: about.expect,
        positive_control: about.positive_control,
        comparison: about.comparison,
        note: about.note,
    })
}
