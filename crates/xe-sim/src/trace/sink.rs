//! Where trace records go: JSON lines through a buffer, losses counted.

use std::io::{self, Write};

use super::{Event, Record};

const FLUSH_AT: usize = 64 << 10;

/// Buffered writer of trace records; numbers them and stamps the time.
pub struct TraceSink {
    out: Option<Box<dyn Write + Send>>,
    buffer: Vec<u8>,
    /// Lines in `buffer`, to count what a failed write loses.
    pending: u64,
    seq: u64,
    lost: u64,
    /// Why the first of them was lost.
    trouble: Option<io::Error>,
}

impl TraceSink {
    pub fn to_writer(out: Box<dyn Write + Send>) -> TraceSink {
        TraceSink { out: Some(out), buffer: Vec::with_capacity(2 * FLUSH_AT), ..TraceSink::none() }
    }

    /// Numbers events but keeps none.
    pub fn none() -> TraceSink {
        TraceSink { out: None, buffer: Vec::new(), pending: 0, seq: 0, lost: 0, trouble: None }
    }

    /// Records an event and returns its sequence number.
    pub(crate) fn emit(&mut self, event: Event) -> u64 {
        self.emit_at(now_ns(), event)
    }

    pub(crate) fn emit_at(&mut self, t: u64, event: Event) -> u64 {
        self.seq += 1;
        if self.out.is_some() {
            let urgent = matches!(
                event,
                Event::Start { .. } | Event::Hazard { .. } | Event::QueueBanned { .. } | Event::Summary(_)
            );
            let mark = self.buffer.len();
            let record = Record { seq: self.seq, t, event };
            match serde_json::to_writer(&mut self.buffer, &record) {
                Ok(()) => {
                    self.buffer.push(b'\n');
                    self.pending += 1;
                }
                Err(error) => {
                    self.buffer.truncate(mark);
                    self.lost += 1;
                    self.trouble.get_or_insert(error.into());
                }
            }
            if urgent || self.buffer.len() >= FLUSH_AT {
                self.flush();
            }
        }
        self.seq
    }

    /// The number the next event will get.
    pub(crate) fn next_seq(&self) -> u64 {
        self.seq + 1
    }

    /// Hands everything to the writer. What cannot be written is counted as lost and dropped.
    pub(crate) fn flush(&mut self) {
        let Some(out) = &mut self.out else { return };
        if self.buffer.is_empty() {
            return;
        }
        if let Err(error) = out.write_all(&self.buffer).and_then(|()| out.flush()) {
            self.lost += self.pending;
            self.trouble.get_or_insert(error);
        }
        self.buffer.clear();
        self.pending = 0;
    }

    /// Whether lines wait in the buffer.
    pub(crate) fn waits(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Events that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Why the first of them could not be written. `None`: the trace is whole so far.
    pub fn trouble(&self) -> Option<&io::Error> {
        self.trouble.as_ref()
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    clock_ns(nix::time::ClockId::CLOCK_MONOTONIC).unwrap_or(0)
}

/// The clock's value in nanoseconds; `None` when the kernel does not know the clock.
pub(crate) fn clock_ns(id: nix::time::ClockId) -> Option<u64> {
    let t = nix::time::clock_gettime(id).ok()?;
    u64::try_from(t.tv_sec()).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(t.tv_nsec()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from_raw_os_error(libc::ENOSPC))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn sink_full_disk_counts_every_lost_event() {
        let mut sink = TraceSink::to_writer(Box::new(Full));
        for file in 0..5 {
            sink.emit(Event::Close { file });
        }
        assert_eq!(sink.lost(), 0, "still buffered");
        sink.flush();
        assert_eq!(sink.lost(), 5);
        assert_eq!(sink.trouble().and_then(io::Error::raw_os_error), Some(libc::ENOSPC));
    }
}
