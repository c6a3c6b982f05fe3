//! Hands a finished run's files to the observers.

use crate::model::arm::Arm;
use crate::model::facts::Facts;
use crate::run::RawRun;

/// Facts of a run, and which instruments of ours did not work.
pub fn observe(_arm: &Arm, _raw: &RawRun, _hw_threads: Option<u64>) -> (Facts, Vec<String>) {
    (Facts::default(), vec!["observers are not connected".into()])
}
