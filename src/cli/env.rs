//! Arguments of `repro-matrix env`.

/// Print what a bug report needs of this machine: devices, kernel, driver builds, variables.
///
/// The same goes into the manifest of every run. Names, serial numbers, hardware addresses and UUIDs are masked.
#[derive(Debug, clap::Args)]
pub struct EnvArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
