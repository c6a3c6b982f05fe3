//! Stage: plan.
