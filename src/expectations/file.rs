//! The baseline file → [`Baseline`]; every mistake with its place.

use std::path::Path;
use std::sync::Arc;

use miette::NamedSource;
use serde::Deserialize;
use toml::Spanned;

use crate::matrix::problem::{Invalid, Problems};
use crate::matrix::{self, LoadError, Problem};
use crate::model::arm::ExpectedVerdict;

use super::range::Range;

/// Version of the format. A reader refuses a higher one.
pub const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    version: Spanned<u32>,
    matrix: Spanned<String>,
    #[serde(default)]
    range: Vec<RangeTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeTable {
    drivers: Spanned<String>,
    #[serde(default = "any")]
    devices: String,
    #[serde(default)]
    arm: Vec<Spanned<RowTable>>,
}

fn any() -> String {
    "*".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowTable {
    id: Spanned<String>,
    verdict: ExpectedVerdict,
    reason: Spanned<String>,
    tracker: Spanned<String>,
}

/// What is known of one matrix.
#[derive(Clone, Debug)]
pub struct Baseline {
    pub matrix: String,
    /// Bytes of the file: the matrix's name.
    pub matrix_span: std::ops::Range<usize>,
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// File name and text, to point into.
    pub name: String,
    pub text: Arc<str>,
}

/// One expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// An arm's id, or a pattern with `*` and `?`.
    pub id: String,
    pub drivers: Range,
    /// `sim:a770`, or a pattern.
    pub devices: String,
    pub verdict: ExpectedVerdict,
    pub reason: String,
    pub tracker: String,
    /// Bytes of the file: the id.
    pub span: std::ops::Range<usize>,
    /// The range it stands under.
    pub range_span: std::ops::Range<usize>,
}

impl Row {
    pub fn is_pattern(&self) -> bool {
        self.id.contains(['*', '?'])
    }
}

/// Reads a baseline file. `Ok(None)`: there is none.
pub fn load(path: &Path) -> Result<Option<Baseline>, LoadError> {
    let name = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => parse(&name, matrix::utf8(&name, &bytes)?).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LoadError::Read { path: path.to_owned(), source }),
    }
}

/// Reads a baseline from memory.
pub fn parse(name: &str, text: &str) -> Result<Baseline, LoadError> {
    let mut problems = Problems::new(text);
    let rows = read(text, &mut problems);
    match rows {
        Some((matrix, rows)) if problems.is_empty() => Ok(Baseline {
            matrix_span: matrix.span(),
            matrix: matrix.into_inner(),
            rows,
            name: name.to_owned(),
            text: text.into(),
        }),
        _ => Err(invalid(name, text, problems.into_sorted())),
    }
}

/// Problems of a baseline that was read, as an error.
pub fn invalid(name: &str, text: &str, problems: Vec<Problem>) -> LoadError {
    let text: Arc<str> = text.into();
    Box::new(Invalid { source: NamedSource::new(name, text), problems }).into()
}

fn read(text: &str, problems: &mut Problems<'_>) -> Option<(Spanned<String>, Vec<Row>)> {
    let file: FileTable = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let problem = Problem::new(error.span().unwrap_or(0..0), error.message());
            problems.push(problem.help("the format is in docs/matrix.md, \"Baselines\""));
            return None;
        }
    };
    let found = *file.version.get_ref();
    if found != VERSION {
        let help = if found > VERSION { "use a newer repro-matrix" } else { "write version = 1" };
        problems.push(
            Problem::new(file.version.span(), format!("baseline format {found}; this build reads {VERSION}"))
                .help(help),
        );
        return None;
    }
    let mut rows = Vec::new();
    for range in file.range {
        let drivers: Range = match range.drivers.get_ref().parse() {
            Ok(drivers) => drivers,
            Err(message) => {
                problems.push(Problem::new(range.drivers.span(), message));
                continue;
            }
        };
        for row in range.arm {
            let row = row.into_inner();
            for (field, value) in [("reason", &row.reason), ("tracker", &row.tracker)] {
                if value.get_ref().trim().is_empty() {
                    problems.push(
                        Problem::new(value.span(), format!("an expectation needs a {field}")).help(
                            "the reason says why this is expected, the tracker where it is being worked on",
                        ),
                    );
                }
            }
            rows.push(Row {
                span: row.id.span(),
                id: row.id.into_inner(),
                drivers: drivers.clone(),
                devices: range.devices.clone(),
                verdict: row.verdict,
                reason: row.reason.into_inner(),
                tracker: row.tracker.into_inner(),
                range_span: range.drivers.span(),
            });
        }
    }
    Some((file.matrix, rows))
}
