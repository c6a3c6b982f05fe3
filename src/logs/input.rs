//! Log files as they come: plain or gzip, a path or standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::lines::{LineSink, Splitter};

/// Opens a log; `-` is standard input. Gzip is known by its first two bytes, whatever the name.
///
/// # Errors
/// The system's, for a file that cannot be opened or read.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return unpacked(io::stdin().lock());
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    unpacked(file)
}

fn unpacked(source: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut source = BufReader::with_capacity(1 << 16, source);
    Ok(if source.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(flate2::bufread::MultiGzDecoder::new(source))
    } else {
        Box::new(source)
    })
}

/// Reads all of it into a sink, with memory bounded by the sink's own.
///
/// # Errors
/// Of the reader: a truncated gzip file is `UnexpectedEof`, a damaged one `InvalidData` or `InvalidInput`. What came
/// before the damage has been given to the sink.
pub fn feed(mut source: impl Read, sink: &mut impl LineSink) -> io::Result<()> {
    let mut splitter = Splitter::default();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => splitter.feed(buffer.get(..n).unwrap_or_default(), sink),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                splitter.finish(sink);
                return Err(error);
            }
        }
    }
    splitter.finish(sink);
    Ok(())
}
