//! Where trace records go.

use std::io::Write;

/// Buffered writer of JSON lines.
pub struct TraceSink {
    out: Option<Box<dyn Write + Send>>,
}

impl TraceSink {
    pub fn to_writer(out: Box<dyn Write + Send>) -> TraceSink {
        TraceSink { out: Some(out) }
    }

    pub fn none() -> TraceSink {
        TraceSink { out: None }
    }
}
