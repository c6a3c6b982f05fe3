//! Stage: driver.
