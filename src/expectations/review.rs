//! Expectations that can no longer occur: they hide nothing today and would hide something tomorrow.

use crate::matrix::Matrix;
use crate::matrix::Problem;
use crate::matrix::expand;
use crate::matrix::problem::nearest;
use crate::plan::select::glob;

use super::file::{Baseline, Row};

/// One problem for each row that cannot come to count, and for a baseline of another matrix.
pub fn dead(baseline: &Baseline, matrix: &Matrix) -> Vec<Problem> {
    let mut found = Vec::new();
    if baseline.matrix != matrix.name {
        let text =
            format!("this is the baseline of \"{}\", the matrix is \"{}\"", baseline.matrix, matrix.name);
        let help = format!(
            "FILE.expect.toml belongs to FILE.toml; write matrix = \"{}\" if it is of this one",
            matrix.name
        );
        found.push(Problem::new(baseline.matrix_span.clone(), text).help(help));
    }
    let cells = expand::expand(matrix);
    for (index, row) in baseline.rows.iter().enumerate() {
        let problem = |message: &str| Problem::new(row.span.clone(), message.to_owned());
        if row.drivers.is_empty() {
            let text = format!("no driver version is in the range \"{}\"", row.drivers);
            found.push(
                Problem::new(row.range_span.clone(), text).help("this expectation can no longer occur"),
            );
            continue;
        }
        let mut fitting = cells.iter().filter(|cell| fits(row, &cell.arm.id)).peekable();
        if fitting.peek().is_none() {
            let near = nearest(&row.id, cells.iter().map(|cell| cell.arm.id.as_str()));
            let one = problem(&format!(
                "the matrix has no arm \"{}\": this expectation can no longer occur",
                row.id
            ));
            found.push(match near {
                Some(near) => one.label(format!("did you mean \"{near}\"?")),
                None => one,
            });
            continue;
        }
        if fitting.all(|cell| cell.excluded.is_some()) {
            found.push(problem(&format!(
                "the matrix leaves \"{}\" out: this expectation can no longer occur",
                row.id
            )));
            continue;
        }
        let earlier = baseline.rows.iter().take(index).find(|earlier| {
            earlier.id == row.id
                && earlier.drivers.covers(&row.drivers)
                && (earlier.devices == row.devices || earlier.devices == "*")
        });
        if let Some(earlier) = earlier {
            found.push(problem(&format!(
                "an earlier row for \"{}\" under \"{}\" counts first: this one can never occur",
                row.id, earlier.drivers
            )));
        }
    }
    found
}

fn fits(row: &Row, id: &str) -> bool {
    if row.is_pattern() { glob(&row.id, id) } else { row.id == id }
}
