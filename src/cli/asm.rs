//! Arguments of `repro-matrix asm`.

use std::path::PathBuf;

/// The ISA of a program's kernels, by the way that fits: from the file, from the driver, or from the compiler.
///
/// With a file, its native images are disassembled. With a command, it is run on a cold cache with the dumps of the
/// driver (DumpZEBin) and of the graphics compiler (IGC_ShaderDumpEnable) on: code that was compiled ahead of time for the
/// device comes from the driver's zebins, code that the driver compiled itself from IGC's own `.asm`. A launch is enough: the
/// simulated device will do.
///
/// Where the program has debug information (-g, -gline-tables-only), source lines stand before the instructions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix asm libfoo.so --kernel Cat --target dg2-g10\n  \
    repro-matrix asm --kernel priv0 --print --device sim:a770 -- ./app --once\n\n\
    Exit codes: 0 written; 2 wrong usage; 4 no kernel matched (it says why); 21 ocloc failed; 40 written, but a part of FILE could not be \
    read.")]
pub struct AsmArgs {
    /// A file with native code (what `inspect` lists with a target).
    #[arg(value_name = "FILE", required_unless_present = "command", conflicts_with = "command")]
    pub file: Option<PathBuf>,
    /// A part of the kernel's mangled or demangled name.
    #[arg(long, value_name = "TEXT")]
    pub kernel: Option<String>,
    /// A regular expression for the mangled or demangled name.
    #[arg(long, value_name = "REGEX")]
    pub regex: Option<String>,
    /// With a file: only images for this device name or IP version.
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub target: Option<String>,
    /// With a command: `auto`, `sim:PROFILE` or `pci:ADDRESS`.
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = super::plan::device)]
    pub device: String,
    /// Driver build of the store: its ocloc disassembles, its driver runs the command.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub driver: String,
    /// A SYCL runtime for the command's search path: a version, or `default`.
    #[arg(long, value_name = "VERSION", requires = "command")]
    pub runtime: Option<String>,
    /// Where the `.asm` files and the logs go.
    #[arg(long, short, value_name = "DIR", default_value = "asm")]
    pub out: PathBuf,
    /// Print the ISA of the kernels that were picked, too.
    #[arg(long)]
    pub print: bool,
    /// End of the command.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = humantime::parse_duration)]
    pub timeout: std::time::Duration,
    /// The command to run.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
