//! What a run may use. Every limit ends in a [`crate::model::verdict::RunEnd`] of its own, never in silence.

use std::time::Duration;

/// Limits of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From spawn to the end of the process group's leader.
    pub timeout: Duration,
    /// No byte of output and no growth of the device trace for this long.
    pub inactivity: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// After the leader's end: how long other holders of the output pipes may go on before they are killed.
    pub drain: Duration,
    /// Bytes of stdout and stderr together.
    pub output_cap: u64,
    /// Bytes accepted on the result descriptor.
    pub result_cap: u64,
    /// RLIMIT_CORE, bytes. 0: the core of a driver crash is large and its location comes from elsewhere.
    pub core: u64,
    /// RLIMIT_FSIZE, bytes. Not limited by default: it also applies to the simulated device's memory, which is one
    /// sparse file larger than the card's VRAM.
    pub file_size: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            timeout: Duration::from_secs(120),
            inactivity: None,
            grace: Duration::from_secs(2),
            drain: Duration::from_millis(500),
            output_cap: 256 << 20,
            result_cap: 4 << 20,
            core: 0,
            file_size: None,
        }
    }
}
