//! `repro-matrix schema`.

use std::io::Write;

use crate::cli::schema::{SchemaArgs, SchemaOf};
use crate::cmd::Failure;
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

/// Writes to stdout; a reader that had enough (`| head`) is no fault.
pub(super) fn print(text: &str) -> Result<Exit, Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Internal, error))
        }
        _ => Ok(Exit::AsExpected),
    }
}
