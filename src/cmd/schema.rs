//! `repro-matrix schema`.

use crate::cli::schema::{SchemaArgs, SchemaOf};
use crate::cmd::Failure;
use crate::cmd::say::print;
use crate::exit::Exit;
use crate::matrix;

pub fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    if args.example {
        return print(matrix::EXAMPLE);
    }
    let schema = match args.of {
        SchemaOf::Matrix => serde_json::to_value(matrix::schema::json_schema()),
        SchemaOf::Report => Ok(crate::report::json::schema()),
    }
    .map_err(|error| Failure::new(Exit::Internal, error))?;
    let text = serde_json::to_string_pretty(&schema).map_err(|error| Failure::new(Exit::Internal, error))?;
    print(&format!("{text}\n"))
}
