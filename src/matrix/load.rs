//! Bytes → wire tables → [`Matrix`]. Reads each table on its own, so that one run reports every mistake of a file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use miette::NamedSource;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::problem::{Invalid, Problems, nearest};
use super::schema::{
    ArmTable, DefaultsTable, Head, KeyTable, NAMED_SECTIONS, ProductTable, SourceTable, VariantTable,
    WorkloadTable,
};
use super::units::At;
use super::{LoadError, Matrix, Problem, validate, wording};

/// A matrix is written by hand; what is larger is another file.
pub const LARGEST: u64 = 4 << 20;

/// A named table and the place of its name.
pub type Named<T> = BTreeMap<String, (std::ops::Range<usize>, T)>;

/// The file as tables; names are not resolved.
#[derive(Debug, Default)]
pub struct Wire {
    pub head: Option<Head>,
    pub defaults: DefaultsTable,
    /// A key of [defaults] could not be read: what an arm lacks may be there.
    pub defaults_damaged: bool,
    pub variants: Named<VariantTable>,
    pub sources: Named<SourceTable>,
    pub keys: Named<KeyTable>,
    pub workloads: Named<WorkloadTable>,
    pub products: Vec<At<ProductTable>>,
    pub arms: Vec<At<ArmTable>>,
    /// Tables without the keys that could not be read: the names in them are still looked up.
    pub damaged_products: Vec<At<ProductTable>>,
    pub damaged_arms: Vec<At<ArmTable>>,
    /// `[[product]]` or `[[arm]]` is written, be it readable or not.
    pub has_arms: bool,
    /// Per section, names whose table could not be read: a reference to one is no second mistake.
    pub unreadable: BTreeMap<&'static str, Vec<String>>,
}

/// Reads a matrix file.
///
/// # Errors
/// [`LoadError`]: unreadable, over [`LARGEST`] bytes, not UTF-8, or invalid with every problem and its place.
pub fn load(path: &Path) -> Result<Matrix, LoadError> {
    let read = |source| LoadError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(read)?;
    let mut bytes = Vec::new();
    // One byte past the limit tells a file of exactly the limit from a larger one, even for a pipe or /dev/zero.
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(read)?;
    parse(&path.display().to_string(), &bytes)
}

/// The text of a file, or where it stops being text.
///
/// # Errors
/// [`LoadError::NotUtf8`].
pub fn utf8<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, LoadError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let valid = String::from_utf8_lossy(bytes.get(..offset).unwrap_or_default());
        LoadError::NotUtf8 {
            name: name.to_owned(),
            line: valid.matches('\n').count() + 1,
            column: valid.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            offset,
        }
    })
}

/// Reads a matrix from memory; `name` is what errors call it.
///
/// # Errors
/// As [`load`], without `Read`.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Matrix, LoadError> {
    if bytes.len() as u64 > LARGEST {
        return Err(LoadError::TooLarge { name: name.to_owned(), limit: LARGEST });
    }
    let text = utf8(name, bytes)?;
    let mut problems = Problems::new(text);
    let wire = read_tables(text, &mut problems);
    let matrix = validate::validate(wire, text, &mut problems);
    match matrix {
        Some(matrix) if problems.is_empty() => Ok(matrix),
        _ => {
            let text: Arc<str> = text.into();
            Err(Box::new(Invalid { source: NamedSource::new(name, text), problems: problems.into_sorted() })
                .into())
        }
    }
}

fn read_tables(text: &str, problems: &mut Problems<'_>) -> Wire {
    let mut wire = Wire::default();
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        problems.push(Problem::new(span, error.message()));
    }
    if !errors.is_empty() {
        // What was recovered is a guess; problems found in it would mislead.
        return wire;
    }
    let whole = root.span();
    let mut root = root.into_inner();
    wire.variants = named(&mut root, "variants", &mut wire.unreadable, problems);
    wire.sources = named(&mut root, "sources", &mut wire.unreadable, problems);
    wire.keys = named(&mut root, "keys", &mut wire.unreadable, problems);
    wire.workloads = named(&mut root, "workloads", &mut wire.unreadable, problems);
    wire.has_arms = root.contains_key("product") || root.contains_key("arm");
    wire.products = list(&mut root, "product", &mut wire.damaged_products, problems);
    wire.arms = list(&mut root, "arm", &mut wire.damaged_arms, problems);
    if let Some(defaults) = root.remove("defaults") {
        let read = table(defaults, "[defaults]", &[], problems);
        wire.defaults_damaged = !matches!(read, Reading::Whole(_));
        if let Reading::Whole(defaults) | Reading::Rest(defaults) = read {
            wire.defaults = defaults;
        }
    }
    let sections: Vec<&str> = NAMED_SECTIONS.into_iter().chain(["product", "arm", "defaults"]).collect();
    let head = table(Spanned::new(whole, DeValue::Table(root)), "a matrix file", &sections, problems);
    wire.head = head.whole();
    wire
}

/// A section of named tables, such as `[variants.X]`.
fn named<T: DeserializeOwned>(
    root: &mut DeTable<'_>,
    section: &'static str,
    unreadable: &mut BTreeMap<&'static str, Vec<String>>,
    problems: &mut Problems<'_>,
) -> Named<T> {
    let mut found = Named::new();
    let Some(value) = root.remove(section) else { return found };
    let span = value.span();
    let DeValue::Table(tables) = value.into_inner() else {
        problems.push(
            Problem::new(span, format!("`{section}` is a table of tables"))
                .label(format!("write [{section}.NAME]")),
        );
        return found;
    };
    for (name, value) in tables {
        if problems.is_full() {
            break;
        }
        let at = name.span();
        let name = name.into_inner().into_owned();
        let what = format!("[{section}.{}]", shorten(&name));
        match table(value, &what, &[], problems) {
            Reading::Whole(read) => {
                found.insert(name, (at, read));
            }
            Reading::Rest(_) | Reading::Nothing => unreadable.entry(section).or_default().push(name),
        }
    }
    found
}

/// A section of repeated tables, such as `[[arm]]`.
fn list<T: DeserializeOwned>(
    root: &mut DeTable<'_>,
    section: &str,
    damaged: &mut Vec<At<T>>,
    problems: &mut Problems<'_>,
) -> Vec<At<T>> {
    let Some(value) = root.remove(section) else { return Vec::new() };
    let span = value.span();
    let DeValue::Array(items) = value.into_inner() else {
        problems.push(
            Problem::new(span, format!("`{section}` is a list of tables"))
                .label(format!("write [[{section}]] with two brackets")),
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for item in items {
        if problems.is_full() {
            break;
        }
        match table(item, &format!("[[{section}]]"), &[], problems) {
            Reading::Whole(read) => found.push(read),
            Reading::Rest(rest) => damaged.push(rest),
            Reading::Nothing => {}
        }
    }
    found
}

/// What could be read of a table.
enum Reading<T> {
    Whole(T),
    /// Without the keys that could not be read.
    Rest(T),
    Nothing,
}

impl<T> Reading<T> {
    fn whole(self) -> Option<T> {
        match self {
            Reading::Whole(read) => Some(read),
            Reading::Rest(_) | Reading::Nothing => None,
        }
    }
}

/// Reads one table. Every key that cannot be read is reported, then taken out and the rest tried again, so that one
/// mistake does not hide the next.
fn table<T: DeserializeOwned>(
    mut value: Spanned<DeValue<'_>>,
    what: &str,
    further_keys: &[&str],
    problems: &mut Problems<'_>,
) -> Reading<T> {
    let span = value.span();
    if !matches!(value.get_ref(), DeValue::Table(_)) {
        problems.push(Problem::new(span, format!("{what} is a table")));
        return Reading::Nothing;
    }
    let mut removed: Vec<String> = Vec::new();
    loop {
        match T::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(read) if removed.is_empty() => return Reading::Whole(read),
            Ok(rest) => return Reading::Rest(rest),
            Err(error) => {
                let at = error.span().unwrap_or(span.clone());
                // A required key that was just taken out for its bad value is not missing.
                let missing = error.message().strip_prefix("missing field `");
                if missing.is_some_and(|rest| removed.iter().any(|key| rest.trim_end_matches('`') == key)) {
                    return Reading::Nothing;
                }
                problems.push(explain(error.message(), at.clone(), what, further_keys));
                let DeValue::Table(keys) = value.get_mut() else { return Reading::Nothing };
                let culprit = keys.iter().find_map(|(key, value)| {
                    let covers =
                        |range: std::ops::Range<usize>| range.start <= at.start && at.end <= range.end;
                    (covers(key.span()) || covers(value.span())).then(|| key.get_ref().to_string())
                });
                match culprit {
                    Some(key) if !problems.is_full() => {
                        keys.remove(key.as_str());
                        removed.push(key);
                    }
                    _ => return Reading::Nothing,
                }
            }
        }
    }
}

/// serde's words, in the words of a matrix file.
fn explain(message: &str, at: std::ops::Range<usize>, what: &str, further_keys: &[&str]) -> Problem {
    // Odd parts of a split at backticks are the quoted words: the unknown one, then the expected ones.
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (name, expected) = quoted.split_first().map_or(("", [].as_slice()), |(name, rest)| (*name, rest));
    if message.starts_with("unknown field") {
        let known = || expected.iter().chain(further_keys).copied();
        let problem = Problem::new(at, format!("unknown key \"{}\" in {what}", shorten(name)));
        return match nearest(name, known()) {
            Some(near) => problem.label(format!("did you mean \"{near}\"?")),
            None => problem.help(format!("known keys: {}", known().collect::<Vec<_>>().join(", "))),
        };
    }
    if message.starts_with("unknown variant") {
        let problem = Problem::new(at, format!("unknown value \"{}\" in {what}", shorten(name)));
        let problem = problem.help(format!("one of: {}", expected.join(", ")));
        return match nearest(name, expected.iter().copied()) {
            Some(near) => problem.label(format!("did you mean \"{near}\"?")),
            None => problem,
        };
    }
    if message.starts_with("missing field") {
        return Problem::new(at, format!("{what} needs `{name}`"));
    }
    let told = wording::plain(message).unwrap_or_else(|| shorten(message));
    Problem::new(at, format!("{told} in {what}"))
}

/// A word of a message: hostile files hold names of megabytes and control characters.
pub fn shorten(text: &str) -> String {
    const MOST: usize = 120;
    let mut short: String = text
        .chars()
        .take(MOST)
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}
