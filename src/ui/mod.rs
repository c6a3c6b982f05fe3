//! Stage: ui.
