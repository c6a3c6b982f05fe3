//! Which results formats this build can read.

use crate::model::outcome::RESULTS_VERSION;

/// Why a version cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReadable {
    #[error("results format {found} is newer than this build reads ({newest}); use a newer repro-matrix")]
    TooNew { found: u32, newest: u32 },
    #[error(
        "results format {found} is older than this build reads ({oldest}); use the repro-matrix that wrote it"
    )]
    TooOld { found: u32, oldest: u32 },
}

const OLDEST: u32 = 1;

/// `Ok` if this build reads format `found`.
pub fn check_readable(found: u32) -> Result<(), NotReadable> {
    if found > RESULTS_VERSION {
        return Err(NotReadable::TooNew { found, newest: RESULTS_VERSION });
    }
    if found < OLDEST {
        return Err(NotReadable::TooOld { found, oldest: OLDEST });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_versions_are_read() {
        assert_eq!(check_readable(RESULTS_VERSION), Ok(()));
        assert!(matches!(check_readable(RESULTS_VERSION + 1), Err(NotReadable::TooNew { .. })));
        assert!(matches!(check_readable(0), Err(NotReadable::TooOld { .. })));
    }
}
