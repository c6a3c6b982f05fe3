//! A pipe's bytes into a file, with the time at which they came and the phase markers found in them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::model::repro::PHASE_MARKER;

use super::spec::{Arrival, Captured};

const CHUNK: usize = 64 << 10;
/// Reads of one turn, so that a flood on one pipe starves neither the other nor the clock.
const READS_PER_TURN: usize = 16;

/// One pipe that is being read. `None` in `pipe` = end of file was seen.
pub struct Capture {
    pipe: Option<File>,
    file: Option<File>,
    captured: Captured,
    markers: Markers,
}

impl Capture {
    pub fn new(pipe: OwnedFd, path: PathBuf) -> io::Result<Self> {
        set_nonblocking(pipe.as_fd())?;
        let file = File::create(&path)?;
        Ok(Capture {
            pipe: Some(File::from(pipe)),
            file: Some(file),
            captured: Captured { path, ..Captured::default() },
            markers: Markers::default(),
        })
    }

    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    pub fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub fn bytes(&self) -> u64 {
        self.captured.bytes
    }

    /// Reads what is there. Phase names that were completed by it are pushed to `phases`; true if anything came.
    pub fn turn(&mut self, phases: &mut Vec<String>) -> bool {
        let mut buffer = [0u8; CHUNK];
        let mut any = false;
        for _ in 0..READS_PER_TURN {
            let Some(pipe) = self.pipe.as_mut() else { break };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    any = true;
                    let Some(bytes) = buffer.get(..n) else { break };
                    self.take(bytes, phases);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.lose(format!("reading the pipe: {e}"));
                    self.pipe = None;
                }
            }
        }
        any
    }

    fn take(&mut self, bytes: &[u8], phases: &mut Vec<String>) {
        self.captured.arrivals.push(Arrival { offset: self.captured.bytes, t_ns: super::monotonic_ns() });
        self.captured.bytes += bytes.len() as u64;
        self.markers.feed(bytes, phases);
        if let Some(file) = self.file.as_mut()
            && let Err(e) = file.write_all(bytes)
        {
            // The pipe is still drained: a child that blocks on a full pipe would look like a hang.
            self.file = None;
            let what = format!("writing {}: {e}", display_name(&self.captured.path));
            self.lose(what);
        }
    }

    fn lose(&mut self, why: String) {
        self.captured.lost.get_or_insert(why);
    }

    /// Gives up on the pipe (somebody else still holds its other end).
    pub fn abandon(&mut self) {
        self.pipe = None;
    }

    pub fn finish(self) -> Captured {
        self.captured
    }
}

fn display_name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The result descriptor's read end, kept in memory up to a cap.
pub struct ResultPipe {
    pipe: Option<File>,
    pub bytes: Vec<u8>,
    pub overflow: bool,
    cap: u64,
}

impl ResultPipe {
    pub fn new(pipe: OwnedFd, cap: u64) -> io::Result<Self> {
        set_nonblocking(pipe.as_fd())?;
        Ok(ResultPipe { pipe: Some(File::from(pipe)), bytes: Vec::new(), overflow: false, cap })
    }

    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    pub fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Lets a reproducer that waits at a marker go on. One that does not wait never reads the byte.
    pub fn let_go_on(&mut self) {
        if let Some(pipe) = self.pipe.as_mut() {
            // A client that is gone needs no answer.
            let _ = pipe.write(&[1]);
        }
    }

    pub fn turn(&mut self) -> bool {
        let mut buffer = [0u8; CHUNK];
        let mut any = false;
        for _ in 0..READS_PER_TURN {
            let Some(pipe) = self.pipe.as_mut() else { break };
            match pipe.read(&mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    any = true;
                    let room = self.cap.saturating_sub(self.bytes.len() as u64) as usize;
                    self.bytes.extend(buffer.iter().take(n.min(room)));
                    self.overflow |= n > room;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                // Reported once if the client ended with our byte unread; what it wrote comes all the same.
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionReset) => {
                }
                Err(_) => self.pipe = None,
            }
        }
        any
    }

    pub fn abandon(&mut self) {
        self.pipe = None;
    }
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Finds marker lines in a stream that arrives in pieces. Keeps no more than a marker's length.
#[derive(Default)]
struct Markers {
    line: Vec<u8>,
    /// The rest of this line cannot be a marker.
    skip: bool,
}

/// Longer than the marker and any phase's name.
const MARKER_LINE_MAX: usize = 64;

impl Markers {
    fn feed(&mut self, bytes: &[u8], phases: &mut Vec<String>) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let ends = piece.last() == Some(&b'\n');
            if !self.skip {
                let room = MARKER_LINE_MAX.saturating_sub(self.line.len());
                self.line.extend(piece.iter().take(room));
                self.skip = !self.may_be_marker();
            }
            if ends {
                if !self.skip
                    && let Some(name) = self.line.strip_prefix(PHASE_MARKER.as_bytes())
                    && let Ok(name) = std::str::from_utf8(name)
                {
                    phases.push(name.trim().to_owned());
                }
                self.line.clear();
                self.skip = false;
            }
        }
    }

    fn may_be_marker(&self) -> bool {
        self.line.len() < MARKER_LINE_MAX
            && self.line.iter().zip(PHASE_MARKER.as_bytes()).all(|(have, want)| have == want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases_of(pieces: &[&[u8]]) -> Vec<String> {
        let mut markers = Markers::default();
        let mut phases = Vec::new();
        for piece in pieces {
            markers.feed(piece, &mut phases);
        }
        phases
    }

    #[test]
    fn markers_are_found_whole_cut_and_between_other_lines() {
        assert_eq!(phases_of(&[b"== repro-matrix phase before\n"]), ["before"]);
        assert_eq!(phases_of(&[b"x\n== repro-mat", b"rix phase co", b"pies\ny"]), ["copies"]);
        assert_eq!(phases_of(&[b"x == repro-matrix phase before\n"]), Vec::<String>::new());
        assert_eq!(phases_of(&[&[b'x'; 1 << 20], b"\n== repro-matrix phase after\n"]), ["after"]);
        assert_eq!(phases_of(&[b"== repro-matrix phase before"]), Vec::<String>::new());
    }
}
