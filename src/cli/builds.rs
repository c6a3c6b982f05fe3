//! Arguments of the verbs that run two or more builds of one program: `startup` and `compare-output`.

use std::path::PathBuf;
use std::time::Duration;

use crate::compare::numbers::Kind;

/// A build: a name and its command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    pub name: String,
    pub words: Vec<String>,
}

/// `NAME=COMMAND`, the command split as a shell splits words (no expansion).
pub fn build(text: &str) -> Result<Build, String> {
    let (name, command) = text.split_once('=').ok_or("NAME=COMMAND, as in jit='./app-jit --frames 48'")?;
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || !name.chars().all(good) {
        return Err(format!("`{name}` is no name: letters, digits and -_.+"));
    }
    let words = shell_words::split(command).map_err(|error| format!("{name}: {error}"))?;
    if words.is_empty() {
        return Err(format!("{name} has no command"));
    }
    Ok(Build { name: name.to_owned(), words })
}

/// Cold and warm start of two or more builds, in turn.
///
/// Every repetition starts each build once, in an order that changes from one repetition to the next, and measures the
/// whole process. `cold`: compiler caches off, as in a fresh container. `warm`: a cache directory for each build, filled
/// by one start that is not measured. Medians come with an interval, ratios are taken within a repetition.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    repro-matrix startup --build jit='./app-jit -n 1' --build aot='./app-aot -n 1' --runs 9\n\n\
    On the simulated device the times are the model's and the machine's, not a card's: the output says so.\n\n\
    Exit codes: 0 measured; 2 wrong usage; 12 a run failed, so that there is no number.")]
pub struct StartupArgs {
    /// A build and its command; two or more.
    #[arg(long = "build", required = true, value_name = "NAME=COMMAND", value_parser = build)]
    pub builds: Vec<Build>,
    /// Starts of each build and each kind.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Which kinds of start.
    #[arg(long, value_enum, default_values_t = [Cache::Cold, Cache::Warm], value_delimiter = ',')]
    pub cache: Vec<Cache>,
    #[command(flatten)]
    pub on: On,
    /// JSON: every time, medians, ratios.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Cache {
    Cold,
    Warm,
}

/// Where the builds run.
#[derive(Debug, clap::Args)]
pub struct On {
    /// `auto`, `sim:PROFILE` or `pci:ADDRESS`; several for compare-output.
    #[arg(long = "device", value_name = "DEVICE", default_value = "auto", value_parser = super::plan::device)]
    pub devices: Vec<String>,
    /// Driver build of the store.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub driver: String,
    /// A SYCL runtime for the search path: a version, or `default`.
    #[arg(long, value_name = "VERSION")]
    pub runtime: Option<String>,
    /// End of one run.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
}

/// Bit-exact comparison of two builds' numeric outputs.
///
/// Either two files (or directories with files of equal names), or two builds that are run on every device named, each
/// writing the file that stands for `{out}` in its command.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix compare-output jit.json aot.json --ignore fps\n  \
    repro-matrix compare-output --build jit='./app-jit -o {out}' --build aot='./app-aot -o {out}' \\\n      \
    --device sim:a770 --device sim:b580 --kind json\n\n\
    Exit codes: 0 identical; 10 different; 12 nothing was compared (no numbers, a run failed); 2 wrong usage.")]
pub struct CompareArgs {
    /// Two files or two directories.
    #[arg(num_args = 2, value_names = ["FIRST", "SECOND"], required_unless_present = "builds", conflicts_with = "builds")]
    pub files: Vec<PathBuf>,
    /// A build that writes its output to `{out}`; two of them.
    #[arg(long = "build", value_name = "NAME=COMMAND", value_parser = build)]
    pub builds: Vec<Build>,
    /// How outputs are read [default: by the file's extension, .json or .csv].
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// JSON field or CSV column to pass over; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub ignore: Vec<String>,
    #[command(flatten)]
    pub on: On,
    /// JSON: counts, largest differences, the first places.
    #[arg(long)]
    pub json: bool,
}
