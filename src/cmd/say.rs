//! What verbs write: to stdout, to stderr, to a file that the user names.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cmd::Failure;
use crate::exit::Exit;

/// A line to stderr. A reader that is gone (`2>&1 | head`) is no fault.
pub(super) fn note(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes to stdout; a reader that had enough (`| head`) is no fault.
pub(super) fn print(text: &str) -> Result<Exit, Failure> {
    print_bytes(text.as_bytes())
}

pub(super) fn print_bytes(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::CannotRecord, format_args!("standard output: {error}")))
        }
        _ => Ok(Exit::AsExpected),
    }
}

/// Text with names from a file that need not be well meant: they give a terminal no orders.
pub(super) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Something that was to be shown did not get out.
static LOST: AtomicBool = AtomicBool::new(false);

/// Writes what is on disk too, or follows from a search: that it was not shown is said, and the verb goes on to its [`end`].
pub(super) fn show(text: &str) {
    if let Err(failure) = print(text) {
        LOST.store(true, Ordering::Relaxed);
        note(format_args!("warning: {}: the output is not complete", failure.report));
    }
}

/// The exit code of a verb: no success where its output was lost. Any other says more than that.
pub(super) fn end(exit: Exit) -> Exit {
    if exit == Exit::AsExpected && LOST.load(Ordering::Relaxed) { Exit::CannotRecord } else { exit }
}

/// Writes `path`, whole or not at all; what is no regular file (`/dev/stdout`, a pipe, a link) is written to as it is, never
/// replaced.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    let written = match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => std::fs::write(path, text),
        Ok(_) | Err(_) => write_whole(path, text),
    };
    written.map_err(|error| Failure::new(Exit::CannotRecord, format_args!("{}: {error}", path.display())))
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Two reports that are written at once must not share it.
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    let partial = beside.join(name);
    let written = std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_links_are_written_through() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("a.md"), dir.path().join("link"));
        write_file(&file, "one").map_err(|f| f.report).expect("a new file");
        write_file(&file, "two").map_err(|f| f.report).expect("an old one");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write_file(&link, "three").map_err(|f| f.report).expect("through the link");
        assert!(std::fs::symlink_metadata(&link).expect("still there").is_symlink());
        assert_eq!(std::fs::read_to_string(&file).expect("read"), "three");
        assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 2, "nothing is left over");
        let full = write_file(Path::new("/dev/full"), "x").expect_err("no room");
        assert_eq!(full.exit, Exit::CannotRecord);
        let lost = write_file(&dir.path().join("no/such/place"), "x").expect_err("no directory");
        assert_eq!(lost.exit, Exit::CannotRecord);
    }
}
