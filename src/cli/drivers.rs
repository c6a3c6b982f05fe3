//! Arguments of `repro-matrix drivers`.

use std::path::PathBuf;

/// Manage driver builds, side by side, never installed.
///
/// Builds live in $REPRO_MATRIX_DATA, else $XDG_DATA_HOME/repro-matrix, else ~/.local/share/repro-matrix. A matrix names
/// them; `default` is the newest fetched build, `debian` the same, `system` the driver that this machine's loader finds.
#[derive(Debug, clap::Args)]
pub struct DriversArgs {
    #[command(subcommand)]
    pub action: DriversAction,
}

#[derive(Debug, clap::Subcommand)]
pub enum DriversAction {
    /// Download the driver with all it needs from this machine's own Debian mirror (about 76 MB).
    ///
    /// Uses apt with a state of its own: nothing is installed, no root is needed. Safe to repeat and to interrupt.
    Fetch {
        /// `debian` (suite forky) or `debian:SUITE`, as in debian:sid.
        #[arg(default_value = "debian")]
        source: String,
        /// Instead: releases of an index, a TOML file (or its http address) that lists packages with their SHA-256.
        /// Downloads go on where they were interrupted.
        #[arg(long, value_name = "FILE|URL", conflicts_with_all = ["source", "keep_debs"])]
        index: Option<String>,
        /// With --index: only these releases, `A..B` (both included, either may be left out) or one.
        #[arg(long, value_name = "A..B", requires = "index")]
        range: Option<String>,
        /// With --index: the build whose libraries fill the gaps of each release.
        #[arg(long, value_name = "NAME", requires = "index")]
        base: Option<String>,
        /// Keep the downloaded packages here, for `drivers add --deb` on another machine.
        #[arg(long, value_name = "DIR")]
        keep_debs: Option<PathBuf>,
    },
    /// Add a build from packages, a directory or one library.
    #[command(group(clap::ArgGroup::new("from").required(true)))]
    Add {
        /// What to call it.
        name: String,
        /// Debian packages, unpacked over each other; without the C library, this machine's is used.
        #[arg(long, group = "from", num_args = 1.., value_name = "FILE")]
        deb: Vec<PathBuf>,
        /// A directory with libze_intel_gpu somewhere below: an installation prefix, a Nix profile, a build directory.
        #[arg(long, group = "from", value_name = "DIR")]
        prefix: Option<PathBuf>,
        /// One libze_intel_gpu.so, as a patched build leaves it.
        #[arg(long, group = "from", value_name = "FILE")]
        lib: Option<PathBuf>,
        /// The build whose libraries fill the gaps (compiler, gmmlib, loader, C library).
        #[arg(long, value_name = "NAME")]
        base: Option<String>,
    },
    /// List the builds.
    List {
        #[arg(long)]
        json: bool,
    },
    /// Show one build: versions, packages, libraries with build-id and SHA-256.
    Show {
        #[arg(default_value = "default")]
        name: String,
        /// Print the manifest as JSON.
        #[arg(long)]
        json: bool,
        /// Hash every file again and compare.
        #[arg(long)]
        verify: bool,
    },
    /// Remove a build.
    Remove { name: String },
}
