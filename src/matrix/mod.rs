//! Stage: matrix. TOML text → [`Matrix`]; every error has a place in the file. Runs nothing.
//!
//! [`load`] reads bytes into the wire tables of [`schema`], [`validate`] resolves names and defaults and refuses what
//! cannot work, [`expand`] enumerates the cells. The format is described in `docs/matrix.md`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::model::arm::{Expectation, KeySet, Observer, Source, Variant, Workload};

pub mod expand;
pub mod load;
pub mod problem;
pub mod schema;
pub mod tidy;
pub mod units;
pub mod validate;
mod wording;

pub use load::{load, parse, utf8};
pub use problem::{LoadError, Problem};

/// The commented example that `repro-matrix schema --example` prints; a test loads it.
pub const EXAMPLE: &str = include_str!("example.toml");

/// A valid matrix: names resolved, defaults filled in, cells not yet enumerated.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub name: String,
    pub description: String,
    /// Seed of the run order.
    pub seed: u64,
    pub variants: BTreeMap<String, Variant>,
    pub sources: BTreeMap<String, Source>,
    pub keys: BTreeMap<String, KeySet>,
    pub workloads: BTreeMap<String, Workload>,
    /// The names that an id leaves out, because every arm has them when nothing else is said.
    pub usual: Usual,
    pub products: Vec<Product>,
    pub singles: Vec<Single>,
    /// The file as read, for hashing and for the results directory.
    pub text: Arc<str>,
}

/// Axis values that need not be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usual {
    pub keys: String,
    pub workload: String,
    pub driver: String,
    /// SYCL runtime.
    pub runtime: String,
    pub device: String,
}

/// How a cell is run, apart from what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub observers: Vec<Observer>,
    pub repeats: u32,
    pub timeout: Duration,
    pub inactivity: Option<Duration>,
}

/// The axis values of one cell, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub variant: String,
    pub source: String,
    pub keys: String,
    pub workload: String,
    pub driver: String,
    /// SYCL runtime.
    pub runtime: String,
    pub device: String,
}

/// Some values of some axes; an empty list matches every value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    pub variant: Vec<String>,
    pub source: Vec<String>,
    pub keys: Vec<String>,
    pub workload: Vec<String>,
    pub driver: Vec<String>,
    pub runtime: Vec<String>,
    pub device: Vec<String>,
}

impl Pattern {
    pub fn matches(&self, point: &Point) -> bool {
        let has = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        has(&self.variant, &point.variant)
            && has(&self.source, &point.source)
            && has(&self.keys, &point.keys)
            && has(&self.workload, &point.workload)
            && has(&self.driver, &point.driver)
            && has(&self.runtime, &point.runtime)
            && has(&self.device, &point.device)
    }
}

/// `[[product]]`: every combination of its axes, less the excluded, plus the included.
#[derive(Clone, Debug)]
pub struct Product {
    /// Put before the ids of its cells, with a slash.
    pub prefix: Option<String>,
    pub axes: Axes,
    pub include: Vec<Point>,
    pub exclude: Vec<Exclude>,
    pub expect: Option<Expectation>,
    pub comparison: Option<String>,
    pub note: String,
    pub settings: Settings,
    pub cases: Vec<Case>,
    /// Bytes of the file where it is defined.
    pub span: Range<usize>,
}

#[derive(Clone, Debug)]
pub struct Axes {
    pub variants: Vec<String>,
    pub sources: Vec<String>,
    pub keys: Vec<String>,
    pub workloads: Vec<String>,
    pub drivers: Vec<String>,
    pub runtimes: Vec<String>,
    pub devices: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Exclude {
    pub pattern: Pattern,
    pub reason: String,
    pub span: Range<usize>,
}

/// `[[product.case]]`: what is said of some cells of a product only. The last matching case wins, field by field.
#[derive(Clone, Debug)]
pub struct Case {
    pub pattern: Pattern,
    pub expect: Option<Expectation>,
    pub note: Option<String>,
    pub timeout: Option<Duration>,
    pub repeats: Option<u32>,
    pub positive_control: bool,
    pub span: Range<usize>,
}

/// `[[arm]]`: one named cell.
#[derive(Clone, Debug)]
pub struct Single {
    pub id: Option<String>,
    pub point: Point,
    pub expect: Option<Expectation>,
    pub comparison: Option<String>,
    pub note: String,
    pub positive_control: bool,
    pub settings: Settings,
    pub span: Range<usize>,
}
