//! Stage: results.
