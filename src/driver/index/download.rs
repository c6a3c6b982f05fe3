//! One file from an address, by curl: gone on with after an interruption, used only if its hash is right.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::super::{DriverError, hash};
use super::{IndexedPackage, is_address};

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// The text of a small file (the index itself).
pub fn text(url: &str, store: &Path, say: &mut dyn FnMut(&str)) -> Result<String, DriverError> {
    say(&format!("index    {url}"));
    let directory = store.join(".fetch");
    std::fs::create_dir_all(&directory).map_err(DriverError::io(&directory, "could not be made"))?;
    let file = directory.join("index.toml");
    // Never resumed: half of an old list and half of a new one are no list.
    let _ = std::fs::remove_file(&file);
    curl(url, &file, None, &mut |_| {})?;
    std::fs::read_to_string(&file).map_err(DriverError::io(&file, "could not be read"))
}

/// A package to `target`. A file that is there with the right hash is taken as it is.
pub fn package(
    url: &str,
    package: &IndexedPackage,
    target: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), DriverError> {
    let wanted = package.sha256.to_ascii_lowercase();
    if is_right(target, &wanted) {
        return Ok(());
    }
    let partial = PathBuf::from(format!("{}.part", target.display()));
    if !is_address(url) {
        let from = Path::new(url);
        std::fs::copy(from, &partial).map_err(DriverError::io(from, "could not be copied"))?;
    } else {
        let there = partial.metadata().map_or(0, |metadata| metadata.len());
        match there {
            // All bytes came, and the last run ended before it could look at them. Or too many did.
            there if there >= package.size && !is_right(&partial, &wanted) => {
                let _ = std::fs::remove_file(&partial);
                fetch(url, package, &partial, say)?;
            }
            there if there >= package.size => {}
            0 => fetch(url, package, &partial, say)?,
            there => {
                say(&format!("go on    {url} from {}", megabytes(there)));
                fetch(url, package, &partial, say)?;
                if !is_right(&partial, &wanted) {
                    // The half may have been of another file.
                    say("again    the parts do not fit together: from the start");
                    let _ = std::fs::remove_file(&partial);
                    fetch(url, package, &partial, say)?;
                }
            }
        }
    }
    let found = hash::file(&partial).map_err(DriverError::io(&partial, "could not be read"))?;
    if found != wanted {
        let _ = std::fs::remove_file(&partial);
        return Err(DriverError::WrongHash { url: url.to_owned(), found, wanted });
    }
    std::fs::rename(&partial, target).map_err(DriverError::io(target, "could not be made"))
}

fn is_right(file: &Path, wanted: &str) -> bool {
    file.is_file() && hash::file(file).is_ok_and(|found| found == wanted)
}

fn fetch(
    url: &str,
    package: &IndexedPackage,
    partial: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(), DriverError> {
    let name = url.rsplit('/').next().unwrap_or(url);
    say(&format!("fetch    {name}  {}", megabytes(package.size)));
    curl(url, partial, Some(package.size), &mut |bytes| {
        say(&format!("         {name}  {} of {}", megabytes(bytes), megabytes(package.size)));
    })
}

/// Appends to `file` what it lacks. `progress` gets its size now and then.
fn curl(url: &str, file: &Path, size: Option<u64>, progress: &mut dyn FnMut(u64)) -> Result<(), DriverError> {
    let mut command = Command::new("curl");
    command.args([
        "--fail",
        "--location",
        "--silent",
        "--show-error",
        "--retry",
        "3",
        "--connect-timeout",
        "30",
    ]);
    // A redirect must not lead to a local file.
    command.args(["--proto", "=http,https", "--continue-at", "-"]);
    if let Some(size) = size {
        command.args(["--max-filesize", &size.to_string()]);
    }
    command.arg("--output").arg(file).arg("--").arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => DriverError::NoTool { tool: "curl", package: "curl" },
        _ => DriverError::Io { path: "curl".into(), what: "could not be started", source: error },
    })?;
    let mut told = Instant::now();
    let status = loop {
        match child.try_wait().map_err(DriverError::io(file, "curl could not be waited for"))? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            progress(file.metadata().map_or(0, |metadata| metadata.len()));
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut log = String::new();
    if let Some(mut errors) = child.stderr.take() {
        use std::io::Read;
        let _ = errors.read_to_string(&mut log);
    }
    Err(DriverError::Tool { tool: "curl", status: status.to_string(), log: format!("{url}: {}", log.trim()) })
}

fn megabytes(bytes: u64) -> String {
    // Bytes are far below 2^52.
    format!("{:.1} MB", bytes as f64 / 1e6)
}
