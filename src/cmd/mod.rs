//! One file per verb. Each turns typed arguments into calls of the stages and ends in an exit code.

pub mod asked;
mod asm;
mod asm_dumps;
mod asm_lines;
pub mod bisect;
pub mod check;
pub mod command;
pub mod compare;
pub mod compare_output;
pub mod conclude;
pub mod diff;
pub mod doctor;
pub mod drive;
pub mod drivers;
pub mod env;
pub mod expectations;
pub mod faults;
pub mod inputs;
pub mod inspect;
mod inspect_compile;
pub mod keys;
pub mod lab;
pub mod manual;
pub mod memo;
pub mod merge;
pub mod notify;
pub mod observe;
pub mod on_device;
mod origins;
pub mod parse;
pub mod parts;
pub mod plan;
pub mod prober;
pub mod reduce;
pub mod report;
pub mod rounds;
pub mod run;
mod say;
pub mod schedule;
pub mod schema;
pub mod sim;
pub mod source_file;
pub mod startup;
pub mod sycl;
mod sys;
pub mod threshold;
mod timed;
pub mod toolchains;
pub mod verdict;
pub mod watch;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::exit::Exit;

/// Why a verb could not do its work: the exit code, what happened, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub report: miette::Report,
}

impl Failure {
    pub fn new(exit: Exit, message: impl std::fmt::Display) -> Self {
        Failure { exit, report: miette::miette!("{message}") }
    }

    pub fn with_help(exit: Exit, message: impl std::fmt::Display, help: impl std::fmt::Display) -> Self {
        Failure { exit, report: miette::miette!(help = help.to_string(), "{message}") }
    }

    pub fn from_report(exit: Exit, report: impl Into<miette::Report>) -> Self {
        Failure { exit, report: report.into() }
    }
}

/// Runs one parsed command line.
pub fn dispatch(cli: &Cli) -> Result<ExitCode, Failure> {
    let exit = match &cli.command {
        // Its status is the simulated command's own.
        Command::Sim(args) => return sim::sim(args),
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan::plan(args),
        Command::Bisect(args) => bisect::bisect(args),
        Command::Verdict(args) => verdict::verdict(args),
        Command::Compare(args) => compare::compare(args),
        Command::Threshold(args) => threshold::threshold(args),
        Command::Faults(args) => faults::faults(args),
        Command::Reduce(args) => reduce::reduce(args),
        Command::Keys(args) => keys::keys(args),
        Command::Drivers(args) => drivers::drivers(args),
        Command::Watch(args) => watch::watch(args),
        Command::Diff(args) => diff::diff(args),
        Command::Merge(args) => merge::merge(args),
        Command::Check(args) => check::check(args),
        Command::Expectations(args) => expectations::expectations(args),
        Command::Env(args) => env::env(args),
        Command::Report(args) => report::report(args),
        Command::Toolchains(args) => toolchains::toolchains(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Parse(args) => parse::parse(args),
        Command::Inspect(args) => inspect::inspect_files(args),
        Command::Asm(args) => asm::asm(args),
        Command::Startup(args) => startup::startup(args),
        Command::CompareOutput(args) => compare_output::compare_output(args),
        Command::Schema(args) => schema::schema(args),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man => manual::man(),
        Command::CommandRepro(args) => crate::frontend::command::main(args),
        Command::MockRepro(args) => crate::frontend::mock::main(args),
        Command::MockRun(args) => crate::frontend::mock_run::main(args),
        Command::LevelZero(args) => crate::frontend::level_zero::main(args),
        Command::LevelZeroCheck(args) => crate::frontend::level_zero::programs::main(args),
    }?;
    Ok(match &cli.command {
        // git reads its exit code, and nothing else.
        Command::Verdict(_) => exit,
        _ => say::end(exit),
    }
    .into())
}
