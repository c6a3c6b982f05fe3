//! `repro-matrix compare-output`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde::Serialize;

use crate::cli::builds::{Build, CompareArgs};
use crate::cmd::Failure;
use crate::cmd::on_device::Stand;
use crate::compare::numbers::{Comparison, Kind, compare};
use crate::exit::Exit;

/// One pair of outputs.
#[derive(Serialize)]
struct Row {
    /// Of the outputs: a file's name, or the device they were made on.
    what: String,
    #[serde(flatten)]
    comparison: Comparison,
}

pub fn compare_output(args: &CompareArgs) -> Result<Exit, Failure> {
    let rows = match args.files.as_slice() {
        [first, second] => files(args, first, second)?,
        _ => runs(args)?,
    };
    let values: u64 = rows.iter().map(|row| row.comparison.values).sum();
    let identical = rows.iter().all(|row| row.comparison.identical());
    let text = if args.json {
        let value =
            serde_json::json!({ "version": 1, "identical": identical, "values": values, "outputs": rows });
        serde_json::to_string_pretty(&value).map_err(|error| Failure::new(Exit::Internal, error))? + "\n"
    } else {
        rows.iter().map(|row| describe(&row.what, &row.comparison)).collect()
    };
    super::say::print(&text)?;
    // An empty comparison must not look like equality.
    if rows.is_empty() {
        return Err(Failure::new(Exit::Inconclusive, "the directories hold no file: no number was compared"));
    }
    if let Some(row) = rows.iter().find(|row| row.comparison.identical() && row.comparison.values == 0) {
        return Err(Failure::new(Exit::Inconclusive, format_args!("{}: no number was compared", row.what)));
    }
    Ok(if identical { Exit::AsExpected } else { Exit::Unexpected })
}

fn describe(what: &str, found: &Comparison) -> String {
    let mut text = format!("{what}: {} values, {} different", found.values, found.different);
    if found.different > 0 {
        text.push_str(&format!(
            " (largest difference {:e}, relative {:e})",
            found.largest_absolute, found.largest_relative
        ));
    }
    if found.others > 0 {
        text.push_str(&format!("; {} other fields, {} different", found.others, found.others_different));
    }
    if found.shape > 0 {
        text.push_str(&format!("; {} places that only one has", found.shape));
    }
    text.push('\n');
    for line in &found.first {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

fn files(args: &CompareArgs, first: &Path, second: &Path) -> Result<Vec<Row>, Failure> {
    if !first.is_dir() {
        return Ok(vec![pair(args, &second.display().to_string(), first, second)?]);
    }
    let names = |directory: &Path| -> Result<BTreeSet<std::ffi::OsString>, Failure> {
        let entries = fs::read_dir(directory).map_err(|e| unreadable(directory, &e))?;
        Ok(entries.flatten().filter(|e| e.path().is_file()).map(|e| e.file_name()).collect())
    };
    let (a, b) = (names(first)?, names(second)?);
    if let Some(only) = a.symmetric_difference(&b).next() {
        let only = only.to_string_lossy();
        return Err(Failure::new(
            Exit::Inconclusive,
            format_args!("{only} is in one of the directories only"),
        ));
    }
    a.iter().map(|name| pair(args, &name.to_string_lossy(), &first.join(name), &second.join(name))).collect()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, format_args!("cannot read {}: {error}", path.display()))
}

fn pair(args: &CompareArgs, what: &str, first: &Path, second: &Path) -> Result<Row, Failure> {
    let Some(kind) = args.kind.or_else(|| Kind::of(first)) else {
        return Err(Failure::new(
            Exit::Usage,
            format_args!(
                "{}: --kind says how to read it (json, csv, f32, f64, u8, u16, u32, u64)",
                first.display()
            ),
        ));
    };
    let read = |path: &Path| fs::read(path).map_err(|error| unreadable(path, &error));
    let comparison = compare(kind, &read(first)?, &read(second)?, &args.ignore)
        .map_err(|error| Failure::new(Exit::Inconclusive, format_args!("{what}: {error}")))?;
    Ok(Row { what: what.to_owned(), comparison })
}

fn runs(args: &CompareArgs) -> Result<Vec<Row>, Failure> {
    let [first, second] = args.builds.as_slice() else {
        return Err(Failure::new(Exit::Usage, "two builds are compared: --build NAME=COMMAND, twice"));
    };
    if args.kind.is_none() {
        return Err(Failure::new(Exit::Usage, "--kind says how the builds' outputs are to be read"));
    }
    let directory = tempfile::Builder::new()
        .prefix("repro-matrix-output-")
        .tempdir()
        .map_err(|error| Failure::new(Exit::CannotRecord, error))?;
    let mut rows = Vec::new();
    for device in &args.on.devices {
        let stand = Stand::new(&args.on.driver, device, args.on.runtime.as_deref())?;
        let name = stand.device.name();
        let place =
            |build: &Build| directory.path().join(format!("{}-{}", name.replace(':', "-"), build.name));
        let (a, b) = (place(first), place(second));
        run(args, &stand, first, &a)?;
        run(args, &stand, second, &b)?;
        let what = format!("{name}, {} and {}", first.name, second.name);
        rows.push(pair(args, &what, &a, &b)?);
    }
    Ok(rows)
}

fn run(args: &CompareArgs, stand: &Stand, build: &Build, out: &Path) -> Result<(), Failure> {
    let place = out.to_string_lossy();
    if !build.words.iter().any(|word| word.contains("{out}")) {
        return Err(Failure::new(Exit::Usage, format_args!("{}: no {{out}} in its command", build.name)));
    }
    let words: Vec<_> = build.words.iter().map(|word| word.replace("{out}", &place).into()).collect();
    let mut command = stand.command(&words)?;
    // What the program prints is not the comparison's; errors are the user's to see.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let end = super::timed::run(command, args.on.timeout)?;
    if !end.success() {
        return Err(Failure::new(
            Exit::Inconclusive,
            format_args!("{} on {}: {}", build.name, stand.device.name(), end.describe()),
        ));
    }
    if !out.is_file() {
        return Err(Failure::new(Exit::Inconclusive, format_args!("{} wrote no {{out}}", build.name)));
    }
    Ok(())
}
