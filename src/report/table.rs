//! The table of arms on a terminal, 80 to 120 columns.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use crate::model::facts::PerDispatch;
use crate::model::verdict::Basis;

use super::aggregate::ArmSummary;
use super::findings::grouped;

/// How the table is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub width: u16,
    pub colour: bool,
}

/// The whole table as text, no newline at the end.
pub fn render(arms: &[ArmSummary], style: Style) -> String {
    let repeated = arms.iter().any(|arm| arm.runs != 1);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(style.width.clamp(80, 120));
    let mut header =
        vec!["arm", "verdict", "wrong/untouched", "per-dispatch", "surface", "EPERM", "expected", "time"];
    if repeated {
        header.insert(1, "runs");
    }
    table.set_header(header);
    for arm in arms {
        table.add_row(row(arm, repeated));
    }
    let right = |name: usize| if repeated { name + 1 } else { name };
    for column in [5, 7] {
        if let Some(column) = table.column_mut(right(column)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let mut lines = text.lines().map(str::trim_end);
    let Some(header) = lines.next() else { return String::new() };
    let mut out = header.to_owned();
    for line in lines {
        out.push('\n');
        if style.colour { out.push_str(&coloured(header, line)) } else { out.push_str(line) }
    }
    out
}

fn row(arm: &ArmSummary, repeated: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&arm.id)];
    if repeated {
        cells.push(Cell::new(format!("{}/{}", arm.runs, arm.planned)));
    }
    let verdict = arm.verdict.to_string();
    cells.push(Cell::new(if arm.verdict.word == "corrupt" { verdict.to_uppercase() } else { verdict }));
    cells.push(Cell::new(counts(arm)));
    cells.push(Cell::new(arm.per_dispatch.map_or("–".into(), per_dispatch)));
    cells.push(Cell::new(arm.history.as_deref().unwrap_or("–")));
    cells.push(Cell::new(arm.eperm.map_or("–".into(), grouped)));
    cells.push(Cell::new(arm.as_expected.map_or("–".into(), |e| e.to_string())));
    cells.push(Cell::new(format!("{:.1} s", arm.seconds)));
    cells
}

/// Colours the verdict and an unmet expectation of one finished line. Done after the layout, which counts columns.
fn coloured(header: &str, line: &str) -> String {
    let mut out = line.to_owned();
    // From the right, so that the first insertion does not move the second.
    for (column, words) in [("expected", &EXPECTED[..]), ("verdict", &VERDICTS[..])] {
        let Some(at) =
            header.find(column).and_then(|byte| header.get(..byte)).map(|head| head.chars().count())
        else {
            continue;
        };
        let Some((start, _)) = out.char_indices().nth(at) else { continue };
        let found = out.get(start..).and_then(|rest| {
            words
                .iter()
                .find(|(word, _)| rest.strip_prefix(word).is_some_and(|r| r.is_empty() || r.starts_with(' ')))
        });
        if let Some((word, code)) = found {
            out.replace_range(start..start + word.len(), &format!("\u{1b}[{code}m{word}\u{1b}[0m"));
        }
    }
    out
}

/// Word in the column → SGR code: green, red, yellow.
const VERDICTS: [(&str, &str); 9] = [
    ("clean", "32"),
    ("CORRUPT", "1;31"),
    ("wrong-before", "31"),
    ("crash", "31"),
    ("device-lost", "31"),
    ("hang", "33"),
    ("build-failed", "33"),
    ("untestable", "33"),
    ("harness-error", "33"),
];
const EXPECTED: [(&str, &str); 3] = [("NO", "1;31"), ("improved", "32"), ("no verdict", "33")];

fn counts(arm: &ArmSummary) -> String {
    match (arm.basis, arm.wrong, arm.untouched) {
        (_, Some(wrong), Some(untouched)) => format!("{wrong} / {untouched}"),
        (Some(Basis::Residency), _, _) => "not modelled".into(),
        (_, _, _) => "–".into(),
    }
}

/// "1  16.24 > 16.23 GB".
fn per_dispatch(line: PerDispatch) -> String {
    let gb = |bytes: u64| format!("{:.2}", bytes as f64 / 1e9);
    let (module, global) = (gb(line.module_private), gb(line.global_memory));
    let sign = if line.module_private > line.global_memory { ">" } else { "≤" };
    format!("{}  {module} {sign} {global} GB", u8::from(line.flag))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
