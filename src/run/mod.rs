//! Stage: run.
