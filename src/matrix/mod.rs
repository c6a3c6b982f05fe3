//! Stage: matrix.
