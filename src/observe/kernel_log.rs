//! The `kernel-log` observer.

use crate::logs::kmsg::{self, Options, Span};
use crate::model::facts::KernelLogFacts;

/// When the run was alive: from its start to its end or, if the harness killed it, to the kill. Lines after a kill
/// are of the harness' own making.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic: (u64, u64),
    /// CLOCK_REALTIME, ns since 1970.
    pub wall: (u64, u64),
    /// Seconds east of UTC of the zone in which the log is printed.
    pub utc_offset: i32,
}

/// Facts of the kernel's log while the run was alive, of one device ("0000:c3:00.0") if it is known.
pub fn facts(log: Result<&[u8], &str>, alive: Alive, device: Option<&str>) -> KernelLogFacts {
    let span = |(from, until)| Some(Span { from, until });
    let options = Options {
        monotonic: span(alive.monotonic),
        wall: span(alive.wall),
        utc_offset: alive.utc_offset,
        device: device.map(str::to_owned),
    };
    match log {
        Ok(bytes) => kmsg::parse(bytes, &options),
        Err(why) => kmsg::unreadable(why),
    }
}
