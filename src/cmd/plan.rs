//! `repro-matrix plan`.

use std::path::Path;

use crate::cli::plan::PlanArgs;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::matrix::{self, Matrix};
use crate::plan::{self, HostFacts};

/// Reads the matrix or fails with every problem and its place.
pub fn load_matrix(path: &Path) -> Result<Matrix, Failure> {
    matrix::load(path).map_err(|error| Failure::from_report(Exit::InvalidMatrix, error))
}

pub fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let matrix = load_matrix(&args.matrix)?;
    let plan = plan::plan(&matrix, &args.select.selection(), &HostFacts::probe());
    let text = if args.json {
        let json = serde_json::json!({ "version": 1, "matrix": matrix.name, "plan": plan });
        let text =
            serde_json::to_string_pretty(&json).map_err(|error| Failure::new(Exit::Internal, error))?;
        format!("{text}\n")
    } else {
        let title = match matrix.description.as_str() {
            "" => matrix.name.clone(),
            description => format!("{}: {description}", matrix.name),
        };
        plan::show::text(&plan, &title)
    };
    crate::cmd::schema::print(&text)?;
    Ok(if plan.arms.is_empty() { Exit::NothingSelected } else { Exit::AsExpected })
}
