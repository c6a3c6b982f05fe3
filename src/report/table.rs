//! The table of arms on a terminal, 80 to 120 columns.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::model::facts::PerDispatch;
use crate::model::verdict::Basis;

use super::aggregate::ArmSummary;
use super::words::grouped;

/// How the table is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub width: u16,
    pub colour: bool,
}

/// What a narrow terminal costs, mildest first. A row stays on one line as long as anything else can give way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Squeeze {
    Nothing,
    /// One space between columns.
    Tight,
    /// "1 16.24>16.23" in GB.
    ShortSums,
    /// "1".
    FlagOnly,
    /// A column in which no arm has anything.
    NoEmptyCounts,
    NoTime,
    NoEperm,
    /// Cells wrap.
    Wrap,
}

const SQUEEZES: [Squeeze; 8] = [
    Squeeze::Nothing,
    Squeeze::Tight,
    Squeeze::ShortSums,
    Squeeze::FlagOnly,
    Squeeze::NoEmptyCounts,
    Squeeze::NoTime,
    Squeeze::NoEperm,
    Squeeze::Wrap,
];

/// The whole table as text, no newline at the end. At least 80 columns are used.
pub fn render(arms: &[ArmSummary], style: Style) -> String {
    let width = usize::from(style.width.clamp(80, 200));
    let fits = |squeeze: &Squeeze| natural_width(&columns(arms, *squeeze), *squeeze) <= width;
    let squeeze = SQUEEZES.into_iter().find(fits).unwrap_or(Squeeze::Wrap);
    let columns = columns(arms, squeeze);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(match squeeze {
        Squeeze::Wrap => ContentArrangement::Dynamic,
        _ => ContentArrangement::Disabled,
    });
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(columns.iter().map(|column| column.head));
    for row in 0..arms.len() {
        table.add_row(columns.iter().map(|column| column.cells.get(row).map_or("", String::as_str)));
    }
    for (index, column) in columns.iter().enumerate() {
        let Some(drawn) = table.column_mut(index) else { continue };
        drawn.set_padding(padding(squeeze));
        if column.right {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
        // What identifies the row is the last to wrap.
        if squeeze == Squeeze::Wrap && index == 0 {
            let most = u16::try_from(column.width().min(width / 2)).unwrap_or(u16::MAX);
            drawn.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(most)));
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
    if squeeze >= Squeeze::NoTime {
        out.push_str("\n (columns are left out at this width; arms.csv has them all)");
    }
    out
}

struct Column {
    head: &'static str,
    right: bool,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(self.head.chars().count())
    }
}

fn padding(squeeze: Squeeze) -> (u16, u16) {
    (u16::from(squeeze == Squeeze::Nothing), 1)
}

fn natural_width(columns: &[Column], squeeze: Squeeze) -> usize {
    let (left, right) = padding(squeeze);
    columns.iter().map(|column| column.width() + usize::from(left + right)).sum()
}

fn columns(arms: &[ArmSummary], squeeze: Squeeze) -> Vec<Column> {
    let column = |head, right, cell: &dyn Fn(&ArmSummary) -> String| Column {
        head,
        right,
        cells: arms.iter().map(cell).collect(),
    };
    let mut columns = vec![column("arm", false, &|arm| arm.id.clone())];
    if arms.iter().any(|arm| (arm.runs, arm.planned) != (1, 1)) {
        columns.push(column("runs", false, &|arm| format!("{}/{}", arm.runs, arm.planned)));
    }
    columns.push(column("verdict", false, &|arm| {
        let verdict = arm.verdict.to_string();
        if arm.verdict.word == "corrupt" { verdict.to_uppercase() } else { verdict }
    }));
    let counted = arms.iter().any(|arm| arm.wrong.is_some());
    if counted || squeeze < Squeeze::NoEmptyCounts {
        columns.push(column("wrong/untouched", false, &|arm| counts(arm, |n| n.to_string())));
    }
    columns.push(column("per-dispatch", false, &|arm| {
        arm.per_dispatch.map_or("–".into(), |line| per_dispatch(line, squeeze))
    }));
    columns.push(column("surface", false, &|arm| arm.history.clone().unwrap_or_else(|| "–".into())));
    if squeeze < Squeeze::NoEperm {
        columns.push(column("EPERM", true, &|arm| arm.eperm.map_or("–".into(), grouped)));
    }
    columns.push(column("expected", false, &|arm| arm.as_expected.map_or("–".into(), |e| e.to_string())));
    if squeeze < Squeeze::NoTime {
        columns.push(column("time", true, &|arm| format!("{:.1} s", arm.seconds)));
    }
    columns
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
const EXPECTED: [(&str, &str); 5] =
    [("NO", "1;31"), ("yes so far", "33"), ("improved", "32"), ("no verdict", "33"), ("not measured", "33")];

/// Wrong and untouched elements, each shown by `number`.
pub fn counts(arm: &ArmSummary, number: fn(u64) -> String) -> String {
    match (arm.basis, arm.wrong, arm.untouched) {
        (_, Some(wrong), Some(untouched)) => format!("{} / {}", number(wrong), number(untouched)),
        (Some(Basis::Residency), _, _) => "not modelled".into(),
        (_, _, _) => "–".into(),
    }
}

/// "1  16.24 > 16.23 GB", and shorter.
fn per_dispatch(line: PerDispatch, squeeze: Squeeze) -> String {
    let flag = u8::from(line.flag);
    let gb = |bytes: u64| format!("{:.2}", bytes as f64 / 1e9);
    let (module, global) = (gb(line.module_private), gb(line.global_memory));
    let sign = if line.module_private > line.global_memory { ">" } else { "≤" };
    if squeeze < Squeeze::ShortSums {
        format!("{flag}  {module} {sign} {global} GB")
    } else if squeeze < Squeeze::FlagOnly {
        format!("{flag} {module}{sign}{global}")
    } else {
        flag.to_string()
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
