//! Compressed logs of one run: `logs/<arm>/<repeat>/{stdout,stderr,trace,strace,maps,kmsg,arrivals}.gz`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::run::RawRun;

use super::{LOGS, arm_path};

/// Directory of one run's logs, relative to the results directory.
pub fn log_dir(arm: &str, repeat: u32) -> PathBuf {
    Path::new(LOGS).join(arm_path(arm)).join(repeat.to_string())
}

/// Compresses what `raw` left behind. Returns the files, relative to `results`. Files that do not exist are left
/// out (a device that never started wrote no trace).
pub fn keep(results: &Path, arm: &str, repeat: u32, raw: &RawRun) -> io::Result<Vec<String>> {
    let relative = log_dir(arm, repeat);
    let dir = results.join(&relative);
    // A run that is repeated after a kill may find the killed one's files: they are replaced.
    std::fs::create_dir_all(&dir)?;
    let mut kept = Vec::new();
    let files = [
        ("stdout", Some(&raw.stdout.path)),
        ("stderr", Some(&raw.stderr.path)),
        ("trace", raw.trace.as_ref()),
        ("strace", raw.strace.as_ref()),
    ];
    for (name, path) in files {
        let Some(path) = path.filter(|path| path.exists()) else { continue };
        let mut source = File::open(path)?;
        write_gz(&dir.join(format!("{name}.gz")), |out| io::copy(&mut source, out).map(drop))?;
        kept.push(relative.join(format!("{name}.gz")));
    }
    if !raw.maps.is_empty() {
        write_gz(&dir.join("maps.gz"), |out| {
            raw.maps.iter().try_for_each(|maps| {
                writeln!(out, "== pid {} at \"{}\"", maps.pid, maps.when)?;
                out.write_all(maps.text.as_bytes())
            })
        })?;
        kept.push(relative.join("maps.gz"));
    }
    if let Some(Ok(bytes)) = &raw.kernel_log {
        write_gz(&dir.join("kmsg.gz"), |out| out.write_all(bytes))?;
        kept.push(relative.join("kmsg.gz"));
    }
    if let Some(Ok(bytes)) = &raw.xe_trace {
        write_gz(&dir.join("xe-trace.gz"), |out| out.write_all(bytes))?;
        kept.push(relative.join("xe-trace.gz"));
    }
    if raw.stdout.bytes + raw.stderr.bytes > 0 {
        write_gz(&dir.join("arrivals.gz"), |out| {
            for (stream, captured) in [("stdout", &raw.stdout), ("stderr", &raw.stderr)] {
                for arrival in &captured.arrivals {
                    writeln!(out, "{stream} {} {}", arrival.offset, arrival.t_ns)?;
                }
            }
            Ok(())
        })?;
        kept.push(relative.join("arrivals.gz"));
    }
    Ok(kept.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Unpacked bytes of one log of a record; `None` where it is not there or not whole. Larger ones are cut: a reader
/// of a report looks at lines, not at gigabytes.
pub fn read(results: &Path, log: &str) -> Option<Vec<u8>> {
    const MOST: u64 = 256 << 20;
    // A record comes from a file: it names logs below its directory and nothing else.
    if Path::new(log).components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
        return None;
    }
    let file = File::open(results.join(log)).ok()?;
    let mut bytes = Vec::new();
    GzDecoder::new(file).take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn write_gz(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // The fastest level: traces of long arms are tens of megabytes, and the next run waits.
    let mut out = GzEncoder::new(File::create(path)?, Compression::fast());
    write(&mut out)?;
    out.finish()?;
    Ok(())
}
