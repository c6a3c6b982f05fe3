//! The matrix file, the planner and their verbs, from outside.

mod errors;
mod matrices;
mod planning;
mod schema;
mod shards;
mod verbs;

use repro_matrix::matrix::{self, Matrix, Problem};

/// A small valid file to spoil in one place.
pub const SMALL: &str = r#"name = "small"
[variants.over]
kernels = 4
[sources.file-r]
kind = "file"
prot = "r"
[keys.resident2]
MakeEachAllocationResident = 2
[workloads.short]
copies = 3
[[arm]]
variant = "over"
source = "file-r"
keys = "resident2"
workload = "short"
expect = "clean"
"#;

pub fn valid(text: &str) -> Matrix {
    matrix::parse("test.toml", text.as_bytes()).unwrap_or_else(|error| panic!("{:?}", error.problems()))
}

pub fn problems(text: &str) -> Vec<Problem> {
    match matrix::parse("test.toml", text.as_bytes()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.problems().to_vec(),
    }
}

/// Line and column of a problem, from 1.
pub fn place(text: &str, problem: &Problem) -> (usize, usize) {
    let before = &text[..problem.span.start];
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}
