//! Driver builds for a search: names of the store, a pattern over them, or a directory of builds that are added first.

use std::path::{Path, PathBuf};

use crate::cmd::Failure;
use crate::cmd::prober::Prepared;
use crate::driver::{self, Addition, DriverTree, by_release};
use crate::exit::Exit;
use crate::plan::select::glob;

type Trees = Vec<(String, Result<DriverTree, String>)>;

/// Builds in order, each found or with the reason why it cannot be used.
pub fn of(list: &str, base: &str, prepared: &Prepared) -> Result<Trees, Failure> {
    let directory = Path::new(list);
    if list.contains('/') || (directory.is_dir() && !list.contains(',')) {
        return of_directory(directory, base, prepared);
    }
    let names: Vec<String> = if list.contains(['*', '?']) {
        let known = prepared.store.list().map_err(crate::cmd::drivers::failure)?;
        let mut names: Vec<String> = known.into_keys().filter(|name| glob(list, name)).collect();
        names.sort_by(|a, b| by_release(a, b));
        names
    } else {
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    if names.len() < 2 {
        let help =
            "repro-matrix drivers list shows what there is; drivers fetch --index gets a range of releases";
        return Err(Failure::with_help(Exit::Usage, format!("\"{list}\" is {} build(s)", names.len()), help));
    }
    Ok(names.into_iter().map(|name| resolved(name, prepared)).collect())
}

fn resolved(name: String, prepared: &Prepared) -> (String, Result<DriverTree, String>) {
    let tree = prepared.store.resolve(&name).map_err(|error| error.to_string());
    (name, tree)
}

/// Every library and every directory in there is a build.
fn of_directory(directory: &Path, base: &str, prepared: &Prepared) -> Result<Trees, Failure> {
    let broken =
        |error: std::io::Error| Failure::new(Exit::Usage, format!("{}: {error}", directory.display()));
    let mut entries: Vec<(String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && !name.starts_with('.')
        {
            entries.push((name.to_owned(), path));
        }
    }
    entries.sort_by(|a, b| by_release(&a.0, &b.0));
    if entries.len() < 2 {
        return Err(Failure::new(
            Exit::Usage,
            format!("{} holds {} build(s)", directory.display(), entries.len()),
        ));
    }
    entries.into_iter().map(|(name, path)| added(&name, &path, base, prepared)).collect()
}

/// Adds one build under a name that carries its content, so that the same files are added once.
fn added(
    name: &str,
    path: &Path,
    base: &str,
    prepared: &Prepared,
) -> Result<(String, Result<DriverTree, String>), Failure> {
    let addition = match addition(path) {
        Ok(addition) => addition,
        Err(reason) => return Ok((name.to_owned(), Err(reason))),
    };
    let content = match content_of(path) {
        Ok(content) => content,
        Err(error) => return Ok((name.to_owned(), Err(format!("{}: {error}", path.display())))),
    };
    let stem: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || ".-_+".contains(c) { c } else { '_' })
        .take(80)
        .collect();
    let stored = format!("{stem}-{}", content.get(..8).unwrap_or("0"));
    if let Ok(tree) = prepared.store.resolve(&stored) {
        return Ok((stored, Ok(tree)));
    }
    // A whole set of packages needs no base; whatever lacks something does.
    let say = &mut |_: &str| {};
    let tree = prepared.store.add(&stored, &addition, Some(base), say).map_err(|error| error.to_string());
    Ok((stored, tree))
}

fn addition(path: &Path) -> Result<Addition, String> {
    if path.is_file() {
        return Ok(Addition::Library(path.to_owned()));
    }
    let entries = std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut packages: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "deb"))
        .collect();
    packages.sort();
    Ok(if packages.is_empty() { Addition::Prefix(path.to_owned()) } else { Addition::Debs(packages) })
}

/// A hash over every file below `path`: names and contents.
fn content_of(path: &Path) -> std::io::Result<String> {
    let mut lines = Vec::new();
    let mut waiting = vec![path.to_owned()];
    while let Some(next) = waiting.pop() {
        if next.is_dir() {
            for entry in std::fs::read_dir(&next)? {
                waiting.push(entry?.path());
            }
        } else {
            let inside = next.strip_prefix(path).unwrap_or(&next).display().to_string();
            lines.push(format!("{inside} {}", driver::sha256_file(&next).map_err(std::io::Error::other)?));
        }
    }
    lines.sort();
    Ok(driver::sha256(lines.join("\n").as_bytes()))
}
