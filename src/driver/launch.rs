//! How to start a program so that it runs on one driver build and no other.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::elf::{self, GlibcVersion};
use super::manifest::Role;
use super::{DriverError, DriverTree};

/// A command line and what to add to its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    /// `argv[0]` is an absolute path wherever the program could be found.
    pub argv: Vec<OsString>,
    pub env: Vec<(String, OsString)>,
    /// The program runs on the build's own C library. `/proc/PID/exe` is then the build's ld.so, not the program.
    pub through_ld_so: bool,
}

impl LaunchSpec {
    /// A `Command` with the additions made to the inherited environment.
    pub fn command(&self) -> Command {
        let mut words = self.argv.iter();
        let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
        command.args(words).envs(self.env.iter().map(|(key, value)| (key, value)));
        command
    }
}

impl DriverTree {
    /// The command line that runs `program` on this build.
    ///
    /// `ZE_ENABLE_ALT_DRIVERS` replaces the loader's discovery by this build's driver. Where the build has a C library
    /// that is newer than this machine's (its libraries would not load here otherwise), the program is started by
    /// the build's own `ld.so --library-path`; a program linked against an older glibc runs there too. Where
    /// this machine's is as new or newer, LD_LIBRARY_PATH names everything of the build but the C library.
    pub fn launch<I, S>(&self, program: &Path, arguments: I) -> Result<LaunchSpec, DriverError>
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        let program = find_in_path(program).unwrap_or_else(|| program.to_owned());
        let mut env = vec![("ZE_ENABLE_ALT_DRIVERS".to_owned(), self.driver_path()?.into_os_string())];
        let mut argv: Vec<OsString> = Vec::new();
        let own_libc = self.libc_holder().filter(|holder| holder.libc_wanted());
        // A script or a static program has no loader to replace.
        let dynamic = elf::inspect(&program).is_ok_and(|elf| elf.has_interpreter);
        let through_ld_so = match own_libc.and_then(DriverTree::ld_so) {
            Some(ld_so) if dynamic => {
                let directories: Vec<PathBuf> = self.chain().flat_map(DriverTree::search_dirs).collect();
                argv.extend([ld_so.into_os_string(), "--library-path".into(), self.join(directories)?]);
                true
            }
            _ => {
                let directories: Vec<PathBuf> = self.chain().flat_map(DriverTree::linked_dirs).collect();
                if !directories.is_empty() {
                    env.push(("LD_LIBRARY_PATH".to_owned(), self.join(directories)?));
                }
                false
            }
        };
        argv.push(program.into_os_string());
        argv.extend(arguments.into_iter().map(Into::into));
        Ok(LaunchSpec { argv, env, through_ld_so })
    }

    /// The command line of the build's offline compiler.
    pub fn launch_ocloc<I, S>(&self, arguments: I) -> Result<LaunchSpec, DriverError>
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.launch(&self.ocloc()?, arguments)
    }

    /// Newer than this machine's, or this machine's is not to be found (another C library, NixOS).
    fn libc_wanted(&self) -> bool {
        let own = self.manifest.versions.glibc.as_deref().and_then(|text| {
            let (major, minor) = text.split_once('.')?;
            Some(GlibcVersion(major.parse().ok()?, minor.parse().ok()?))
        });
        match (own, host_glibc()) {
            (Some(own), Some(host)) => own > host,
            (own, None) => own.is_some(),
            (None, _) => false,
        }
    }

    fn search_dirs(&self) -> Vec<PathBuf> {
        self.manifest.library_dirs.iter().map(|directory| self.root.join(directory)).collect()
    }

    fn linked_dirs(&self) -> Vec<PathBuf> {
        let Some(directory) = &self.directory else { return Vec::new() };
        let links = directory.join("links");
        let mut directories = vec![links.join("driver")];
        if self.runtime_is_newer() {
            directories.push(links.join("runtime"));
        }
        directories
    }

    /// libstdc++ is compatible upwards only: take the newer one. `libstdc++.so.6.0.36` against the host's.
    fn runtime_is_newer(&self) -> bool {
        let number = |name: &str| name.rsplit('.').next().and_then(|last| last.parse::<u32>().ok());
        let is_libstdcxx = |path: &str| path.contains("libstdc++.so.6.");
        let own = self
            .manifest
            .libraries
            .iter()
            .filter(|library| library.role == Role::Runtime && is_libstdcxx(&library.path))
            .find_map(|library| number(&library.path));
        let host = super::system::find_library("libstdc++.so.6")
            .and_then(|path| path.canonicalize().ok())
            .and_then(|path| number(path.to_str()?));
        own.is_some() && own > host
    }

    fn join(&self, directories: Vec<PathBuf>) -> Result<OsString, DriverError> {
        std::env::join_paths(directories).map_err(|error| DriverError::Damaged {
            name: self.manifest.name.clone(),
            reason: format!("its directory cannot stand in a search path: {error}"),
        })
    }
}

/// Version of this machine's C library, from the symbol versions that it defines. `None`: no glibc found.
pub fn host_glibc() -> Option<GlibcVersion> {
    static FOUND: OnceLock<Option<GlibcVersion>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // Not by LD_LIBRARY_PATH: a program started without it gets the one of the fixed places.
        let places = ["/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib", "/lib"];
        let libc =
            places.iter().map(|place| Path::new(place).join("libc.so.6")).find(|path| path.exists())?;
        elf::inspect(&libc).ok()?.glibc_defined
    })
}

/// `program` as given if it has a slash, else the first executable of that name in PATH.
pub fn find_in_path(program: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    if program.components().count() > 1 {
        return program.exists().then(|| std::path::absolute(program).unwrap_or_else(|_| program.to_owned()));
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|directory| directory.join(program)).find(|path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_glibc_is_what_the_host_says() {
        let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().expect("getconf");
        let text = String::from_utf8_lossy(&output.stdout);
        let expected = text.trim().strip_prefix("glibc ").expect("glibc");
        assert_eq!(host_glibc().expect("a C library").to_string(), expected);
    }

    #[test]
    fn programs_are_found_as_the_shell_finds_them() {
        assert!(find_in_path(Path::new("sh")).is_some_and(|path| path.is_absolute()));
        assert_eq!(find_in_path(Path::new("no-such-program-here")), None);
    }
}
