//! What stands on the screen when everything is done: table, findings, where the results are, what to type next.

use std::fmt::Write;
use std::io::IsTerminal;

use crate::report::aggregate::ArmSummary;
use crate::report::findings::Finding;
use crate::report::rates;
use crate::report::table::{self, Style};

/// Columns and colour of the terminal on stdout; NO_COLOR is obeyed.
pub fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let width = console_width().unwrap_or(if terminal { 80 } else { 120 });
    Style { width, colour: terminal && !no_colour }
}

fn console_width() -> Option<u16> {
    // COLUMNS is what tests and scripts set.
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()) {
        return Some(columns);
    }
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0)
}

/// The closing text.
pub fn text(arms: &[ArmSummary], findings: &[Finding], results: &std::path::Path, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", table::render(arms, style));
    let rates = rates::text(arms);
    if !rates.is_empty() {
        let _ = writeln!(out, "Rates (95 % intervals of the runs that had an answer)\n{rates}");
    }
    if !findings.is_empty() {
        let _ = writeln!(out, "What this run establishes");
        for finding in findings {
            let _ = writeln!(out, "{}", wrap(&format!("{}: {}", finding.heading, finding.text), style.width));
        }
        out.push('\n');
    }
    let results = results.display();
    // Each on a line of its own, so that the shell's words can be copied whole.
    let _ = writeln!(out, "results  {results}\nreport   repro-matrix report {results}");
    // What a rule's end of time left undone is not missing, and can still be done.
    if arms.iter().any(|arm| arm.runs < arm.planned) {
        let _ = writeln!(out, "further  repro-matrix run … --resume {results}");
    }
    out
}

/// A bullet whose continuation lines are indented. Widths are counted in characters.
fn wrap(text: &str, width: u16) -> String {
    let width = usize::from(width.clamp(40, 120));
    let mut out = String::from(" •");
    let mut column = 2;
    for word in text.split_whitespace() {
        let len = word.chars().count();
        if column + 1 + len > width && column > 3 {
            out.push_str("\n  ");
            column = 2;
        }
        out.push(' ');
        out.push_str(word);
        column += 1 + len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_on_is_offered_only_where_something_is_left_to_do() {
        use crate::report::{aggregate::summarise, fixture};
        let closing = |repeats| {
            let arms = [fixture::arm("a", |arm| arm.repeats = repeats)];
            let arms = summarise(&arms, &[fixture::record(&arms[0], 0, true)]);
            text(&arms, &[], std::path::Path::new("results/m/1"), Style { width: 80, colour: false })
        };
        assert!(closing(2).ends_with("further  repro-matrix run … --resume results/m/1\n"), "{}", closing(2));
        assert!(closing(1).ends_with("report   repro-matrix report results/m/1\n"), "{}", closing(1));
    }

    #[test]
    fn wrapped_lines_fit_and_lose_no_word() {
        let text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
        let wrapped = wrap(text, 40);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 40), "{wrapped}");
        let words: Vec<_> = wrapped.split_whitespace().filter(|w| *w != "•").collect();
        assert_eq!(words.join(" "), text);
    }
}
