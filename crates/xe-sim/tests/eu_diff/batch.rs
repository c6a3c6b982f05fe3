//! Several kernels in one module: built and run by both, compared.

use xe_sim::eu::ExecStats;

use super::compare::differences;
use super::kernel::{Case, Data};
use super::prelude::prelude;
use super::{model, reference};
use crate::eu_support::zebin;

pub const WIDTHS: [u32; 3] = [8, 16, 32];
const COMMON: &str = "-cl-std=CL3.0 -cl-fp32-correctly-rounded-divide-sqrt";

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
        self.kernels.iter().fold(prelude(), |text, (source, _)| text + source)
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
        let compiled = zebin::try_compile(&self.source(), &options, "")?;
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
