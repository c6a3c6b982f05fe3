//! `--format html`: one file with everything in it, readable without a network, on a phone, by keyboard, in dark and light.

mod bisect_path;
mod boundary_plot;
mod evidence;
mod heat;
mod overview;
mod pairs;
mod timeline_plot;

use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::headline::{self, Headline};
use super::section::{Report, Section};

pub use bisect_path::Path as SearchPath;

/// Bytes of a log (unpacked), by results directory and path below it; `None` = not there.
pub type Logs<'a> = &'a dyn Fn(&Path, &str) -> Option<Vec<u8>>;

/// What the reader of the page may choose when it is made.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The two axes of the heat map; chosen from the results where absent.
    pub axes: Option<(String, String)>,
    /// Searches whose results are among those shown.
    pub searches: Vec<SearchPath>,
}

/// The page. `Err`: an axis was asked for that no arm has, with those there are.
pub fn render(report: &Report, choice: &Choice, logs: Logs<'_>) -> Result<String, String> {
    if let Some((a, b)) = &choice.axes {
        let known = heat::axes_of(report);
        for axis in [a, b] {
            if !known.contains(axis.as_str()) {
                let list: Vec<&str> = known.into_iter().collect();
                return Err(format!("no arm has an axis \"{axis}\"; there are {}", list.join(", ")));
            }
        }
    }
    let headline = Headline::of(report);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (headline.text) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                a.skip href="#main" { "Skip to the results" }
                header {
                    p.tool { "repro-matrix" }
                    h1 { (headline.text) }
                    @if report.sections.iter().any(Section::simulated) {
                        p.model { "The device is simulated: the real driver's behaviour on a model. A prediction, not a measurement on silicon." }
                    }
                    @for problem in &report.problems {
                        p.problem role="alert" { "Not read: " (problem) }
                    }
                }
                main #main {
                    @for search in &choice.searches { (bisect_path::panel(search)) }
                    @for (index, section) in report.sections.iter().enumerate() {
                        (self::section(section, index, report.sections.len() > 1, choice, logs))
                    }
                }
                footer { p { "Written by repro-matrix " (env!("CARGO_PKG_VERSION")) "." } }
                script { (PreEscaped(include_str!("script.js"))) }
            }
        }
    };
    Ok(page.into_string())
}

fn section(section: &Section, index: usize, several: bool, choice: &Choice, logs: Logs<'_>) -> Markup {
    let id = |part: &str| format!("s{index}-{part}");
    let timelines = evidence::timelines(section, logs);
    html! {
        section #(id("section")) aria-labelledby=(id("title")) {
            @if several { h2 #(id("title")) { (headline::line(section)) } }
            @else { h2.unseen #(id("title")) { (section.key.matrix) } }
            dl.facts {
                dt { "Device" } dd { (section.key.device) }
                dt { "Driver" } dd { (section.driver_line()) }
                dt { "Machine" } dd { (section.key.machine) }
                dt { "Started" } dd { time datetime=(section.started) { (section.started) } }
                dt { "Seed" } dd { (section.seed) }
            }
            (overview::findings(section))
            (heat::panel(section, index, choice))
            (overview::arms(section, index))
            (boundary_plot::panel(section))
            (pairs::panel(section, index, &timelines))
            (evidence::panel(section, index, &timelines, logs))
            (overview::left_out(section))
        }
    }
}

/// Anchor of an arm's evidence.
fn anchor(index: usize, arm: &str) -> String {
    let safe: String =
        arm.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("s{index}-arm-{safe}")
}

/// A wide thing that scrolls by itself, also by keyboard.
fn scroll(label: &str, inner: &Markup) -> Markup {
    html! { div.scroll role="region" aria-label=(label) tabindex="0" { (inner) } }
}

/// The verdict as a coloured word: the word says it, the colour helps.
fn badge(word: &str, text: &str) -> Markup {
    html! { span class={ "v " (word) } { (text) } }
}

/// A number for an SVG attribute.
fn px(value: f64) -> String {
    format!("{value:.1}")
}
