//! Arguments of `repro-matrix doctor`.

/// Say what this machine has and lacks for each feature, and what to type.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {}
