//! Stage: logs.
