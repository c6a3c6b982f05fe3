//! The baseline of a matrix: what is known to happen, under which driver versions, why, and where that is tracked.
//! A file of its own beside the matrix (`smoke.toml` → `smoke.expect.toml`): the matrix says what an experiment is, the
//! baseline what is known of drivers. The format is described in `docs/matrix.md`.

pub mod apply;
pub mod file;
pub mod range;
pub mod review;
pub mod update;

pub use apply::{Subject, apply};
pub use file::{Baseline, load};

use std::path::{Path, PathBuf};

/// Where the baseline of `matrix` is, if there is one.
pub fn beside(matrix: &Path) -> PathBuf {
    matrix.with_extension("expect.toml")
}
