//! Why a driver build cannot be used, each with what to type next.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum DriverError {
    #[error("no driver build here")]
    #[diagnostic(help(
        "repro-matrix drivers fetch debian     (about 76 MB, nothing is installed on the system)"
    ))]
    NoBuild,

    #[error("no driver build is called \"{name}\"; there {}", known_names(.known))]
    #[diagnostic(help("repro-matrix drivers list, or repro-matrix drivers fetch debian"))]
    Unknown { name: String, known: Vec<String> },

    #[error("this machine's loader finds no libze_intel_gpu.so.1")]
    #[diagnostic(help("use a build of the store: repro-matrix drivers fetch debian"))]
    NoSystemDriver,

    #[error("\"{name}\" cannot be a name: {reason}")]
    #[diagnostic(help("use letters, digits, '.', '-', '_' and '+', as in neo-26.27-patched"))]
    BadName { name: String, reason: &'static str },

    #[error("there already is a driver build called \"{name}\"")]
    #[diagnostic(help("choose another name, or first: repro-matrix drivers remove {name}"))]
    NameTaken { name: String },

    #[error("\"{name}\" is the base of {}", .users.join(", "))]
    #[diagnostic(help("remove those first: repro-matrix drivers remove {}", .users.join(" ")))]
    InUse { name: String, users: Vec<String> },

    #[error("{}: {reason}", .path.display())]
    #[diagnostic(help("a .deb of the driver is wanted, as `apt-get download libze-intel-gpu1` saves it"))]
    NotADeb { path: PathBuf, reason: String },

    #[error("{}: {reason}", .path.display())]
    #[diagnostic(help(
        "a whole x86-64 libze_intel_gpu.so is wanted; copy it again or look at it with readelf -h"
    ))]
    BadElf { path: PathBuf, reason: String },

    #[error("{}: no libze_intel_gpu.so* below it", .path.display())]
    #[diagnostic(help(
        "give the directory that holds lib/ or usr/lib/, or a build directory of compute-runtime; \
         for a lone library: repro-matrix drivers add NAME --lib FILE"
    ))]
    NoDriver { path: PathBuf },

    #[error("more than one driver in there: {}", paths(.found))]
    #[diagnostic(help("point --prefix at one of them, or use --lib FILE"))]
    TwoDrivers { found: Vec<PathBuf> },

    #[error("the build lacks libraries that it needs: {}", .missing.join(", "))]
    #[diagnostic(help(
        "add the packages that hold them (--deb …), or take the rest from a whole build: --base NAME"
    ))]
    Incomplete { missing: Vec<String> },

    #[error("driver build \"{name}\" is damaged: {reason}")]
    #[diagnostic(help("repro-matrix drivers remove {name}, then fetch or add it again"))]
    Damaged { name: String, reason: String },

    #[error(
        "driver build \"{name}\" has a manifest of version {found}; this program reads version {supported}"
    )]
    #[diagnostic(help("use a newer repro-matrix, or fetch the build again under another name"))]
    NewerManifest { name: String, found: u32, supported: u32 },

    #[error("driver build \"{name}\" has no {what}")]
    #[diagnostic(help(
        "a fetched build has everything: repro-matrix drivers fetch debian, or add with --base"
    ))]
    Lacks { name: String, what: &'static str },

    #[error("no room left: {} needs about {need_mb} MB, {free_mb} MB are free", .path.display())]
    #[diagnostic(help("free some space, or set REPRO_MATRIX_DATA to a directory on a larger disk"))]
    DiskFull { path: PathBuf, need_mb: u64, free_mb: u64 },

    #[error("no source of Debian packages in this machine's apt configuration{seen}")]
    #[diagnostic(help("on another distribution: repro-matrix drivers add NAME --deb FILE… or --prefix DIR"))]
    NoMirror { seen: String },

    #[error("suite \"{suite}\" could not be read from this machine's mirror:\n{log}")]
    #[diagnostic(help("check the network and the spelling: debian, debian:forky, debian:sid"))]
    NoSuite { suite: String, log: String },

    #[error("suite \"{suite}\" has no package {package}")]
    #[diagnostic(help("suites that have the driver: forky, sid (trixie and older have none)"))]
    SuiteLacks { suite: String, package: String },

    #[error("fetch source \"{source_name}\" is not known")]
    #[diagnostic(help("repro-matrix drivers fetch debian, or debian:SUITE"))]
    UnknownSource { source_name: String },

    #[error("{place}: {what}")]
    #[diagnostic(help(
        "an index is TOML: format = 1, then [[release]] with version and packages = [{{ url, sha256, size }}]; ci/driver-index writes one"
    ))]
    BadIndex { place: String, what: String },

    #[error("no release of {place} is within {range}")]
    #[diagnostic(help("releases there: {}", .known.join(", ")))]
    NoRelease { place: String, range: String, known: Vec<String> },

    #[error("{url}: SHA-256 is {found}, the index says {wanted}")]
    #[diagnostic(help(
        "the file on the server is not the one that the index was written for; nothing of it was used"
    ))]
    WrongHash { url: String, found: String, wanted: String },

    #[error("{tool} is not installed")]
    #[diagnostic(help("install the package {package}"))]
    NoTool { tool: &'static str, package: &'static str },

    #[error("{tool} failed ({status}):\n{log}")]
    Tool { tool: &'static str, status: String, log: String },

    #[error("this machine is {arch}; the driver exists for x86_64 only")]
    WrongMachine { arch: &'static str },

    #[error("no directory for data: neither REPRO_MATRIX_DATA nor XDG_DATA_HOME nor HOME is set")]
    #[diagnostic(help("export REPRO_MATRIX_DATA=/some/directory"))]
    NoHome,

    #[error("{}: {what}", .path.display())]
    Io { path: PathBuf, what: &'static str, source: std::io::Error },
}

impl DriverError {
    /// For `map_err`: an I/O error with its path; a full disk becomes [`DriverError::DiskFull`].
    pub(super) fn io(path: &Path, what: &'static str) -> impl FnOnce(std::io::Error) -> DriverError {
        let path = path.to_owned();
        move |source| {
            if source.kind() == std::io::ErrorKind::StorageFull {
                let free = super::store::free_bytes(&path).unwrap_or(0);
                return DriverError::DiskFull { need_mb: 0, free_mb: free >> 20, path };
            }
            DriverError::Io { path, what, source }
        }
    }
}

fn known_names(known: &[String]) -> String {
    match known {
        [] => "are none".to_owned(),
        names => format!("are: {}", names.join(", ")),
    }
}

fn paths(found: &[PathBuf]) -> String {
    found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
