//! Arguments of `repro-matrix inspect`.

use std::path::PathBuf;

/// What device code a binary carries: images, targets, kernels, private memory.
///
/// Reads ELF executables, shared objects, object files, static libraries, zebins, SPIR-V, clang offload bundles (plain,
/// CCOB) and ocloc's fat binaries. Nothing is run and no driver is needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix inspect libfoo.so\n  \
    repro-matrix inspect --expect-targets dg2-g10,bmg-g21,spir64 libfoo.so   # an image check for a build\n  \
    repro-matrix inspect --kernels --match Cat libtorch_xpu.so\n  \
    repro-matrix inspect --json libfoo.so | jq '.files[0].images[].target.name'\n\n\
    Exit codes: 0 read, and as expected; 2 a file cannot be opened or --expect-targets makes no sense; 10 the targets \
    differ from the expected ones; 40 a file is damaged or of no known kind.")]
pub struct InspectArgs {
    /// The files.
    #[arg(required_unless_present = "devices", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Targets that every device image must carry: their names, or how many. Names of one IP version are one target.
    #[arg(long, value_name = "LIST|N")]
    pub expect_targets: Option<String>,
    /// List every kernel, not only the ones with the most private memory.
    #[arg(long)]
    pub kernels: bool,
    /// Show only kernels whose mangled or demangled name holds this text.
    #[arg(long = "match", value_name = "TEXT")]
    pub pattern: Option<String>,
    /// List every image, not only the first hundred.
    #[arg(long)]
    pub all: bool,
    /// Print the device table that predictions use, with its sources; no FILE is needed for it.
    #[arg(long)]
    pub devices: bool,
    /// Compile SPIR-V modules for every card of the device table with the driver build's ocloc, to see their private memory
    /// (with --match: only modules with such a kernel).
    #[arg(long)]
    pub compile: bool,
    /// Driver build of the store, for --compile.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub driver: String,
    /// JSON, everything: argument layouts too.
    #[arg(long)]
    pub json: bool,
    /// Bytes that one compressed image may unpack to (`256MiB`).
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = crate::frontend::level_zero::args::size)]
    pub max_unpacked: u64,
}
