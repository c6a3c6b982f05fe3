//! Several kernels in one module: built and run by both, compared.

use xe_sim::eu::ExecStats;

use super::compare::differences;
use super::gen_stmt::{DOUBLES, HALVES};
use super::kernel::{Case, Data};
use super::prelude::{doubles, prelude};
use super::{model, prelude_half, reference};
use crate::eu_support::zebin::{self, DOUBLE_PRECISION};

pub const WIDTHS: [u32; 3] = [8, 16, 32];
pub const COMMON: &str = "-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt";

/// Sources and launches of some kernels.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub kernels: Vec<(String, Case)>,
    /// Options for the device's compiler.
    pub options: String,
}

/// What came out for one kernel at one width.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub simd: u32,
    pub case: Case,
    /// Empty: no difference.
    pub found: Vec<String>,
    pub stats: ExecStats,
}

impl Batch {
    pub fn source(&self) -> String {
        // The other preludes are long: only where they are used.
        let mut head = prelude();
        if self.kernels.iter().any(|(_, case)| (HALVES..DOUBLES).contains(&case.seed)) {
            head += &prelude_half::prelude();
        }
        if self.has_doubles() {
            head += &doubles();
        }
        self.kernels.iter().fold(head, |text, (source, _)| text + source)
    }

    fn has_doubles(&self) -> bool {
        self.kernels.iter().any(|(_, case)| case.seed >= DOUBLES)
    }

    /// By the reference, which need not be fast: it is spared the time to optimise.
    ///
    /// # Errors
    /// It does not build or run.
    pub fn reference(&self) -> Result<Vec<Data>, String> {
        let cases: Vec<Case> = self.kernels.iter().map(|(_, case)| case.clone()).collect();
        reference::run(&self.source(), &format!("{COMMON} -DREFERENCE -cl-opt-disable"), &cases)
    }

    /// On the model at `simd`, compared with `theirs`.
    ///
    /// # Errors
    /// The compiler refuses the source.
    pub fn compare(&self, simd: u32, theirs: &[Data]) -> Result<Vec<Outcome>, String> {
        let options = format!("{COMMON} -DSG={simd} {}", self.options);
        let compiled = zebin::try_compile(
            &self.source(),
            &options,
            if self.has_doubles() { DOUBLE_PRECISION } else { "" },
        )?;
        let outcomes = self.kernels.iter().zip(theirs).map(|((_, case), theirs)| {
            let (found, stats) = match model::run(&compiled, case) {
                Ok((ours, stats)) => (differences(case, &ours, theirs), stats),
                Err(error) => (vec![error.to_string()], ExecStats::default()),
            };
            Outcome { simd, case: case.clone(), found, stats }
        });
        Ok(outcomes.collect())
    }
}
