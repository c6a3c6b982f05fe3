//! `repro-matrix toolchains`.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::build::sycl::SyclCompiler;
use crate::cli::toolchains::{ToolchainsAction, ToolchainsArgs};
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::toolchain::{Request, Toolchain, ToolchainError, ToolchainStore};

pub fn toolchains(args: &ToolchainsArgs) -> Result<Exit, Failure> {
    let store = ToolchainStore::open().map_err(failure)?;
    match &args.action {
        ToolchainsAction::Fetch { name, from } => {
            let mut request: Request = name.parse().map_err(failure)?;
            request.from.clone_from(from);
            let (toolchain, new) = store.fetch(&request, &mut progress).map_err(failure)?;
            let word = if new { "ready" } else { "have it" };
            progress(&format!("{word:<8} {}  {}", toolchain.describe(), toolchain.root.display()));
            if new {
                progress(&format!("licences {}", toolchain.root.join("licensing").display()));
            }
            Ok(Exit::AsExpected)
        }
        ToolchainsAction::List { json } => list(&store, *json),
        ToolchainsAction::Show { name } => {
            let toolchain = store.find(name).map_err(failure)?;
            super::say::print(&describe(&toolchain))?;
            Ok(Exit::AsExpected)
        }
        ToolchainsAction::Remove { name } => {
            store.remove(name).map_err(failure)?;
            progress(&format!("removed  {name}"));
            Ok(Exit::AsExpected)
        }
    }
}

fn failure(error: ToolchainError) -> Failure {
    let exit = match &error {
        ToolchainError::UnknownName(_) | ToolchainError::Missing { .. } => Exit::Usage,
        ToolchainError::NoPip { .. } => Exit::HostUnusable,
        ToolchainError::Io { error, .. } if error.kind() == std::io::ErrorKind::StorageFull => {
            Exit::CannotRecord
        }
        _ => Exit::BuildFailed,
    };
    Failure::from_report(exit, error)
}

fn list(store: &ToolchainStore, json: bool) -> Result<Exit, Failure> {
    let (found, damaged) = store.survey().map_err(failure)?;
    let icpx = SyclCompiler::icpx(None).ok().map(|compiler| compiler.describe());
    let text = if json {
        let manifests: Vec<_> = found.iter().map(|toolchain| &toolchain.manifest).collect();
        let damaged: Vec<String> = damaged.iter().map(ToString::to_string).collect();
        let value = serde_json::json!({ "sycl": manifests, "damaged": damaged, "icpx": icpx });
        let text = serde_json::to_string_pretty(&value);
        text.map_err(|error| Failure::new(Exit::Internal, error))? + "\n"
    } else {
        let mut text = String::new();
        for (index, toolchain) in found.iter().enumerate() {
            let mark = if index == 0 && icpx.is_none() { '*' } else { ' ' };
            let _ = writeln!(text, "{mark} {}  {}", toolchain.manifest.version, toolchain.root.display());
        }
        if let Some(icpx) = icpx {
            let _ = writeln!(text, "* {icpx}");
        }
        for error in &damaged {
            let _ = writeln!(text, "! {error}");
        }
        if text.is_empty() {
            text.push_str("no SYCL runtime yet; get one with: repro-matrix toolchains fetch sycl\n");
        }
        text
    };
    super::say::print(&text)?;
    Ok(Exit::AsExpected)
}

fn describe(toolchain: &Toolchain) -> String {
    let mut text = format!("name       {}\n", toolchain.describe());
    let _ = writeln!(text, "files      {}", toolchain.root.display());
    let _ = writeln!(text, "identity   {}", toolchain.manifest.hash);
    for package in &toolchain.manifest.packages {
        let _ = writeln!(text, "package    {} {}  {}", package.name, package.version, package.sha256);
    }
    text
}

/// Progress goes to stderr: stdout is for what was asked for.
fn progress(line: &str) {
    // A closed stderr is no reason to stop a download.
    let _ = writeln!(std::io::stderr(), "{line}");
}
