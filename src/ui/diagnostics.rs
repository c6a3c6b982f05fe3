//! How an error looks: `file:line:column  message`, the line itself, an underline with its label, then what to do.
//!
//! miette carries the spans; its own renderer is not used because a compiler-style one-line head can be clicked in
//! every editor and read in every log.

use std::fmt;

use miette::{Diagnostic, ReportHandler, SourceCode, SourceSpan};

/// Installs the renderer for every `miette::Report` of this process.
pub fn install() {
    // A second call (tests) finds the hook set already; that is as good.
    let _ = miette::set_hook(Box::new(|_| Box::new(Plain)));
}

struct Plain;

impl ReportHandler for Plain {
    fn debug(&self, error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        render(error, None, f)
    }
}

fn render(
    error: &dyn Diagnostic,
    inherited: Option<&dyn SourceCode>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let source = error.source_code().or(inherited);
    let labels: Vec<_> = error.labels().into_iter().flatten().collect();
    let related: Vec<_> = error.related().into_iter().flatten().collect();
    match (source, labels.first()) {
        (Some(source), Some(label)) => {
            match Place::find(source, label.inner()) {
                Some(place) => {
                    writeln!(f, "{}:{}:{}  {error}", place.name, place.line, place.column)?;
                    place.snippet(label.label(), f)?;
                }
                None => writeln!(f, "error: {error}")?,
            }
            for label in labels.iter().skip(1) {
                if let Some(place) = Place::find(source, label.inner()) {
                    place.snippet(label.label(), f)?;
                }
            }
        }
        _ if related.is_empty() => writeln!(f, "error: {error}")?,
        _ => {}
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        writeln!(f, "  because: {inner}")?;
        cause = inner.source();
    }
    if let Some(help) = error.help() {
        for (i, line) in help.to_string().lines().enumerate() {
            writeln!(f, "{} {line}", if i == 0 { "  help:" } else { "       " })?;
        }
    }
    for (i, inner) in related.iter().enumerate() {
        if i > 0 {
            writeln!(f)?;
        }
        render(*inner, source, f)?;
    }
    Ok(())
}

/// Where a span starts, with the whole source line.
struct Place {
    name: String,
    /// From 1.
    line: usize,
    /// From 1, in characters.
    column: usize,
    text: String,
    /// Characters to underline, at least 1, within the line.
    width: usize,
}

impl Place {
    fn find(source: &dyn SourceCode, span: &SourceSpan) -> Option<Place> {
        // From the start of the file, so that the line and the column can be counted here.
        let whole = SourceSpan::new(0.into(), span.offset() + span.len());
        let contents = source.read_span(&whole, 0, 1).ok()?;
        let data = contents.data();
        let at = span.offset().min(data.len());
        let line_start = data[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        let line_end = data[at..].iter().position(|&b| b == b'\n').map_or(data.len(), |i| at + i);
        let characters =
            |range: std::ops::Range<usize>| String::from_utf8_lossy(&data[range]).chars().count();
        let span_end = (span.offset() + span.len()).clamp(at, line_end.max(at));
        Some(Place {
            name: contents.name().unwrap_or("input").to_owned(),
            line: data[..at].iter().filter(|&&b| b == b'\n').count() + 1,
            column: characters(line_start..at) + 1,
            width: characters(at..span_end).max(1),
            text: String::from_utf8_lossy(&data[line_start..line_end]).trim_end_matches('\r').to_owned(),
        })
    }

    fn snippet(&self, label: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line of thousands of characters (a one-line file) would bury the message.
        const MOST: usize = 160;
        let start = self.column.saturating_sub(1 + MOST / 2);
        let text: String =
            self.text.chars().skip(start).take(MOST).map(|c| if c == '\t' { ' ' } else { c }).collect();
        let indent = self.column - 1 - start;
        let width = self.width.min(MOST.saturating_sub(indent)).max(1);
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "   {number} │ {text}")?;
        writeln!(f, "   {gutter} │ {}{} {}", " ".repeat(indent), "^".repeat(width), label.unwrap_or(""))
    }
}

#[cfg(test)]
mod tests {
    use miette::{LabeledSpan, NamedSource, miette};

    #[test]
    fn span_error_shows_place_line_and_help() {
        // Not through the installed hook: that is one for the process, and another test may have been first.
        struct Shown<'a>(&'a dyn miette::Diagnostic);
        impl std::fmt::Debug for Shown<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                miette::ReportHandler::debug(&super::Plain, self.0, f)
            }
        }
        let text = "seed = 7\nkeys = [\"resident\"]\n";
        let at = text.find("\"resident\"").unwrap_or_default();
        let report = miette!(
            labels = vec![LabeledSpan::at(at..at + 10, "did you mean \"resident2\"?")],
            help = "defined at line 6",
            "unknown debug-key set \"resident\""
        )
        .with_source_code(NamedSource::new("m.toml", text));
        let shown = format!("{:?}", Shown(report.as_ref()));
        assert_eq!(
            shown,
            "m.toml:2:9  unknown debug-key set \"resident\"\n   2 │ keys = [\"resident\"]\n     │         \
             ^^^^^^^^^^ did you mean \"resident2\"?\n  help: defined at line 6\n"
        );
    }
}
