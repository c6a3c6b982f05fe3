//! Arguments of `repro-matrix keys`.

use std::path::PathBuf;

use super::search::SearchArgs;

/// Run an arm with each debug key of a list, one at a time, on and off.
///
/// Sorts the keys into: cured, unchanged, new failure, unknown to this driver (or, of one value, its default), value not
/// taken (read as another). A cure has to be clean as often as it takes to exclude luck.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    repro-matrix keys m.toml --arm over/file-r --keys MakeEachAllocationResident=2,EnableDirectSubmission\n  \
    repro-matrix keys m.toml --arm over/file-r --list keys.txt --pattern 'Enable*Copy*'\n\n\
    Exit codes: 0 every key was sorted; 12 some have no answer; 13 the arm does not fail.")]
pub struct KeysArgs {
    /// The matrix file.
    #[arg(value_name = "MATRIX")]
    pub matrix: PathBuf,
    /// The arm that fails.
    #[arg(long, value_name = "ARM")]
    pub arm: String,
    /// Keys: `NAME` (tried with 0 and 1) or `NAME=VALUE`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', required_unless_present = "list")]
    pub keys: Vec<String>,
    /// A file with one key a line, `NAME` or `NAME = VALUE` as the driver dumps them (there the value is the default, and the
    /// others of 0 and 1 are tried); # starts a comment.
    #[arg(long, value_name = "FILE")]
    pub list: Option<PathBuf>,
    /// Only keys of the list that fit this pattern.
    #[arg(long, value_name = "PATTERN", requires = "list")]
    pub pattern: Option<String>,
    /// Only this part of the keys (`2/4`), by a stable hash of the key: shares of one sweep for several machines. Each of them
    /// runs the arm without any key, too.
    #[arg(long, value_name = "M/N")]
    pub shard: Option<crate::plan::shard::Shard>,
    #[command(flatten)]
    pub search: SearchArgs,
}
