//! The tables of `strace -c`.
//!
//! Columns are selectable (5.6, `-U`) and widths follow the data, so both are taken from the header and the row of
//! dashes below it. The errors column is blank for 0; up to 5.5 the total has no usecs/call. Source: strace, count.c.

use crate::logs::text;
use crate::model::facts::SummaryRow;

/// A table's columns: name, and where the run of dashes starts and ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(Vec<(String, usize, usize)>);

/// The row of dashes, at least two runs.
pub(super) fn is_dashes(line: &[u8]) -> bool {
    line.starts_with(b"------ ") && line.iter().all(|b| matches!(b, b'-' | b' '))
}

/// Columns from a header and the dashes below it; `None` if this is no table of strace's.
pub(super) fn columns(header: &[u8], dashes: &[u8]) -> Option<Columns> {
    let mut columns = Vec::new();
    let mut at = 0;
    for run in dashes.split(|&b| b == b' ') {
        let (start, end) = (at, at + run.len());
        at = end + 1;
        if run.is_empty() {
            continue;
        }
        let name = header.get(start..end.min(header.len()))?.trim_ascii();
        columns.push((text(name), start, end));
    }
    let known = columns.iter().any(|(name, ..)| name == "syscall");
    (known && columns.len() <= 32).then_some(Columns(columns))
}

/// One row: the system call's name and its numbers. `None` if it is not a row of this table.
pub(super) fn row(columns: &Columns, line: &[u8]) -> Option<(String, SummaryRow)> {
    let cells = by_place(columns, line).or_else(|| by_count(columns, line))?;
    let mut row = SummaryRow::default();
    let mut name = None;
    for ((column, ..), cell) in columns.0.iter().zip(cells) {
        if cell.is_empty() {
            continue;
        }
        match column.as_str() {
            "syscall" => name = Some(text(cell)),
            "calls" => row.calls = number(cell)?,
            "errors" => row.errors = number(cell)?,
            "seconds" => row.time = Some(micros(cell)?),
            "usecs/call" => row.per_call = Some(number(cell)?),
            "shortest" => row.shortest = Some(micros(cell)?),
            "longest" => row.longest = Some(micros(cell)?),
            "wall-total" => row.wall_total = Some(micros(cell)?),
            "wall-min" => row.wall_min = Some(micros(cell)?),
            "wall-max" => row.wall_max = Some(micros(cell)?),
            "wall-avg" => row.wall_average = Some(number(cell)?),
            // "% time" follows from the others.
            _ => _ = micros(cell)?,
        }
    }
    Some((name?, row))
}

/// Cells by the columns' places: numbers end where the dashes end, the name starts where they start.
fn by_place<'a>(columns: &Columns, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut cells = Vec::with_capacity(columns.0.len());
    let mut covered = 0;
    for (name, start, end) in &columns.0 {
        let end = if name == "syscall" && columns.0.last().is_some_and(|last| last.1 == *start) {
            line.len()
        } else {
            (*end).min(line.len())
        };
        let start = (*start).min(end);
        let cell = line.get(start..end)?;
        // Something stands between the columns: the widths do not hold for this row.
        if line.get(covered..start)?.iter().any(|&b| b != b' ') || cell.trim_ascii().contains(&b' ') {
            return None;
        }
        cells.push(cell.trim_ascii());
        covered = end;
    }
    line.get(covered..)?.iter().all(|&b| b == b' ').then_some(cells)
}

/// Cells by counting words, for rows that outgrew fixed widths: complete, or without errors.
fn by_count<'a>(columns: &Columns, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
    let mut cells: Vec<&[u8]> = line.split(|&b| b == b' ').filter(|word| !word.is_empty()).take(33).collect();
    if cells.len() + 1 == columns.0.len() {
        let errors = columns.0.iter().position(|(name, ..)| name == "errors")?;
        cells.insert(errors, b"");
    }
    (cells.len() == columns.0.len()).then_some(cells)
}

fn number(cell: &[u8]) -> Option<u64> {
    let mut c = crate::logs::scan::Cursor::new(cell);
    let n = c.u64()?;
    c.at_end().then_some(n)
}

/// Seconds with up to six decimals, after a point or a comma, as µs.
fn micros(cell: &[u8]) -> Option<u64> {
    let mut c = crate::logs::scan::Cursor::new(cell);
    let whole = c.u64()?;
    let mut micros = whole.checked_mul(1_000_000)?;
    if c.maybe(b".") || c.maybe(b",") {
        let mut scale = 100_000;
        for &b in c.take_while(|b| b.is_ascii_digit()) {
            micros = micros.checked_add(u64::from(b - b'0') * scale)?;
            scale /= 10;
        }
    }
    c.at_end().then_some(micros)
}
