//! One arm's bind timeline as a picture.

use maud::{Markup, html};

use crate::model::repro::Phase;
use crate::report::timeline::{Band, Timeline};
use crate::report::words::grouped;

use super::px;

const WIDTH: f64 = 720.0;
const TOP: f64 = 22.0;
const LANE: f64 = 46.0;

pub(super) fn plot(timeline: &Timeline, arm: &str) -> Markup {
    let x = |at: f64| px(at * WIDTH);
    let reached = |bound: bool| timeline.dispatches.iter().filter(|mark| mark.bound == bound).count();
    let label = format!(
        "{arm}: private surface of {} bytes, bound in {} stretches; {} dispatches reach it bound, {} unbound",
        grouped(timeline.surface),
        timeline.bound.len(),
        reached(true),
        reached(false)
    );
    html! {
        svg viewBox=(format!("0 0 {WIDTH} 86")) width=(WIDTH) role="img" aria-label=(label) {
            @for (i, band) in timeline.phases.iter().enumerate() {
                rect class={ "band" (i % 2) } x=(x(band.from)) y="0" width=(x(band.to - band.from)) height="72" {
                    title { (name(band.phase)) ", " (format!("{:.3} s", band.seconds)) }
                }
                @if wide_enough(band) { text.dim x=(px(band.from * WIDTH + 3.0)) y="13" { (name(band.phase)) } }
            }
            line class="unbound" x1="0" x2=(WIDTH) y1=(LANE) y2=(LANE) {}
            @for (from, to) in &timeline.bound {
                rect class="bound" x=(x(*from)) y=(LANE - 8.0) width=(px(((to - from) * WIDTH).max(1.5))) height="16" {}
            }
            @for at in thinned(&timeline.failed) { line class="failed" x1=(x(at)) x2=(x(at)) y1=(TOP) y2=(TOP + 8.0) {} }
            @for mark in &timeline.dispatches {
                @let (at, y) = (mark.at * WIDTH, LANE + 14.0);
                path class=(if mark.bound { "good" } else { "bad" })
                    d=(format!("M{} {} l5 9 h-10 z", px(at), px(y))) {
                    title { "dispatch " (mark.n) ": the surface is " (if mark.bound { "bound" } else { "not bound" }) }
                }
            }
            text.dim x="0" y="84" {
                "▬ bound  ┄ not bound  ▲ dispatch that uses it (red: unbound)"
                @if !timeline.failed.is_empty() { "  | failed bind" }
                @if !timeline.timed { "  (order only, no times)" }
            }
        }
    }
}

/// Room for its name.
fn wide_enough(band: &Band) -> bool {
    (band.to - band.from) * WIDTH > 7.0 * name(band.phase).len() as f64
}

/// Hundreds of failed binds on one pixel are one line.
fn thinned(at: &[f64]) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for next in at {
        if out.last().is_none_or(|last| (next - last).abs() * WIDTH > 1.0) {
            out.push(*next);
        }
    }
    out
}

fn name(phase: Phase) -> &'static str {
    Phase::NAMES.iter().find(|(_, known)| *known == phase).map_or("?", |(name, _)| name)
}
