//! Command line types only, one file per verb. Nothing here acts.

use clap::{Parser, Subcommand};

pub mod asm;
pub mod bisect;
pub mod builds;
pub mod check;
pub mod compare;
pub mod diff;
pub mod doctor;
pub mod drivers;
pub mod env;
pub mod expectations;
pub mod faults;
pub mod inspect;
pub mod keys;
pub mod merge;
pub mod parse;
pub mod plan;
pub mod reduce;
pub mod report;
pub mod run;
pub mod schema;
pub mod search;
pub mod sim;
pub mod threshold;
pub mod toolchains;
pub mod verdict;
pub mod watch;

/// Finds, measures and bisects silent faults in Intel's GPU compute drivers, with or without a GPU.
#[derive(Debug, Parser)]
#[command(name = "repro-matrix", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::RunArgs),
    Plan(plan::PlanArgs),
    Sim(sim::SimArgs),
    Bisect(Box<bisect::BisectArgs>),
    Compare(Box<compare::CompareArgs>),
    Threshold(Box<threshold::ThresholdArgs>),
    Faults(Box<faults::FaultsArgs>),
    Reduce(Box<reduce::ReduceArgs>),
    Keys(Box<keys::KeysArgs>),
    Verdict(Box<verdict::VerdictArgs>),
    Drivers(drivers::DriversArgs),
    Report(report::ReportArgs),
    Watch(watch::WatchArgs),
    Diff(diff::DiffArgs),
    Merge(merge::MergeArgs),
    Check(check::CheckArgs),
    Expectations(expectations::ExpectationsArgs),
    Env(env::EnvArgs),
    Toolchains(toolchains::ToolchainsArgs),
    Doctor(doctor::DoctorArgs),
    Parse(parse::ParseArgs),
    Inspect(inspect::InspectArgs),
    Asm(asm::AsmArgs),
    Startup(builds::StartupArgs),
    CompareOutput(builds::CompareArgs),
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    Completions {
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff).
    Man,
    /// The Level Zero reproducer: what an arm runs (see `plan --commands`).
    #[command(hide = true, name = "level-zero")]
    LevelZero(Box<crate::frontend::level_zero::args::LevelZeroArgs>),
    /// Any command, read by the rules of a matrix: what an arm of the command front end runs.
    #[command(hide = true)]
    CommandRepro(crate::frontend::command::CommandArgs),
    /// (small programs with known answers, used by tests)
    #[command(hide = true, name = "level-zero-check")]
    LevelZeroCheck(crate::frontend::level_zero::programs::CheckArgs),
    /// A reproducer without a driver, for tests of the process layer.
    #[command(hide = true)]
    MockRepro(crate::frontend::mock::MockReproArgs),
    /// A matrix of mock arms, for tests of the recorder and the dispatcher.
    #[command(hide = true)]
    MockRun(crate::frontend::mock_run::MockRunArgs),
}
