//! Stage: build.
