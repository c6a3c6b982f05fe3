//! Products and arms: names resolved against what is defined, with the nearest name where there is none.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::load::{Wire, shorten};
use super::super::problem::{Problems, nearest};
use super::super::schema::{ArmTable, DefaultsTable, Expect, ProductTable};
use super::super::units::{At, OneOrMany};
use super::super::{Axes, Case, Exclude, Pattern, Point, Problem, Product, Settings, Single, Usual};
use super::{DEFAULT, Overrides, good_name, good_period, good_repeats, is_device, settings};
use crate::model::arm::Expectation;

/// An axis whose values are defined in the file.
struct Section {
    /// As messages call it.
    word: &'static str,
    /// Name → line of its definition; `None` for what exists without being written.
    defined: BTreeMap<String, Option<usize>>,
    unreadable: Vec<String>,
}

pub struct Names {
    variants: Section,
    sources: Section,
    keys: Section,
    workloads: Section,
    /// What an arm lacks may be in a key of [defaults] that could not be read.
    defaults_damaged: bool,
}

impl Section {
    fn new<'n>(
        word: &'static str,
        section: &'static str,
        defined: impl Iterator<Item = (&'n String, usize)>,
        wire: &Wire,
    ) -> Section {
        Section {
            word,
            defined: defined.map(|(name, line)| (name.clone(), Some(line))).collect(),
            unreadable: wire.unreadable.get(section).cloned().unwrap_or_default(),
        }
    }

    fn with_default(mut self) -> Section {
        self.defined.entry(DEFAULT.to_owned()).or_insert(None);
        self
    }

    fn check(&self, name: &At<String>, problems: &mut Problems<'_>) {
        let text = name.get();
        if self.defined.contains_key(text) || self.unreadable.contains(text) {
            return;
        }
        let problem = Problem::new(name.span(), format!("unknown {} \"{}\"", self.word, shorten(text)));
        problems.push(match nearest(text, self.defined.keys().map(String::as_str)) {
            Some(near) => match self.defined.get(near).copied().flatten() {
                Some(line) => problem.label(format!("did you mean \"{near}\"? (defined at line {line})")),
                None => problem.label(format!("did you mean \"{near}\"?")),
            },
            None if self.defined.is_empty() => problem.help(format!("no {} is defined", self.word)),
            None => {
                let mut known: Vec<&str> = self.defined.keys().take(12).map(String::as_str).collect();
                if self.defined.len() > known.len() {
                    known.push("…");
                }
                problem.help(format!("defined: {}", known.join(", ")))
            }
        });
    }
}

/// Axis values of one cell as a table writes them.
struct Written<'w> {
    variant: Option<&'w At<String>>,
    source: Option<&'w At<String>>,
    keys: Option<&'w At<String>>,
    workload: Option<&'w At<String>>,
    driver: Option<&'w At<String>>,
    runtime: Option<&'w At<String>>,
    device: Option<&'w At<String>>,
}

/// The same fields of tables of different types.
macro_rules! written {
    ($table:expr) => {
        Written {
            variant: $table.variant.as_ref(),
            source: $table.source.as_ref(),
            keys: $table.keys.as_ref(),
            workload: $table.workload.as_ref(),
            driver: $table.driver.as_ref(),
            runtime: $table.runtime.as_ref(),
            device: $table.device.as_ref(),
        }
    };
}

macro_rules! pattern {
    ($names:expr, $table:expr, $axes:expr, $problems:expr) => {
        Pattern {
            variant: within($table.variant.as_ref(), &$axes.variants, "variants", $problems),
            source: within($table.source.as_ref(), &$axes.sources, "sources", $problems),
            keys: within($table.keys.as_ref(), &$axes.keys, "keys", $problems),
            workload: within($table.workload.as_ref(), &$axes.workloads, "workloads", $problems),
            driver: within($table.driver.as_ref(), &$axes.drivers, "drivers", $problems),
            runtime: within($table.runtime.as_ref(), &$axes.runtimes, "runtimes", $problems),
            device: within($table.device.as_ref(), &$axes.devices, "devices", $problems),
        }
    };
}

impl Names {
    pub fn new(wire: &Wire, problems: &Problems<'_>) -> Names {
        let line = |at: &Range<usize>| problems.line(at.start);
        let variants = wire.variants.iter().map(|(name, (at, _))| (name, line(at)));
        let sources = wire.sources.iter().map(|(name, (at, _))| (name, line(at)));
        let keys = wire.keys.iter().map(|(name, (at, _))| (name, line(at)));
        let workloads = wire.workloads.iter().map(|(name, (at, _))| (name, line(at)));
        Names {
            variants: Section::new("variant", "variants", variants, wire),
            sources: Section::new("source", "sources", sources, wire),
            keys: Section::new("debug-key set", "keys", keys, wire).with_default(),
            workloads: Section::new("workload", "workloads", workloads, wire).with_default(),
            defaults_damaged: wire.defaults_damaged,
        }
    }

    /// The names in an arm of which not all could be read.
    pub fn mentioned_by_arm(&self, table: &ArmTable, problems: &mut Problems<'_>) {
        self.check(&written!(table), problems);
    }

    /// The names in a product of which not all could be read.
    pub fn mentioned_by_product(&self, table: &ProductTable, problems: &mut Problems<'_>) {
        let axes = [
            (&table.variants, &self.variants),
            (&table.sources, &self.sources),
            (&table.keys, &self.keys),
            (&table.workloads, &self.workloads),
        ];
        for (written, section) in axes {
            for name in written.iter().flat_map(|names| &names.0) {
                section.check(name, problems);
            }
        }
        for include in &table.include {
            self.check(&written!(include), problems);
        }
    }

    pub fn usual(&self, defaults: &DefaultsTable, problems: &mut Problems<'_>) -> Usual {
        let written = written!(defaults);
        self.check(&written, problems);
        let or = |name: Option<&At<String>>, other: &str| name.map_or(other, |name| name.get()).to_owned();
        Usual {
            keys: or(written.keys, DEFAULT),
            workload: or(written.workload, DEFAULT),
            driver: or(written.driver, DEFAULT),
            runtime: or(written.runtime, DEFAULT),
            device: or(written.device, "auto"),
        }
    }

    fn check(&self, written: &Written<'_>, problems: &mut Problems<'_>) {
        let sections = [
            (written.variant, &self.variants),
            (written.source, &self.sources),
            (written.keys, &self.keys),
            (written.workload, &self.workloads),
        ];
        for (name, section) in sections {
            if let Some(name) = name {
                section.check(name, problems);
            }
        }
        if let Some(driver) = written.driver {
            good_name(driver.get(), driver.span(), "the name of a driver build", problems);
        }
        if let Some(runtime) = written.runtime {
            good_name(runtime.get(), runtime.span(), "the name of a SYCL runtime", problems);
        }
        if let Some(device) = written.device {
            check_device(device, problems);
        }
    }

    fn point(
        &self,
        written: &Written<'_>,
        at: Range<usize>,
        what: &str,
        defaults: &DefaultsTable,
        usual: &Usual,
        problems: &mut Problems<'_>,
    ) -> Option<Point> {
        self.check(written, problems);
        let mut needed = |own: Option<&At<String>>, default: Option<&At<String>>, field: &str| {
            let name = own.or(default);
            if name.is_none() && !self.defaults_damaged {
                problems.push(
                    Problem::new(at.clone(), format!("{what} has no {field}"))
                        .help(format!("say `{field}` here or in [defaults]")),
                );
            }
            name.map(|name| name.get().clone())
        };
        let variant = needed(written.variant, defaults.variant.as_ref(), "variant");
        let source = needed(written.source, defaults.source.as_ref(), "source");
        let or = |name: Option<&At<String>>, other: &str| name.map_or(other, |name| name.get()).to_owned();
        Some(Point {
            variant: variant?,
            source: source?,
            keys: or(written.keys, &usual.keys),
            workload: or(written.workload, &usual.workload),
            driver: or(written.driver, &usual.driver),
            runtime: or(written.runtime, &usual.runtime),
            device: or(written.device, &usual.device),
        })
    }

    pub fn single(
        &self,
        arm: &At<ArmTable>,
        defaults: &DefaultsTable,
        usual: &Usual,
        base: &Settings,
        problems: &mut Problems<'_>,
    ) -> Option<Single> {
        let table = arm.get();
        let at = table.id.as_ref().map_or(arm.span(), At::span);
        if let Some(id) = &table.id {
            check_id(id, problems);
        }
        if let Some(comparison) = &table.comparison {
            check_id(comparison, problems);
        }
        let point = self.point(&written!(table), at.clone(), "the arm", defaults, usual, problems);
        let settings = settings(
            base,
            Overrides {
                observers: table.observers.as_deref(),
                repeats: table.repeats.as_ref(),
                timeout: table.timeout.as_ref(),
                inactivity: table.inactivity.as_ref(),
            },
            problems,
        );
        Some(Single {
            id: table.id.as_ref().map(|id| id.get().clone()),
            point: point?,
            expect: table.expect.as_ref().map(|expect| expectation(expect, problems)),
            comparison: table.comparison.as_ref().map(|name| name.get().clone()),
            note: table.note.clone().unwrap_or_default(),
            positive_control: table.positive_control.unwrap_or(false),
            settings,
            span: at,
        })
    }

    pub fn product(
        &self,
        index: usize,
        product: &At<ProductTable>,
        defaults: &DefaultsTable,
        usual: &Usual,
        base: &Settings,
        problems: &mut Problems<'_>,
    ) -> Option<Product> {
        let (table, at) = (product.get(), product.span());
        for name in table.prefix.iter().chain(&table.comparison) {
            check_id(name, problems);
        }
        let default = |name: &Option<At<String>>| name.iter().map(|name| name.get().clone()).collect();
        let mut axis =
            |written: &Option<OneOrMany>, section: Option<&Section>, usual: Vec<String>, word: &str| {
                let Some(OneOrMany(names)) = written else {
                    if usual.is_empty() && !self.defaults_damaged {
                        problems.push(
                            Problem::new(at.clone(), format!("the product has no {word}"))
                                .help(format!("say `{word}` here or a default in [defaults]")),
                        );
                    }
                    return usual;
                };
                if names.is_empty() {
                    problems
                        .push(Problem::new(at.clone(), format!("the product has an empty list of {word}")));
                }
                let mut values: Vec<String> = Vec::new();
                for name in names {
                    match (section, word) {
                        (Some(section), _) => section.check(name, problems),
                        (None, "devices") => check_device(name, problems),
                        (None, "runtimes") => {
                            good_name(name.get(), name.span(), "the name of a SYCL runtime", problems);
                        }
                        (None, _) => {
                            good_name(name.get(), name.span(), "the name of a driver build", problems);
                        }
                    }
                    if values.contains(name.get()) {
                        let message = format!("\"{}\" is named twice in {word}", shorten(name.get()));
                        problems.push(Problem::new(name.span(), message));
                    }
                    values.push(name.get().clone());
                }
                values
            };
        let axes = Axes {
            variants: axis(&table.variants, Some(&self.variants), default(&defaults.variant), "variants"),
            sources: axis(&table.sources, Some(&self.sources), default(&defaults.source), "sources"),
            keys: axis(&table.keys, Some(&self.keys), vec![usual.keys.clone()], "keys"),
            workloads: axis(
                &table.workloads,
                Some(&self.workloads),
                vec![usual.workload.clone()],
                "workloads",
            ),
            drivers: axis(&table.drivers, None, vec![usual.driver.clone()], "drivers"),
            runtimes: axis(&table.runtimes, None, vec![usual.runtime.clone()], "runtimes"),
            devices: axis(&table.devices, None, vec![usual.device.clone()], "devices"),
        };
        let include: Vec<Point> = table
            .include
            .iter()
            .filter_map(|include| {
                self.point(&written!(include), at.clone(), "an included arm", defaults, usual, problems)
            })
            .collect();
        // A case may speak of included arms too.
        let mut all = axes.clone();
        for point in &include {
            for (values, value) in [
                (&mut all.variants, &point.variant),
                (&mut all.sources, &point.source),
                (&mut all.keys, &point.keys),
                (&mut all.workloads, &point.workload),
                (&mut all.drivers, &point.driver),
                (&mut all.runtimes, &point.runtime),
                (&mut all.devices, &point.device),
            ] {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
        let exclude = table
            .exclude
            .iter()
            .map(|exclude| Exclude {
                pattern: pattern!(self, exclude.get(), axes, problems),
                reason: exclude.get().reason.clone(),
                span: exclude.span(),
            })
            .collect();
        let cases = table
            .case
            .iter()
            .map(|case| {
                let (table, span) = (case.get(), case.span());
                Case {
                    pattern: pattern!(self, table, all, problems),
                    expect: table.expect.as_ref().map(|expect| expectation(expect, problems)),
                    note: table.note.clone(),
                    timeout: table.timeout.as_ref().map(|time| good_period(time, "timeout", problems)),
                    repeats: table.repeats.as_ref().map(|repeats| good_repeats(repeats, problems)),
                    positive_control: table.positive_control.unwrap_or(false),
                    span,
                }
            })
            .collect();
        let settings = settings(
            base,
            Overrides {
                observers: table.observers.as_deref(),
                repeats: table.repeats.as_ref(),
                timeout: table.timeout.as_ref(),
                inactivity: table.inactivity.as_ref(),
            },
            problems,
        );
        let name = |at: &At<String>| at.get().clone();
        let comparison = table.comparison.as_ref().or(table.prefix.as_ref()).map(name);
        Some(Product {
            prefix: table.prefix.as_ref().map(name),
            axes,
            include,
            exclude,
            expect: table.expect.as_ref().map(|expect| expectation(expect, problems)),
            comparison: comparison.or_else(|| Some(format!("product-{}", index + 1))),
            note: table.note.clone().unwrap_or_default(),
            settings,
            cases,
            span: at,
        })
    }
}

fn check_device(device: &At<String>, problems: &mut Problems<'_>) {
    if !is_device(device.get()) {
        problems.push(
            Problem::new(device.span(), format!("\"{}\" is not a device", shorten(device.get())))
                .help("auto, sim:PROFILE (sim:a770) or pci:DDDD:BB:DD.F (pci:0000:09:00.0)"),
        );
        return;
    }
    // Unlike a card, a simulated device is there on every machine or on none.
    if let Some(profile) = device.get().strip_prefix("sim:") {
        let names: Vec<&str> = xe_sim::profile::all().map(|known| known.name).collect();
        if !names.contains(&profile) {
            let problem = Problem::new(device.span(), format!("no simulated device \"{profile}\""))
                .help(format!("there are sim:{}", names.join(", sim:")));
            problems.push(match nearest(profile, names.iter().copied()) {
                Some(near) => problem.label(format!("did you mean \"sim:{near}\"?")),
                None => problem,
            });
        }
    }
}

/// An id is names with slashes between them.
fn check_id(id: &At<String>, problems: &mut Problems<'_>) {
    if id.get().len() > 200 {
        problems.push(Problem::new(id.span(), "an id has at most 200 characters"));
        return;
    }
    for part in id.get().split('/') {
        if !good_name(part, id.span(), "a part of an id", problems) {
            return;
        }
    }
}

/// The names of a pattern, each of which must be a value of the axis: another could match nothing.
fn within(
    written: Option<&OneOrMany>,
    axis: &[String],
    word: &str,
    problems: &mut Problems<'_>,
) -> Vec<String> {
    let mut values = Vec::new();
    for name in written.iter().flat_map(|names| &names.0) {
        if !axis.contains(name.get()) {
            let message = format!("\"{}\" is not among the {word} of this product", shorten(name.get()));
            let problem = Problem::new(name.span(), message);
            problems.push(match nearest(name.get(), axis.iter().map(String::as_str)) {
                Some(near) => problem.label(format!("did you mean \"{near}\"?")),
                None => problem,
            });
        }
        values.push(name.get().clone());
    }
    values
}

fn expectation(written: &At<Expect>, problems: &mut Problems<'_>) -> Expectation {
    let table = &written.get().0;
    if let (Some(wrong), Some(untouched)) = (table.wrong, table.untouched)
        && untouched > wrong
    {
        let message = format!("{untouched} untouched of {wrong} wrong: an untouched element is a wrong one");
        problems.push(Problem::new(written.span(), message));
    }
    Expectation {
        verdict: table.verdict,
        wrong: table.wrong,
        untouched: table.untouched,
        per_dispatch: table.per_dispatch,
        hazard: table.hazard,
        reason: table.reason.clone(),
        tracker: table.tracker.clone(),
    }
}
