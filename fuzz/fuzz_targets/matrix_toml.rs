//! Any bytes → the matrix reader: a matrix or problems within the file, never a panic. What is valid is planned too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use repro_matrix::matrix;
use repro_matrix::plan::{HostFacts, Selection, plan};

fuzz_target!(|bytes: &[u8]| {
    match matrix::parse("fuzz.toml", bytes) {
        Ok(matrix) => {
            let planned = plan(&matrix, &Selection::default(), &HostFacts::default());
            let cells = matrix::expand::expand(&matrix).len();
            assert_eq!(planned.arms.len() + planned.excluded.len(), cells);
        }
        Err(error) => {
            for problem in error.problems() {
                assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len());
            }
        }
    }
});
