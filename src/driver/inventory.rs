//! From a directory of files to the libraries of a manifest, and the check that nothing is missing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::elf::{self, Elf};
use super::manifest::{Library, Package, Role, Versions, upstream_version};
use super::{DriverError, hash, system};

/// More entries than any driver build has: `--prefix /` by mistake should end.
const MOST_ENTRIES: usize = 400_000;

/// What [`take`] found.
pub struct Inventory {
    pub libraries: Vec<Library>,
    pub library_dirs: Vec<String>,
    /// Of each library, in the same order.
    pub elves: Vec<Elf>,
}

/// Every regular file below `root` that is a shared library or the offline compiler, hashed. Symbolic links are not
/// followed: they are names of files that are found anyway.
pub fn take(root: &Path) -> Result<Inventory, DriverError> {
    let mut found = Vec::new();
    for path in walk(root)? {
        let Some(role) = path.file_name().and_then(|name| name.to_str()).and_then(Role::of_file_name) else {
            continue;
        };
        let kind = fs::symlink_metadata(&path).map_err(DriverError::io(&path, "could not be looked at"))?;
        let plugin = path.parent().is_some_and(|parent| parent.ends_with("gconv"));
        if kind.is_file() && !plugin {
            found.push((role, path));
        }
    }
    found.sort();
    let mut inventory = Inventory { libraries: Vec::new(), library_dirs: Vec::new(), elves: Vec::new() };
    let mut directories = BTreeSet::new();
    for (role, path) in found {
        let elf = match elf::inspect(&path) {
            Ok(elf) => elf,
            // `libc.so` of a development package is a linker script; only files with a part to play must be ELF.
            Err(DriverError::BadElf { .. }) if matches!(role, Role::Other | Role::Libc | Role::LibcPart) => {
                continue;
            }
            Err(error) => return Err(error),
        };
        if role == Role::Neo && !elf.level_zero_driver {
            let reason = "an ELF file, but no Level Zero driver (by what it exports)".to_owned();
            return Err(DriverError::BadElf { path, reason });
        }
        let library = describe(root, role, &path, &elf)?;
        // The offline compiler's program is no place to load libraries from.
        if !library.path.ends_with(".so") && !library.path.contains(".so.") {
            inventory.libraries.push(library);
            inventory.elves.push(elf);
            continue;
        }
        if let Some((directory, _)) = library.path.rsplit_once('/') {
            directories.insert(directory.to_owned());
        }
        inventory.libraries.push(library);
        inventory.elves.push(elf);
    }
    // The driver's own directory first.
    let first = inventory.libraries.iter().find(|library| library.role == Role::Neo);
    let first = first.and_then(|neo| neo.path.rsplit_once('/')).map(|(directory, _)| directory.to_owned());
    inventory.library_dirs.extend(first.clone());
    inventory
        .library_dirs
        .extend(directories.into_iter().filter(|directory| Some(directory) != first.as_ref()));
    Ok(inventory)
}

/// One library's entry in the manifest. `root` must be a prefix of `path`.
pub fn describe(root: &Path, role: Role, path: &Path, elf: &Elf) -> Result<Library, DriverError> {
    let metadata = fs::metadata(path).map_err(DriverError::io(path, "could not be looked at"))?;
    Ok(Library {
        role,
        path: path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned(),
        soname: elf.soname.clone(),
        build_id: elf.build_id.clone(),
        sha256: hash::file(path).map_err(DriverError::io(path, "could not be read"))?,
        size: metadata.len(),
        mtime_ns: mtime_ns(&metadata),
    })
}

pub fn mtime_ns(metadata: &fs::Metadata) -> u64 {
    let seconds = u64::try_from(metadata.mtime()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(metadata.mtime_nsec()).unwrap_or(0))
}

/// All files and links below `root` (not through linked directories).
pub fn walk(root: &Path) -> Result<Vec<PathBuf>, DriverError> {
    let mut files = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            // A closed directory somewhere below a prefix does not make the rest useless.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && directory != root => {
                continue;
            }
            Err(error) => return Err(DriverError::io(&directory, "could not be read")(error)),
        };
        for entry in entries {
            let entry = entry.map_err(DriverError::io(&directory, "could not be read"))?;
            let kind = entry.file_type().map_err(DriverError::io(&directory, "could not be read"))?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() || kind.is_symlink() {
                files.push(entry.path());
            }
            if files.len() > MOST_ENTRIES {
                let source =
                    std::io::Error::other(format!("more than {MOST_ENTRIES} files: too wide a directory"));
                return Err(DriverError::Io { path: root.to_owned(), what: "is no driver build", source });
            }
        }
    }
    Ok(files)
}

/// Every DT_NEEDED of the driver's parts must be in the build, in its base, or (for builds without a C library of
/// their own) where this machine's loader looks. The same for the compiler that the driver loads by name.
pub fn missing(
    inventory: &Inventory,
    base: &[Library],
    driver: Option<&Path>,
) -> Result<Vec<String>, DriverError> {
    let mut have: BTreeSet<String> = BTreeSet::new();
    for library in inventory.libraries.iter().chain(base) {
        have.extend(library.soname.clone());
        have.extend(library.path.rsplit('/').next().map(str::to_owned));
    }
    let host = system::library_dirs();
    let on_host = |name: &str| host.iter().any(|directory| directory.join(name).exists());
    let own_libc = have.contains("ld-linux-x86-64.so.2");
    let mut missing = BTreeSet::new();
    for (library, elf) in inventory.libraries.iter().zip(&inventory.elves) {
        if matches!(library.role, Role::Other | Role::LibcPart | Role::LoaderLayer) {
            continue;
        }
        missing.extend(
            elf.needed.iter().filter(|name| !have.contains(*name) && (own_libc || !on_host(name))).cloned(),
        );
    }
    if let Some(driver) = driver {
        for name in names_in(driver, &["libigc.so.", "libigdfcl.so."])? {
            if !have.contains(&name) && !on_host(&name) {
                missing.insert(name);
            }
        }
    }
    Ok(missing.into_iter().collect())
}

/// Versioned library names that stand as text in the file: what it opens by dlopen.
fn names_in(path: &Path, stems: &[&str]) -> Result<BTreeSet<String>, DriverError> {
    let bytes = fs::read(path).map_err(DriverError::io(path, "could not be read"))?;
    let mut names = BTreeSet::new();
    for stem in stems {
        let stem = stem.as_bytes();
        for (at, window) in bytes.windows(stem.len()).enumerate() {
            if window.first() == stem.first() && window == stem {
                let rest = bytes.get(at + stem.len()..).unwrap_or_default();
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let ends = rest.get(digits) == Some(&0);
                if let (true, true, Some(name)) = (digits > 0, ends, bytes.get(at..at + stem.len() + digits))
                {
                    names.insert(String::from_utf8_lossy(name).into_owned());
                }
            }
        }
    }
    Ok(names)
}

/// Versions from the packages where there are any, else from the files' names.
pub fn versions(packages: &[Package], inventory: &Inventory) -> Versions {
    let package = |prefix: &str, suffix_digits: bool| {
        let matches = |name: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| {
                if suffix_digits { rest.bytes().all(|byte| byte.is_ascii_digit()) } else { rest.is_empty() }
            })
        };
        packages
            .iter()
            .find(|package| matches(&package.name))
            .map(|package| upstream_version(&package.version))
    };
    let file = |role: Role, stem: &str| {
        let library = inventory.libraries.iter().find(|library| library.role == role)?;
        let name = library.path.rsplit('/').next()?;
        let version = name.strip_prefix(stem)?.strip_prefix(".so.")?;
        let version = version.split(['+', '~']).next()?;
        version.contains('.').then(|| version.to_owned())
    };
    let glibc = inventory
        .libraries
        .iter()
        .zip(&inventory.elves)
        .find(|(library, _)| library.role == Role::Libc)
        .and_then(|(_, elf)| elf.glibc_defined);
    Versions {
        // libze_intel_gpu.so.1.15.39122: the last part is the build number.
        neo: package("libze-intel-gpu", true)
            .or_else(|| Some(file(Role::Neo, "libze_intel_gpu")?.rsplit('.').next()?.to_owned())),
        igc: package("libigc", true).or_else(|| file(Role::Igc, "libigc")),
        gmmlib: package("libigdgmm", true).or_else(|| file(Role::Gmmlib, "libigdgmm")),
        loader: package("libze", true).or_else(|| file(Role::Loader, "libze_loader")),
        glibc: glibc.map(|version| version.to_string()),
    }
}

/// Makes `links/`: names of all libraries but the C library's, for programs that run on the host's C library.
/// `links/runtime` holds libstdc++ and libgcc_s, wanted only where the host's are older.
pub fn make_links(build: &Path, library_dirs: &[String]) -> Result<(), DriverError> {
    let links = build.join("links");
    for part in ["driver", "runtime"] {
        let directory = links.join(part);
        fs::create_dir_all(&directory).map_err(DriverError::io(&directory, "could not be made"))?;
    }
    for directory in library_dirs {
        let full = build.join("root").join(directory);
        let entries = fs::read_dir(&full).map_err(DriverError::io(&full, "could not be read"))?;
        for entry in entries {
            let entry = entry.map_err(DriverError::io(&full, "could not be read"))?;
            let name = entry.file_name();
            let part = match name.to_str().and_then(Role::of_file_name) {
                None => continue,
                Some(role) if role.is_glibc() => continue,
                Some(Role::Runtime) => "runtime",
                Some(_) => "driver",
            };
            let link = links.join(part).join(&name);
            let target = Path::new("../../root").join(directory).join(&name);
            match std::os::unix::fs::symlink(&target, &link) {
                // The first directory wins, as it does in a search path.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                other => other.map_err(DriverError::io(&link, "could not be made"))?,
            }
        }
    }
    Ok(())
}
