//! The manifest of one driver build: what it is made of, by hash.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::hash;

/// Version of the manifest's format.
pub const SCHEMA: u32 = 1;

/// `NAME/manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub name: String,
    /// Identity: SHA-256 over packages, libraries (role, path, hash, build-id, size) and the base's hash. Neither the
    /// name nor the time nor the place it came from takes part: the same files are the same build.
    pub hash: String,
    pub provenance: Provenance,
    /// When it was added: RFC 3339, UTC.
    pub added: String,
    pub versions: Versions,
    /// The Debian packages it was unpacked from, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<Package>,
    /// Directories of libraries, relative to `root`.
    pub library_dirs: Vec<String>,
    pub libraries: Vec<Library>,
    /// Where every library that this build lacks comes from; absent = from the build itself or the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseRef>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Provenance {
    /// `drivers fetch debian:SUITE`.
    Debian { suite: String },
    /// `drivers add --deb`: the files' names.
    Debs { files: Vec<String> },
    /// `drivers add --prefix`; the user's home directory is written as `~`.
    Prefix { directory: String },
    /// `drivers add --lib`: the file's name.
    Library { file: String },
    /// What this machine's own loader finds.
    System,
}

impl std::fmt::Display for Provenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Provenance::Debian { suite } => write!(f, "debian:{suite}"),
            Provenance::Debs { files } => write!(f, "{} .deb file(s)", files.len()),
            Provenance::Prefix { directory } => write!(f, "prefix {directory}"),
            Provenance::Library { file } => write!(f, "library {file}"),
            Provenance::System => write!(f, "this system"),
        }
    }
}

/// Versions as the packages or the files' names say; absent where neither does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// e.g. `26.27.39122.14`; from a lone library only the build number, `39122`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neo: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub igc: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gmmlib: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loader: Option<String>,
    /// Of the C library in the build, from its symbol versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<String>,
}

impl std::fmt::Display for Versions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named =
            [("NEO", &self.neo), ("IGC", &self.igc), ("gmmlib", &self.gmmlib), ("loader", &self.loader)];
        let parts: Vec<String> = named
            .into_iter()
            .filter_map(|(name, version)| version.as_ref().map(|version| format!("{name} {version}")))
            .collect();
        match parts.as_slice() {
            [] => f.write_str("version not known"),
            parts => f.write_str(&parts.join(" · ")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    pub name: String,
    /// As Debian writes it, with epoch and revision.
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseRef {
    pub name: String,
    pub hash: String,
}

/// One file of the build that a run may load or start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    pub role: Role,
    /// Relative to `root`, of the file itself (no symbolic link).
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970: with the size, the cheap check that the file is as it was. Not part of the identity.
    pub mtime_ns: u64,
}

/// What a file is for. The order is the order of display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The driver: libze_intel_gpu.
    Neo,
    Igc,
    /// IGC's front end, libigdfcl.
    Igdfcl,
    OpenclClang,
    Iga,
    Gmmlib,
    /// libze_loader.
    Loader,
    /// Validation and tracing layers of the loader.
    LoaderLayer,
    /// The offline compiler, program and library.
    Ocloc,
    LdSo,
    Libc,
    /// Other parts of the C library, which must match it.
    LibcPart,
    /// libstdc++ and libgcc_s.
    Runtime,
    Other,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Neo => "neo",
            Role::Igc => "igc",
            Role::Igdfcl => "igdfcl",
            Role::OpenclClang => "opencl-clang",
            Role::Iga => "iga",
            Role::Gmmlib => "gmmlib",
            Role::Loader => "loader",
            Role::LoaderLayer => "loader-layer",
            Role::Ocloc => "ocloc",
            Role::LdSo => "ld-so",
            Role::Libc => "libc",
            Role::LibcPart => "libc-part",
            Role::Runtime => "runtime",
            Role::Other => "other",
        }
    }

    /// The role of a file called so; `None` = neither a shared library nor a program of the driver.
    pub fn of_file_name(name: &str) -> Option<Role> {
        if name == "ocloc"
            || name.strip_prefix("ocloc-").is_some_and(|rest| rest.starts_with(char::is_numeric))
        {
            return Some(Role::Ocloc);
        }
        let (stem, rest) = name.split_once(".so")?;
        let version = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '~');
        if !(rest.is_empty() || rest.starts_with('.') && rest.chars().all(version)) {
            return None;
        }
        Some(match stem {
            "libze_intel_gpu" => Role::Neo,
            "libigc" => Role::Igc,
            "libigdfcl" => Role::Igdfcl,
            "libopencl-clang" => Role::OpenclClang,
            "libiga64" => Role::Iga,
            "libigdgmm" => Role::Gmmlib,
            "libze_loader" => Role::Loader,
            "libze_validation_layer" | "libze_tracing_layer" => Role::LoaderLayer,
            "libocloc" => Role::Ocloc,
            "ld-linux-x86-64" => Role::LdSo,
            "libc" => Role::Libc,
            "libm" | "libmvec" | "libpthread" | "libdl" | "librt" | "libresolv" | "libutil" | "libanl"
            | "libnsl" | "libBrokenLocale" | "libthread_db" | "libmemusage" | "libpcprofile"
            | "libc_malloc_debug" => Role::LibcPart,
            stem if stem.starts_with("libnss_") => Role::LibcPart,
            "libstdc++" | "libgcc_s" => Role::Runtime,
            _ => Role::Other,
        })
    }

    /// Belongs to the C library: to be taken from one place together, or not at all.
    pub fn is_glibc(self) -> bool {
        matches!(self, Role::LdSo | Role::Libc | Role::LibcPart)
    }
}

impl Manifest {
    /// The identity of this content (see [`Manifest::hash`]). Independent of the order in which files were found.
    pub fn identity(packages: &[Package], libraries: &[Library], base: Option<&BaseRef>) -> String {
        let mut lines = vec![format!("repro-matrix driver build, format {SCHEMA}")];
        let mut parts: Vec<String> =
            packages.iter().map(|package| format!("package {} {}", package.name, package.version)).collect();
        parts.extend(libraries.iter().map(|library| {
            let build_id = library.build_id.as_deref().unwrap_or("-");
            let Library { role, path, sha256, size, .. } = library;
            format!("file {} {sha256} {build_id} {size} {path}", role.name())
        }));
        parts.sort();
        lines.extend(parts);
        lines.extend(base.map(|base| format!("base {}", base.hash)));
        hash::bytes(lines.join("\n").as_bytes())
    }

    /// The first library with this role.
    pub fn library(&self, role: Role) -> Option<&Library> {
        self.libraries.iter().find(|library| library.role == role)
    }

    /// First 8 hex digits of the driver library's build-id, else of its hash.
    pub fn short_id(&self) -> &str {
        let id = self.library(Role::Neo).map(|neo| neo.build_id.as_deref().unwrap_or(&neo.sha256));
        id.and_then(|id| id.get(..8)).unwrap_or("?")
    }
}

/// `1:26.27.39122.14+ds1-1` → `26.27.39122.14`.
pub fn upstream_version(debian: &str) -> String {
    let no_epoch = debian.split_once(':').map_or(debian, |(_, rest)| rest);
    let no_revision = no_epoch.rsplit_once('-').map_or(no_epoch, |(rest, _)| rest);
    no_revision.split(['+', '~']).next().unwrap_or(no_revision).to_owned()
}

/// A directory as it may be written down: the user's name is nobody's business.
pub fn without_home(path: &Path) -> String {
    if let Some(home) = std::env::var_os("HOME").filter(|home| home.len() > 1)
        && let Ok(rest) = path.strip_prefix(&home)
    {
        return Path::new("~").join(rest).display().to_string();
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str, sha256: &str) -> Library {
        Library {
            role: Role::Neo,
            path: path.to_owned(),
            soname: None,
            build_id: None,
            sha256: sha256.to_owned(),
            size: 5,
            mtime_ns: 1,
        }
    }

    #[test]
    fn identity_is_of_content_only() {
        let packages = [
            Package { name: "a".into(), version: "1".into() },
            Package { name: "b".into(), version: "2".into() },
        ];
        let mut swapped = packages.clone();
        swapped.reverse();
        let libraries = [library("lib/x", "00"), library("lib/y", "11")];
        let mut touched = [library("lib/y", "11"), library("lib/x", "00")];
        touched.iter_mut().for_each(|library| library.mtime_ns = 99);
        let identity = Manifest::identity(&packages, &libraries, None);
        assert_eq!(identity, Manifest::identity(&swapped, &touched, None));
        assert_ne!(identity, Manifest::identity(&packages, &[library("lib/x", "00")], None));
        assert_ne!(identity, Manifest::identity(&packages[..1], &libraries, None));
        let base = BaseRef { name: "n".into(), hash: "h".into() };
        assert_ne!(identity, Manifest::identity(&packages, &libraries, Some(&base)));
    }

    #[test]
    fn upstream_versions() {
        assert_eq!(upstream_version("26.27.39122.14-1"), "26.27.39122.14");
        assert_eq!(upstream_version("22.10.2+ds1-1"), "22.10.2");
        assert_eq!(upstream_version("1:1.3.dfsg+really1.3.2-3"), "1.3.dfsg");
        assert_eq!(upstream_version("2.43"), "2.43");
    }

    #[test]
    fn roles() {
        for (name, role) in [
            ("libze_intel_gpu.so.1.15.39122", Some(Role::Neo)),
            ("libigc.so.2.40.14+0", Some(Role::Igc)),
            ("libigdfcl.so.2", Some(Role::Igdfcl)),
            ("ld-linux-x86-64.so.2", Some(Role::LdSo)),
            ("libc.so.6", Some(Role::Libc)),
            ("libcrypto.so.3", Some(Role::Other)),
            ("libnss_files.so.2", Some(Role::LibcPart)),
            ("libstdc++.so.6.0.36", Some(Role::Runtime)),
            ("libstdc++.so.6.0.36-gdb.py", None),
            ("ocloc-26.27.1", Some(Role::Ocloc)),
            ("ocloc-notes", None),
            ("README.sources", None),
        ] {
            assert_eq!(Role::of_file_name(name), role, "{name}");
        }
    }
}
