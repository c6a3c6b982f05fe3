//! Stage: judge.
