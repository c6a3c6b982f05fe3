//! Debian packages, through dpkg-deb.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::DriverError;
use super::manifest::Package;
use super::store;

/// Name, version and architecture of a .deb file; errors if it is not one.
pub fn identify(deb: &Path) -> Result<(Package, String), DriverError> {
    let not_a_deb = |reason: String| DriverError::NotADeb { path: deb.to_owned(), reason };
    if !deb.is_file() {
        return Err(not_a_deb("no such file".to_owned()));
    }
    let output = run(Command::new("dpkg-deb")
        .arg("--showformat=${Package}\\n${Version}\\n${Architecture}\\n")
        .arg("--show")
        .arg(deb))?;
    if !output.status.success() {
        return Err(not_a_deb(first_line(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.lines().map(str::to_owned);
    match (fields.next(), fields.next(), fields.next()) {
        (Some(name), Some(version), Some(architecture)) => Ok((Package { name, version }, architecture)),
        _ => Err(not_a_deb("its control file names no package".to_owned())),
    }
}

/// Unpacks the files of a package into a directory. No maintainer script runs.
pub fn extract(deb: &Path, root: &Path) -> Result<(), DriverError> {
    let output = run(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(root))?;
    if output.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if log.contains("No space left on device") || log.contains("Disk quota exceeded") {
        let free_mb = store::free_bytes(root).unwrap_or(0) >> 20;
        // Unpacked, these packages take about five times their size.
        let need_mb = deb.metadata().map_or(0, |metadata| metadata.len() * 5) >> 20;
        return Err(DriverError::DiskFull { path: root.to_owned(), need_mb, free_mb });
    }
    Err(DriverError::NotADeb { path: deb.to_owned(), reason: first_line(&output.stderr) })
}

fn run(command: &mut Command) -> Result<Output, DriverError> {
    let command = command.env("LC_ALL", "C").stdin(Stdio::null());
    command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => DriverError::NoTool { tool: "dpkg-deb", package: "dpkg" },
        _ => DriverError::Io { path: "dpkg-deb".into(), what: "could not be started", source: error },
    })
}

fn first_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    line.trim_start_matches("dpkg-deb: error: ").to_owned()
}
