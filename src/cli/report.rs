//! Arguments of `repro-matrix report`.

use std::path::PathBuf;

/// Write what a run (or several) showed, in a form for people or machines.
///
/// Results of the same matrix, machine, device and driver builds are counted together; others stand side by side. What
/// cannot be read is named in the report and on stderr, and the exit code is then 40: nothing is dropped silently.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Results directories (`results/<matrix>/<run-id>`).
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    #[arg(long, short, value_enum, default_value_t = Format::Md)]
    pub format: Format,
    /// Write to this file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Axes of the heat map of `html`, down and across (`kernels,source kind`). Chosen from the results if absent.
    #[arg(long, value_name = "AXIS,AXIS", value_parser = axes)]
    pub axes: Option<(String, String)>,
    /// Leave home directories, host and user names, hardware addresses, UUIDs and serial numbers as they are.
    #[arg(long)]
    pub unmasked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Markdown for a comment on a pull request.
    Md,
    /// One line a run, every axis a column.
    Csv,
    /// Everything as data (schema: `repro-matrix schema --of report`).
    Json,
    /// JUnit XML: one test case an arm.
    Junit,
    /// A draft of the vendor's bug form.
    Issue,
    /// One self-contained page.
    Html,
    /// One line as JSON for a badge.
    Badge,
}

fn axes(text: &str) -> Result<(String, String), String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [down, across] if !down.is_empty() && !across.is_empty() => Ok((down.to_owned(), across.to_owned())),
        _ => Err("two axes with a comma between them (\"kernels,source kind\")".to_owned()),
    }
}
