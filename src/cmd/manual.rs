//! Completion scripts and the manual page, both generated from the command line's own definition.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::cmd::Failure;
use crate::cmd::say::print_bytes;
use crate::exit::Exit;

/// Writes the completion script of `shell` to stdout.
pub fn completions(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "repro-matrix", &mut script);
    print_bytes(&script)
}

/// Writes the manual page (roff) to stdout: every verb, then the exit codes.
pub fn man() -> Result<Exit, Failure> {
    let mut page = Vec::new();
    let render = |page: &mut Vec<u8>| -> std::io::Result<()> {
        let mut command = Cli::command();
        command.build();
        let main = clap_mangen::Man::new(command.clone());
        main.render_title(page)?;
        main.render_name_section(page)?;
        main.render_synopsis_section(page)?;
        main.render_description_section(page)?;
        verbs(page, &command, "")?;
        writeln!(page, ".SH EXIT STATUS")?;
        for exit in Exit::ALL {
            writeln!(page, ".TP\n\\fB{}\\fR\n{}", exit as u8, exit.meaning())?;
        }
        Ok(())
    };
    render(&mut page).map_err(|error| Failure::new(Exit::Internal, error))?;
    print_bytes(&page)
}

/// A section for each verb of `command`, and for the verbs of verbs (`drivers fetch`).
fn verbs(page: &mut Vec<u8>, command: &clap::Command, before: &str) -> std::io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let name = format!("{before}{}", verb.get_name());
        writeln!(page, ".SH {}", name.to_uppercase())?;
        let man = clap_mangen::Man::new(verb.clone());
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        verbs(page, verb, &format!("{name} "))?;
    }
    Ok(())
}
