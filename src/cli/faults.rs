//! Arguments of `repro-matrix faults`.

use std::path::PathBuf;

use super::search::SearchArgs;

/// Let each request of an arm fail once, one a run, and say what comes of it.
///
/// A run without faults counts the requests. Then every bind, create, exec and wait fails once with every errno that the
/// kernel can return there. Runs that end alike are one group, with the smallest trigger of each. On a card the faults are
/// injected by strace, one ioctl a run; bound that with --max-runs.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix faults m.toml --arm over/anon-rw --points bind --errnos ENOMEM\n  \
    repro-matrix faults m.toml --arm over/anon-rw --max-runs 1000\n\n\
    Exit codes: 0 no fault leaves a hazard, a wrong result, a hang or a crash; 10 some do; 12 the arm fails without any\n\
    fault, some run has no verdict, no fault was reached, or a budget was spent; 4 there is no fault to inject.")]
pub struct FaultsArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// The arm.
    #[arg(long, value_name = "ARM")]
    pub arm: String,
    /// Only these requests: bind, create, exec, wait, vm_create, queue_create.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = point)]
    pub points: Vec<String>,
    /// Only these errnos (ENOMEM, EINTR…).
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub errnos: Vec<String>,
    /// Who injects: the simulated device, or strace (any device; counts every ioctl).
    #[arg(long, value_enum)]
    pub inject: Option<Injector>,
    /// Only this part of the faults (`2/4`), by a stable hash: shares of one sweep for several machines.
    #[arg(long, value_name = "M/N")]
    pub shard: Option<crate::plan::shard::Shard>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub search: SearchArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Injector {
    Device,
    Strace,
}

fn point(text: &str) -> Result<String, String> {
    let names = || crate::faults::POINTS.map(|point| point.name).join(", ");
    crate::faults::errnos::by_name(text).map(|point| point.name.to_owned()).ok_or_else(names)
}
