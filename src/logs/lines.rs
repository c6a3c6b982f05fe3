//! Cutting bytes into lines with bounded memory.

/// Longest line that is read to its end. Driver lines are some hundred bytes; only a program that prints megabytes
/// without a newline is cut, and that is counted.
pub const MAX_LINE: usize = 1 << 20;

/// Anything that takes a log line by line.
pub trait LineSink {
    /// One line without its newline (and without a carriage return before it).
    fn line(&mut self, line: &[u8]);
    /// The line just given was longer than [`MAX_LINE`]; its tail was skipped.
    fn cut(&mut self);
}

/// Feeds chunks of any size to a sink as lines.
#[derive(Debug, Default)]
pub struct Splitter {
    partial: Vec<u8>,
    /// The sink already got the head of the current line.
    skipping: bool,
}

impl Splitter {
    pub fn feed(&mut self, mut chunk: &[u8], sink: &mut impl LineSink) {
        while let Some(at) = memchr::memchr(b'\n', chunk) {
            let (head, tail) = chunk.split_at(at);
            chunk = tail.get(1..).unwrap_or_default();
            if self.partial.is_empty() && !self.skipping {
                give(head, sink);
            } else {
                self.hold(head, sink);
                self.end_line(sink);
            }
        }
        self.hold(chunk, sink);
    }

    /// The end of the log: a last line without newline is a line.
    pub fn finish(&mut self, sink: &mut impl LineSink) {
        if !self.partial.is_empty() || self.skipping {
            self.end_line(sink);
        }
    }

    fn hold(&mut self, bytes: &[u8], sink: &mut impl LineSink) {
        if self.skipping {
            return;
        }
        let room = MAX_LINE.saturating_sub(self.partial.len());
        if bytes.len() <= room {
            self.partial.extend_from_slice(bytes);
        } else {
            self.partial.extend_from_slice(bytes.get(..room).unwrap_or_default());
            sink.line(&self.partial);
            sink.cut();
            self.partial.clear();
            self.skipping = true;
        }
    }

    fn end_line(&mut self, sink: &mut impl LineSink) {
        if !self.skipping {
            give(&self.partial, sink);
        }
        self.skipping = false;
        self.partial.clear();
    }
}

/// Gives one whole line, cut if need be.
fn give(line: &[u8], sink: &mut impl LineSink) {
    match line.get(..MAX_LINE) {
        Some(head) if line.len() > MAX_LINE => {
            sink.line(head);
            sink.cut();
        }
        _ => sink.line(line.strip_suffix(b"\r").unwrap_or(line)),
    }
}

/// All lines of a log that is in memory.
pub fn feed_all(bytes: &[u8], sink: &mut impl LineSink) {
    let mut splitter = Splitter::default();
    splitter.feed(bytes, sink);
    splitter.finish(sink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Lengths(Vec<usize>, usize);

    impl LineSink for Lengths {
        fn line(&mut self, line: &[u8]) {
            self.0.push(line.len());
        }
        fn cut(&mut self) {
            self.1 += 1;
        }
    }

    #[test]
    fn chunks_of_any_size_give_the_same_lines() {
        let log = b"one\r\n\nthree\nlast".repeat(3);
        let mut whole = Lengths::default();
        feed_all(&log, &mut whole);
        for size in [1, 2, 3, 5, 7] {
            let mut sink = Lengths::default();
            let mut splitter = Splitter::default();
            log.chunks(size).for_each(|c| splitter.feed(c, &mut sink));
            splitter.finish(&mut sink);
            assert_eq!(sink.0, whole.0, "chunk size {size}");
        }
    }

    #[test]
    fn a_ten_megabyte_line_is_cut_once() {
        let mut log = vec![b'x'; 10 << 20];
        log.extend_from_slice(b"\nshort\n");
        for size in [log.len(), 4096] {
            let mut sink = Lengths::default();
            let mut splitter = Splitter::default();
            for chunk in log.chunks(size) {
                splitter.feed(chunk, &mut sink);
                assert!(splitter.partial.len() <= MAX_LINE);
            }
            splitter.finish(&mut sink);
            assert_eq!((sink.0, sink.1), (vec![MAX_LINE, 5], 1), "chunk size {size}");
        }
    }
}
