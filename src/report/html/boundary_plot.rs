//! The boundary plot: where the sizes predict the per-dispatch switch, against what the driver said and did.

use maud::{Markup, html};

use crate::report::boundary::{self, Point};
use crate::report::section::Section;
use crate::report::words::grouped;

use super::{px, scroll};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 120.0;
const RIGHT: f64 = 20.0;
/// Heights of the two lanes.
const OVER: f64 = 50.0;
const UNDER: f64 = 115.0;

pub(super) fn panel(section: &Section) -> Markup {
    let points = boundary::points(section);
    let Some(first) = points.first() else { return html! {} };
    let odd = points.iter().filter(|point| !point.as_predicted()).count();
    let plot = plot(&points, first.global_memory);
    html! {
        h3 { "Boundary: predicted against measured" }
        p {
            "Private memory of a module (kernels × bytes per thread × hardware threads) against the driver's limit of "
            (grouped(first.global_memory)) " B. "
            @if odd == 0 { "Every arm is on the side that the sizes predict." }
            @else { strong { (odd) " arms are not where the sizes predict." } }
        }
        (scroll("Boundary plot", &plot))
        (scroll("Boundary points", &table(&points)))
    }
}

fn plot(points: &[Point], limit: u64) -> Markup {
    let values = || points.iter().map(|p| p.predicted).chain([limit]);
    let (low, high) = (values().min().unwrap_or(0) as f64, values().max().unwrap_or(1) as f64);
    let margin = ((high - low) * 0.08).max(1.0);
    let (low, high) = (low - margin, high + margin);
    let x = |bytes: u64| LEFT + (WIDTH - LEFT - RIGHT) * (bytes as f64 - low) / (high - low);
    // Arms of equal size would hide each other: they are spread upwards.
    let mut stacked: Vec<(&Point, usize)> = Vec::new();
    for point in points {
        let below = stacked
            .iter()
            .filter(|(p, _)| p.flag == point.flag && (x(p.predicted) - x(point.predicted)).abs() < 10.0)
            .count();
        stacked.push((point, below));
    }
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) width=(WIDTH) role="img" aria-label="Verdicts by predicted private memory; the same numbers are in the table below" {
            text x="4" y=(OVER + 4.0) { "Per Dispatch 1" }
            text x="4" y=(UNDER + 4.0) { "Per Dispatch 0" }
            line class="axis" x1=(LEFT) x2=(WIDTH - RIGHT) y1="140" y2="140" {}
            line class="threshold" x1=(px(x(limit))) x2=(px(x(limit))) y1="20" y2="140" {}
            text x=(px(x(limit))) y="14" text-anchor="middle" { "limit" }
            @for (point, below) in &stacked {
                @let y = if point.flag { OVER } else { UNDER } - 11.0 * (*below).min(4) as f64;
                @let tip = format!("{}: {} B, {}", point.arm, grouped(point.predicted), point.verdict);
                @if point.corrupt {
                    // Shape and colour: a square is faulty, a circle is not.
                    rect class="bad dot" x=(px(x(point.predicted) - 5.0)) y=(px(y - 5.0)) width="10" height="10" { title { (tip) } }
                } @else {
                    circle class="good dot" cx=(px(x(point.predicted))) cy=(px(y)) r="5" { title { (tip) } }
                }
            }
            text.dim x=(LEFT) y="158" { (gb(low)) }
            text.dim x=(WIDTH - RIGHT) y="158" text-anchor="end" { (gb(high)) }
            text.dim x=(LEFT) y="180" { "■ corrupt   ● not corrupt" }
        }
    }
}

fn gb(bytes: f64) -> String {
    format!("{:.2} GB", bytes / 1e9)
}

fn table(points: &[Point]) -> Markup {
    html! {
        table {
            thead { tr {
                @for head in ["arm", "kernels", "bytes / thread", "predicted B", "measured B", "predicted side", "Per Dispatch", "verdict"] {
                    th scope="col" { (head) }
                }
            } }
            tbody {
                @for p in points {
                    tr {
                        th scope="row" { (p.arm) }
                        td.n { (p.kernels) }
                        td.n { (grouped(p.per_thread)) }
                        td.n { (grouped(p.predicted)) }
                        td.n { (grouped(p.measured)) @if p.predicted != p.measured { " ≠" } }
                        td { (if p.predicted_flag() { "over" } else { "under" }) @if !p.as_predicted() { " ✗" } }
                        td.n { (u8::from(p.flag)) }
                        td { (p.verdict) }
                    }
                }
            }
        }
    }
}
