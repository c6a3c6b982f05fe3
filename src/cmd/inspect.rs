//! `repro-matrix inspect`: files → reports → table or JSON, and an exit code that a build can use.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::Failure;
use super::inspect_compile::{self, Compiled, Module};
use crate::cli::inspect::InspectArgs;
use crate::exit::Exit;
use crate::inspect::{
    Check, DeviceRow, Expected, FileReport, Image, Limits, Prediction, check, devices, extract, predict,
};
use crate::ui;

/// The JSON output.
#[derive(Serialize)]
struct Output {
    devices: Vec<DeviceRow>,
    files: Vec<FileOutput>,
}

#[derive(Serialize)]
struct FileOutput {
    #[serde(flatten)]
    report: FileReport,
    /// For each image, each card of the device table.
    predictions: Vec<Vec<Prediction>>,
    /// With --compile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compiled: Vec<Compiled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
}

pub fn inspect_files(args: &InspectArgs) -> Result<Exit, Failure> {
    let expected = args.expect_targets.as_deref().map(Expected::parse).transpose();
    let expected =
        expected.map_err(|what| Failure::new(Exit::Usage, format_args!("--expect-targets: {what}")))?;
    let limits = Limits { unpacked: args.max_unpacked, ..Limits::default() };
    let rows = devices();
    let mut files = Vec::new();
    for path in &args.files {
        let mut modules: Vec<Module> = Vec::new();
        let mut count = 0;
        let report = read(path, limits, &mut |image, bytes| {
            if args.compile && inspect_compile::wanted(image, args.pattern.as_deref()) {
                let options = image.compile_options.clone();
                modules.push(Module { image: count, bytes: bytes.to_vec(), options });
            }
            count += 1;
        })?;
        let predictions = report.images.iter().map(|image| predict(image, &rows)).collect();
        let check = expected.as_ref().map(|expected| check(&report, expected));
        let compiled =
            if args.compile { inspect_compile::all(&args.driver, &modules, &rows)? } else { Vec::new() };
        files.push(FileOutput { report, predictions, compiled, check });
    }
    let exit = verdict(&files);
    let text = if args.json {
        serde_json::to_string_pretty(&Output { devices: rows, files })
            .map_err(|error| Failure::new(Exit::Internal, format_args!("report to JSON: {error}")))?
    } else {
        let view = ui::inspect::View {
            kernels: args.kernels,
            pattern: args.pattern.as_deref(),
            all: args.all,
            width: ui::summary::style().width,
        };
        let mut text = String::new();
        if args.devices {
            text.push_str(&ui::inspect::devices(&rows));
        }
        for file in &files {
            text.push_str(&view.file(&file.report, &file.predictions, file.check.as_ref()));
            if args.compile {
                text.push_str(&inspect_compile::text(&file.compiled));
            }
        }
        super::say::harmless(&text)
    };
    print(&text)?;
    Ok(exit)
}

fn verdict(files: &[FileOutput]) -> Exit {
    if files.iter().any(|file| file.check.as_ref().is_some_and(|check| !check.met)) {
        Exit::Unexpected
    } else if files.iter().any(|file| !file.report.problems.is_empty()) {
        Exit::IncompatibleRecording
    } else {
        Exit::AsExpected
    }
}

/// What device code a plain file holds, with the bytes of every image.
pub(super) fn read(
    path: &Path,
    limits: Limits,
    take: &mut dyn FnMut(&Image, &[u8]),
) -> Result<FileReport, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(Exit::Usage, format_args!("cannot read {}: {error}", path.display()))
    };
    let file = File::open(path).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err(Failure::new(Exit::Usage, format_args!("{} is not a regular file", path.display())));
    }
    let name = path.display().to_string();
    if about.len() == 0 {
        return Ok(extract(&name, &[], limits, take));
    }
    let map = super::sys::map(&file).map_err(unreadable)?;
    Ok(extract(&name, &map, limits, take))
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        // The reader has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(Exit::CannotRecord, format_args!("cannot write the report: {error}"))),
        Ok(()) => Ok(()),
    }
}
