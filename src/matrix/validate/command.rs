//! Commands as workloads: their words and the rules that read a verdict out of their output.

use std::ops::Range;

use super::super::Problem;
use super::super::load::shorten;
use super::super::problem::Problems;
use super::super::schema::VariantTable;
use super::super::units::At;
use crate::extract::Compiled;
use crate::model::arm::{CommandSpec, FrontEnd};

const PLACEHOLDERS: [&str; 4] = ["{tool}", "{file}", "{module}", "{modules}"];

pub fn command(
    name: &str,
    at: &Range<usize>,
    table: &VariantTable,
    front_end: FrontEnd,
    problems: &mut Problems<'_>,
) -> Option<CommandSpec> {
    if front_end != FrontEnd::Command {
        let misplaced = [
            ("command", table.command.as_ref().map(At::span)),
            ("extract", table.extract.as_ref().map(At::span)),
        ];
        for (field, span) in misplaced {
            if let Some(span) = span {
                problems.push(Problem::new(span, format!("`{field}` goes with front_end = \"command\"")));
            }
        }
        return None;
    }
    let mut needed = |what: &str, help: &'static str| {
        let problem = Problem::new(at.clone(), format!("variant \"{}\" has no {what}", shorten(name)));
        problems.push(problem.help(help));
    };
    let (Some(words), Some(rules)) = (&table.command, &table.extract) else {
        if table.command.is_none() {
            needed("command", "command = [\"./app\", \"--flag\"]");
        }
        if table.extract.is_none() {
            needed("extract", "extract = { exit_wrong = [1] }, or another rule that says what is wrong");
        }
        return None;
    };
    if words.get().first().is_none_or(|program| program.is_empty()) {
        problems.push(Problem::new(words.span(), "the command has no program"));
    }
    for word in words.get() {
        let braced = word.starts_with('{') && word.ends_with('}') && word.len() > 2;
        let simple = word.chars().all(|c| c.is_ascii_lowercase() || "{}".contains(c));
        if braced && simple && !PLACEHOLDERS.contains(&word.as_str()) {
            let message = format!("`{}` is no placeholder", shorten(word));
            problems.push(Problem::new(words.span(), message).help("{tool}, {file}, {module} or {modules}"));
        }
        if word.contains("{module") && table.kernels.is_none() {
            problems
                .push(Problem::new(words.span(), "{module} needs `kernels`: what is built for the command"));
        }
    }
    if let Err(what) = Compiled::new(rules.get()) {
        problems.push(Problem::new(rules.span(), what));
    }
    Some(CommandSpec { argv: words.get().clone(), extract: rules.get().clone() })
}
