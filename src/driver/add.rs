//! `drivers add`: a build from .deb files, from a directory, or from one library.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{BaseRef, Library, Manifest, Package, Provenance, Role, SCHEMA, without_home};
use super::store::{self, Staged, StoreLock};
use super::{DriverError, DriverStore, DriverTree, deb, elf, inventory};

/// What to make a build from.
#[derive(Clone, Debug)]
pub enum Addition {
    /// Packages, unpacked over each other in this order.
    Debs(Vec<PathBuf>),
    /// A directory with the driver somewhere below it: an installation prefix, a Nix profile, a build directory.
    Prefix(PathBuf),
    /// One libze_intel_gpu.so.
    Library(PathBuf),
}

impl DriverStore {
    /// Adds a build under a new name. `base`: the build whose libraries fill the gaps.
    pub fn add(
        &self,
        name: &str,
        addition: &Addition,
        base: Option<&str>,
        say: &mut dyn FnMut(&str),
    ) -> Result<DriverTree, DriverError> {
        store::check_name(name)?;
        let lock = self.lock(say)?;
        if self.directory().join(name).exists() {
            return Err(DriverError::NameTaken { name: name.to_owned() });
        }
        let base = base.map(|base| self.resolve(base)).transpose()?;
        let staged = self.stage(name, &lock)?;
        let (provenance, packages) = match addition {
            Addition::Debs(files) => unpack(files, &staged.root, say)?,
            Addition::Prefix(directory) => {
                copy_prefix(directory, &staged.root)?;
                let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
                (Provenance::Prefix { directory: without_home(&absolute) }, Vec::new())
            }
            Addition::Library(file) => {
                copy_library(file, &staged.root)?;
                let file =
                    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                (Provenance::Library { file }, Vec::new())
            }
        };
        let origin = match addition {
            Addition::Prefix(path) | Addition::Library(path) => path.clone(),
            Addition::Debs(files) => files.first().cloned().unwrap_or_default(),
        };
        self.finish(staged, name, provenance, packages, base.as_ref(), &origin, &lock)
    }

    /// Takes stock of the unpacked files, checks that they are a driver build, and publishes it.
    #[allow(clippy::too_many_arguments)] // One call each from add and fetch; a struct would only rename the arguments.
    pub(super) fn finish(
        &self,
        staged: Staged,
        name: &str,
        provenance: Provenance,
        mut packages: Vec<Package>,
        base: Option<&DriverTree>,
        origin: &Path,
        lock: &StoreLock,
    ) -> Result<DriverTree, DriverError> {
        packages.sort();
        let stock = inventory::take(&staged.root)?;
        let drivers: Vec<PathBuf> = stock
            .libraries
            .iter()
            .filter(|library| library.role == Role::Neo)
            .map(|library| staged.root.join(&library.path))
            .collect();
        let driver = match drivers.as_slice() {
            [] => return Err(DriverError::NoDriver { path: origin.to_owned() }),
            [driver] => driver,
            _ => {
                let relative = |path: &PathBuf| path.strip_prefix(&staged.root).unwrap_or(path).to_owned();
                return Err(DriverError::TwoDrivers { found: drivers.iter().map(relative).collect() });
            }
        };
        let from_base: Vec<Library> = base
            .into_iter()
            .flat_map(DriverTree::chain)
            .flat_map(|tree| tree.manifest.libraries.clone())
            .collect();
        let missing = inventory::missing(&stock, &from_base, Some(driver))?;
        if !missing.is_empty() {
            return Err(DriverError::Incomplete { missing });
        }
        inventory::make_links(&staged.directory, &stock.library_dirs)?;
        // `system` moves under our feet: nothing to refer to, the loader finds it anyway.
        let base = base.filter(|base| base.manifest.provenance != Provenance::System);
        let base =
            base.map(|base| BaseRef { name: base.manifest.name.clone(), hash: base.manifest.hash.clone() });
        let manifest = Manifest {
            schema: SCHEMA,
            name: name.to_owned(),
            hash: Manifest::identity(&packages, &stock.libraries, base.as_ref()),
            provenance,
            added: humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string(),
            versions: inventory::versions(&packages, &stock),
            packages,
            library_dirs: stock.library_dirs,
            libraries: stock.libraries,
            base,
        };
        self.publish(staged, &manifest, lock)
    }
}

fn unpack(
    files: &[PathBuf],
    root: &Path,
    say: &mut dyn FnMut(&str),
) -> Result<(Provenance, Vec<Package>), DriverError> {
    let mut packages = Vec::new();
    // All are looked at before the first is unpacked: a wrong name among ten should not cost a minute.
    for file in files {
        let (package, architecture) = deb::identify(file)?;
        if architecture != "amd64" && architecture != "all" {
            let reason = format!("a package for {architecture}; the driver runs on amd64");
            return Err(DriverError::NotADeb { path: file.clone(), reason });
        }
        packages.push(package);
    }
    for (file, package) in files.iter().zip(&packages) {
        say(&format!("unpack   {} {}", package.name, package.version));
        deb::extract(file, root)?;
    }
    let names = files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
    Ok((Provenance::Debs { files: names.collect() }, packages))
}

/// Copies the driver's parts from a prefix: the named parts, then whatever of the prefix they need.
/// Copied, not linked: a rebuild in that directory must not change a build that results refer to.
fn copy_prefix(prefix: &Path, root: &Path) -> Result<(), DriverError> {
    if !prefix.is_dir() {
        return Err(DriverError::NoDriver { path: prefix.to_owned() });
    }
    let prefix = prefix.canonicalize().map_err(DriverError::io(prefix, "could not be followed"))?;
    // Real file → (role, the names it has).
    let mut by_file: BTreeMap<PathBuf, (Role, Vec<String>)> = BTreeMap::new();
    for path in inventory::walk(&prefix)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(role) = Role::of_file_name(name) else { continue };
        // A dangling link names nothing.
        let Ok(real) = path.canonicalize() else { continue };
        if real.is_file() {
            by_file.entry(real).or_insert_with(|| (role, Vec::new())).1.push(name.to_owned());
        }
    }
    let drivers: Vec<PathBuf> =
        by_file.iter().filter(|(_, (role, _))| *role == Role::Neo).map(|(file, _)| file.clone()).collect();
    match drivers.as_slice() {
        [] => return Err(DriverError::NoDriver { path: prefix }),
        [_] => {}
        _ => return Err(DriverError::TwoDrivers { found: drivers }),
    }
    let own_libc = by_file.values().any(|(role, _)| *role == Role::LdSo);
    let library_dir = root.join("lib");
    let program_dir = root.join("bin");
    for directory in [&library_dir, &program_dir] {
        fs::create_dir_all(directory).map_err(DriverError::io(directory, "could not be made"))?;
    }
    let mut needed: Vec<String> = Vec::new();
    let mut rest = by_file;
    loop {
        let wanted = |role: Role, names: &[String]| match role {
            Role::Other | Role::Runtime | Role::LoaderLayer => names.iter().any(|name| needed.contains(name)),
            // Half a C library is worse than none.
            role if role.is_glibc() => own_libc,
            _ => true,
        };
        let Some(file) =
            rest.iter().find(|(_, (role, names))| wanted(*role, names)).map(|(file, _)| file.clone())
        else {
            return Ok(());
        };
        let Some((role, names)) = rest.remove(&file) else { return Ok(()) };
        if let Ok(elf) = elf::inspect(&file) {
            needed.extend(elf.needed);
        } else if role == Role::Neo {
            elf::inspect(&file)?;
        }
        let program = role == Role::Ocloc && !names.iter().any(|name| name.contains(".so"));
        copy_with_names(&file, &names, if program { &program_dir } else { &library_dir })?;
    }
}

/// One copy under the longest name, links for the others. A name that is taken stays with the first file.
fn copy_with_names(file: &Path, names: &[String], directory: &Path) -> Result<(), DriverError> {
    let own = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut names: Vec<&str> =
        names.iter().map(String::as_str).chain([own]).filter(|name| !name.is_empty()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    let Some((first, aliases)) = names.split_first() else { return Ok(()) };
    let target = directory.join(first);
    if target.symlink_metadata().is_ok() {
        return Ok(());
    }
    fs::copy(file, &target).map_err(DriverError::io(&target, "could not be written"))?;
    for alias in aliases {
        let link = directory.join(alias);
        match std::os::unix::fs::symlink(first, &link) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            other => other.map_err(DriverError::io(&link, "could not be made"))?,
        }
    }
    Ok(())
}

/// One library, under its own name and its soname.
fn copy_library(file: &Path, root: &Path) -> Result<(), DriverError> {
    let elf = elf::inspect(file)?;
    if !elf.level_zero_driver {
        let reason = "no Level Zero driver (by what it exports)".to_owned();
        return Err(DriverError::BadElf { path: file.to_owned(), reason });
    }
    let directory = root.join("lib");
    fs::create_dir_all(&directory).map_err(DriverError::io(&directory, "could not be made"))?;
    let real = file.canonicalize().map_err(DriverError::io(file, "could not be followed"))?;
    let own = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // A file called driver-patched.so is fine to give; in the build it must have a name that says what it is.
    let name = match Role::of_file_name(own) {
        Some(Role::Neo) => own.to_owned(),
        _ => "libze_intel_gpu.so.1".to_owned(),
    };
    let soname = elf.soname.filter(|soname| Role::of_file_name(soname) == Some(Role::Neo));
    let names: Vec<String> = std::iter::once(name.clone()).chain(soname).collect();
    let target = directory.join(&name);
    fs::copy(&real, &target).map_err(DriverError::io(&target, "could not be written"))?;
    for alias in names.iter().skip(1).filter(|alias| **alias != name) {
        let link = directory.join(alias);
        std::os::unix::fs::symlink(&name, &link).map_err(DriverError::io(&link, "could not be made"))?;
    }
    Ok(())
}
