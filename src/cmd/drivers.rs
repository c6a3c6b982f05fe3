//! `repro-matrix drivers`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use crate::cli::drivers::{DriversAction, DriversArgs};
use crate::cmd::Failure;
use crate::cmd::say::print;
use crate::driver::{
    Addition, DriverError, DriverStore, DriverTree, FetchRequest, Index, IndexRequest, Manifest, SYSTEM,
};
use crate::exit::Exit;

pub fn drivers(args: &DriversArgs) -> Result<Exit, Failure> {
    let store = DriverStore::open().map_err(failure)?;
    match &args.action {
        DriversAction::Fetch { index: Some(place), range, base, .. } => {
            fetch_index(&store, place, range.as_deref(), base.clone())
        }
        DriversAction::Fetch { source, keep_debs, .. } => fetch(&store, source, keep_debs.clone()),
        DriversAction::Add { name, deb, prefix, lib, base } => {
            let addition = addition(deb, prefix.as_ref(), lib.as_ref())?;
            let tree = store.add(name, &addition, base.as_deref(), &mut progress).map_err(failure)?;
            progress(&format!("added    {}  {}", tree.manifest.name, tree.summary()));
            Ok(Exit::AsExpected)
        }
        DriversAction::List { json } => list(&store, *json),
        DriversAction::Show { name, json, verify } => {
            let tree = store.resolve(name).map_err(failure)?;
            if *verify {
                tree.verify().map_err(failure)?;
            }
            let text = if *json { to_json(&tree.manifest)? } else { describe(&tree, *verify) };
            print(&text)
        }
        DriversAction::Remove { name } => {
            store.remove(name).map_err(failure)?;
            progress(&format!("removed  {name}"));
            Ok(Exit::AsExpected)
        }
    }
}

/// Every way in which a build cannot be had maps to one of four codes.
pub fn failure(error: DriverError) -> Failure {
    let exit = match error {
        DriverError::BadName { .. }
        | DriverError::UnknownSource { .. }
        | DriverError::BadIndex { .. }
        | DriverError::NoRelease { .. } => Exit::Usage,
        DriverError::WrongMachine { .. } | DriverError::NoTool { .. } | DriverError::NoHome => {
            Exit::HostUnusable
        }
        DriverError::DiskFull { .. } => Exit::CannotRecord,
        _ => Exit::DriverUnusable,
    };
    Failure::from_report(exit, error)
}

fn fetch(store: &DriverStore, source: &str, keep_debs: Option<PathBuf>) -> Result<Exit, Failure> {
    let mut request: FetchRequest = source.parse().map_err(failure)?;
    request.keep_debs = keep_debs;
    let fetched = store.fetch(&request, &mut progress).map_err(failure)?;
    let word = if fetched.new { "ready" } else { "have it" };
    progress(&format!("{word:<8} {}  {}", fetched.tree.manifest.name, fetched.tree.summary()));
    Ok(Exit::AsExpected)
}

/// Every release of the range; one that fails does not keep the others from being fetched.
fn fetch_index(
    store: &DriverStore,
    place: &str,
    range: Option<&str>,
    base: Option<String>,
) -> Result<Exit, Failure> {
    let index = Index::open(place, store.directory(), &mut progress).map_err(failure)?;
    let releases = index.within(range).map_err(failure)?;
    let mut failed = Vec::new();
    for (n, release) in releases.iter().enumerate() {
        progress(&format!("release  {}/{} {}", n + 1, releases.len(), release.version));
        let request = IndexRequest { index: &index, release, base: base.as_deref() };
        match store.fetch_release(&request, &mut progress) {
            Ok(fetched) => {
                let word = if fetched.new { "ready" } else { "have it" };
                progress(&format!("{word:<8} {}  {}", fetched.tree.manifest.name, fetched.tree.summary()));
            }
            Err(error @ (DriverError::DiskFull { .. } | DriverError::NoTool { .. })) => {
                return Err(failure(error));
            }
            Err(error) => {
                progress(&format!("FAILED   {}: {error}", release.version));
                failed.push(error);
            }
        }
    }
    let count = failed.len();
    match failed.into_iter().next() {
        None => Ok(Exit::AsExpected),
        Some(error) if releases.len() == 1 => Err(failure(error)),
        Some(_) => Err(Failure::with_help(
            Exit::DriverUnusable,
            format!("{count} of {} releases could not be fetched", releases.len()),
            "the lines above say why; repeat the command to try those again",
        )),
    }
}

fn addition(deb: &[PathBuf], prefix: Option<&PathBuf>, lib: Option<&PathBuf>) -> Result<Addition, Failure> {
    match (deb, prefix, lib) {
        ([], Some(prefix), None) => Ok(Addition::Prefix(prefix.clone())),
        ([], None, Some(lib)) => Ok(Addition::Library(lib.clone())),
        ([_, ..], None, None) => Ok(Addition::Debs(deb.to_vec())),
        _ => Err(Failure::new(Exit::Usage, "give one of --deb, --prefix and --lib")),
    }
}

fn list(store: &DriverStore, json: bool) -> Result<Exit, Failure> {
    let builds = store.list().map_err(failure)?;
    let system = store.resolve(SYSTEM);
    if json {
        let mut good: BTreeMap<&str, &Manifest> = BTreeMap::new();
        let mut broken: BTreeMap<&str, String> = BTreeMap::new();
        for (name, build) in &builds {
            match build {
                Ok(manifest) => drop(good.insert(name, manifest)),
                Err(error) => drop(broken.insert(name, error.to_string())),
            }
        }
        good.extend(system.as_ref().ok().map(|tree| (SYSTEM, &tree.manifest)));
        return print(&to_json(&serde_json::json!({ "builds": good, "broken": broken }))?);
    }
    let default = store.resolve(crate::driver::DEFAULT).map(|tree| tree.manifest.name).ok();
    let mut text = String::new();
    for (name, build) in &builds {
        let mark = if default.as_deref() == Some(name) { '*' } else { ' ' };
        let _ = match build {
            Ok(manifest) => {
                let base =
                    manifest.base.as_ref().map(|base| format!(" on {}", base.name)).unwrap_or_default();
                writeln!(
                    text,
                    "{mark} {name}  {} · libze_intel_gpu {}{base}  ({})",
                    manifest.versions,
                    manifest.short_id(),
                    manifest.provenance
                )
            }
            Err(error) => writeln!(text, "! {name}  {error}"),
        };
    }
    if let Ok(tree) = &system {
        let _ = writeln!(text, "  {SYSTEM}  {}", tree.summary());
    }
    if text.is_empty() {
        text.push_str("no driver build yet; get one with: repro-matrix drivers fetch debian\n");
    }
    print(&text)
}

fn describe(tree: &DriverTree, verified: bool) -> String {
    let manifest = &tree.manifest;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "name       {}", manifest.name);
    let _ = writeln!(text, "version    {}", tree.summary());
    let _ = writeln!(text, "from       {}, added {}", manifest.provenance, manifest.added);
    let _ = writeln!(text, "files      {}", tree.root.display());
    let _ = writeln!(
        text,
        "identity   {}{}",
        manifest.hash,
        if verified { "  (all hashes checked)" } else { "" }
    );
    if let Some(base) = &manifest.base {
        let _ = writeln!(text, "base       {}", base.name);
    }
    if let Some(glibc) = &manifest.versions.glibc {
        let host = crate::driver::host_glibc().map_or("not found".to_owned(), |version| version.to_string());
        let _ = writeln!(text, "glibc      {glibc} in the build, {host} on this machine");
    }
    for package in &manifest.packages {
        let _ = writeln!(text, "package    {} {}", package.name, package.version);
    }
    for library in &manifest.libraries {
        let build_id = library.build_id.as_deref().unwrap_or("no build-id");
        let path = &library.path;
        let _ =
            writeln!(text, "{:<12} {path}\n             {build_id}  {}", library.role.name(), library.sha256);
    }
    text
}

fn to_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::new(Exit::Internal, error))?;
    Ok(text + "\n")
}

/// "debian-26.27.39122.14   NEO 26.27.39122.14 · … · libze_intel_gpu 01234567".
pub(super) fn headline(tree: &DriverTree) -> String {
    let manifest = &tree.manifest;
    format!("{}   {} · libze_intel_gpu {}", manifest.name, manifest.versions, manifest.short_id())
}

/// Progress goes to stderr: stdout is for what was asked for.
fn progress(line: &str) {
    // A closed stderr is no reason to stop a download.
    let _ = writeln!(std::io::stderr(), "{line}");
}
