//! Stage: observe.
