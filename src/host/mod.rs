//! Stage: host.
