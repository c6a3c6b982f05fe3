//! The kernel's messages during a run, from /dev/kmsg. Runs side by side see each other's: the log has no owner.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Reading end, placed after the last record of now.
#[derive(Debug)]
pub struct KernelLog(Result<File, String>);

/// A record is at most this long (include/linux/printk.h: PRINTKRB_RECORD_MAX is smaller).
const RECORD: usize = 8192;
/// More than this in one run is a storm; the rest is left out and said.
const CAP: usize = 4 << 20;

impl KernelLog {
    /// Never fails: why the log cannot be read is part of the answer of [`KernelLog::since`].
    pub fn mark() -> Self {
        Self::at("/dev/kmsg")
    }

    fn at(path: &str) -> Self {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        KernelLog(open().map_err(|e| format!("{path}: {e}")))
    }

    /// Records that came since, one a line in the form of /dev/kmsg; or why there are none to be had.
    pub fn since(self) -> Result<Vec<u8>, String> {
        let mut file = self.0?;
        let mut all = Vec::new();
        let mut record = [0u8; RECORD];
        while all.len() < CAP {
            match file.read(&mut record) {
                Ok(0) => return Ok(all),
                Ok(n) => all.extend(record.iter().take(n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(all),
                // Records were overwritten before they were read; the next read goes on after the gap.
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Err(format!("more than {CAP} bytes of kernel messages during one run"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_after_the_mark_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "before\n").unwrap();
        let mark = KernelLog::at(path.to_str().unwrap());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        io::Write::write_all(&mut file, b"6,1,2,-;after\n").unwrap();
        assert_eq!(mark.since().unwrap(), b"6,1,2,-;after\n");
    }

    #[test]
    fn an_unreadable_log_says_why() {
        let why = KernelLog::at("/no/such/log").since().unwrap_err();
        assert!(why.contains("/no/such/log"), "{why}");
    }
}
