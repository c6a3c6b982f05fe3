//! What is wrong with a matrix file, and where: values with byte ranges. How they look is `ui::diagnostics`' matter.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource};

/// One thing wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub message: String,
    /// Bytes of the file.
    pub span: Range<usize>,
    /// Shown at the underline.
    pub label: Option<String>,
    pub help: Option<String>,
}

impl Problem {
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Problem { message: message.into(), span, label: None, help: None }
    }

    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = LabeledSpan::new_with_span(self.label.clone(), self.span.clone());
        Some(Box::new(std::iter::once(span)))
    }
}

/// All that is wrong with one file.
#[derive(Debug)]
pub struct Invalid {
    pub source: NamedSource<Arc<str>>,
    /// In the order of the file; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} problem(s)", self.source.name(), self.problems.len())
    }
}

impl std::error::Error for Invalid {}

impl Diagnostic for Invalid {
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&self.source)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

/// Why a matrix file gave no matrix.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum LoadError {
    #[error("cannot read {}", path.display())]
    #[diagnostic(help("the matrices that come with repro-matrix are in matrices/"))]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{name} has more than {limit} bytes: not a matrix file")]
    TooLarge { name: String, limit: u64 },
    #[error("{name}:{line}:{column}  not UTF-8 text (byte {offset})")]
    NotUtf8 { name: String, line: usize, column: usize, offset: usize },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<Invalid>),
}

impl LoadError {
    /// The problems with places; empty if the file could not be read at all.
    pub fn problems(&self) -> &[Problem] {
        match self {
            LoadError::Invalid(invalid) => &invalid.problems,
            LoadError::Read { .. } | LoadError::TooLarge { .. } | LoadError::NotUtf8 { .. } => &[],
        }
    }
}

/// Collects problems while reading goes on; holds the text to turn offsets into line numbers.
#[derive(Debug)]
pub struct Problems<'t> {
    text: &'t str,
    found: Vec<Problem>,
    left_off: usize,
}

impl<'t> Problems<'t> {
    /// More than this many are counted, not kept: nobody reads further.
    const MOST: usize = 40;

    pub fn new(text: &'t str) -> Self {
        Problems { text, found: Vec::new(), left_off: 0 }
    }

    pub fn push(&mut self, problem: Problem) {
        if self.found.len() < Self::MOST { self.found.push(problem) } else { self.left_off += 1 }
    }

    pub fn is_full(&self) -> bool {
        self.found.len() >= Self::MOST
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub fn into_sorted(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| (problem.span.start, problem.span.end));
        if self.left_off > 0
            && let Some(last) = self.found.last_mut()
        {
            let more = format!("{} more problem(s) are not shown", self.left_off);
            last.help = Some(last.help.take().map_or(more.clone(), |help| format!("{help}\n{more}")));
        }
        self.found
    }
}

/// The candidate that was probably meant: the nearest by edits, within a third of the length.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // Edit distance costs the product of the lengths; nobody misspells a name of a hundred letters.
    const LONGEST: usize = 100;
    if name.len() > LONGEST {
        return None;
    }
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .filter_map(|candidate| {
            let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
            let allowed = (name.chars().count().max(candidate.chars().count()) / 3).max(1);
            (distance <= allowed).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_prefers_fewest_edits_and_gives_up_far_away() {
        assert_eq!(nearest("resident", ["resident2", "default", "over"]), Some("resident2"));
        assert_eq!(nearest("vairant", ["variant", "variants"]), Some("variant"));
        assert_eq!(nearest("File-R", ["file-r", "file-rw"]), Some("file-r"));
        assert_eq!(nearest("zzz", ["variant", "source"]), None);
        assert_eq!(nearest(&"x".repeat(5000), ["x"]), None);
    }
}
