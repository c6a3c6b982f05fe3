//! Arguments of `repro-matrix doctor`.

/// Say what this machine has and lacks for each feature, and what to type.
///
/// Ends with 0 if `run` can work here on some device, real or simulated, else with 20.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Print the rows as JSON.
    #[arg(long)]
    pub json: bool,
}
