//! The table of arms on a terminal, 80 to 120 columns.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use crate::model::facts::PerDispatch;
use crate::model::verdict::Basis;

use super::aggregate::{ArmSummary, Expected};
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
    if style.colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let mut header =
        vec!["arm", "verdict", "wrong/untouched", "per-dispatch", "surface", "EPERM", "expected", "time"];
    if repeated {
        header.insert(1, "runs");
    }
    table.set_header(header);
    for arm in arms {
        table.add_row(row(arm, repeated, style.colour));
    }
    let right = |name: usize| if repeated { name + 1 } else { name };
    for column in [5, 7] {
        if let Some(column) = table.column_mut(right(column)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn row(arm: &ArmSummary, repeated: bool, colour: bool) -> Vec<Cell> {
    let mut cells = vec![Cell::new(&arm.id)];
    if repeated {
        cells.push(Cell::new(format!("{}/{}", arm.runs, arm.planned)));
    }
    cells.push(verdict(arm, colour));
    cells.push(Cell::new(counts(arm)));
    cells.push(Cell::new(arm.per_dispatch.map_or("–".into(), per_dispatch)));
    cells.push(Cell::new(arm.history.as_deref().unwrap_or("–")));
    cells.push(Cell::new(arm.eperm.map_or("–".into(), grouped)));
    let expected = arm.as_expected.map_or("–".into(), |e| e.to_string());
    cells.push(match arm.as_expected {
        Some(Expected::Unmet) if colour => Cell::new(expected).fg(Color::Red).add_attribute(Attribute::Bold),
        _ => Cell::new(expected),
    });
    cells.push(Cell::new(format!("{:.1} s", arm.seconds)));
    cells
}

fn verdict(arm: &ArmSummary, colour: bool) -> Cell {
    let text = arm.verdict.to_string();
    let text = if arm.verdict.word == "corrupt" { text.to_uppercase() } else { text };
    let cell = Cell::new(text);
    if !colour || arm.runs == 0 {
        return cell;
    }
    match arm.verdict.word {
        "clean" => cell.fg(Color::Green),
        "corrupt" | "wrong-before" | "crash" | "device-lost" => cell.fg(Color::Red),
        _ => cell.fg(Color::Yellow),
    }
}

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
