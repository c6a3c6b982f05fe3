//! An unpacked driver tree: programs run in it under its own loader, for its C library may be newer than the host's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Where to find one.
pub const VARIABLE: &str = "REPRO_MATRIX_TEST_TREE";

pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The tree that the environment names.
    ///
    /// # Panics
    /// If there is none: these tests compare with the real tools or they compare nothing.
    pub fn find() -> Self {
        let root = env::var_os(VARIABLE).map(PathBuf::from);
        let Some(root) = root.filter(|root| root.join("usr/lib").is_dir()) else {
            panic!("no driver tree: set {VARIABLE} to an unpacked one (it holds usr/bin/ocloc and libiga64)");
        };
        Self { root }
    }

    fn libraries(&self) -> PathBuf {
        self.root.join("usr/lib/x86_64-linux-gnu")
    }

    /// A library of the tree.
    pub fn library(&self, name: &str) -> PathBuf {
        self.libraries().join(name)
    }

    /// `program`, to be run by the tree's loader with the tree's libraries.
    pub fn command(&self, program: &Path) -> Command {
        let libraries = self.libraries();
        let mut command = Command::new(libraries.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(&libraries).arg(program);
        command
    }

    /// The offline compiler.
    pub fn ocloc(&self) -> PathBuf {
        let bin = self.root.join("usr/bin");
        let mut found: Vec<_> = fs::read_dir(&bin)
            .unwrap_or_else(|error| panic!("{}: {error}", bin.display()))
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ocloc")))
            .collect();
        found.sort();
        found.pop().unwrap_or_else(|| panic!("no ocloc in {}", bin.display()))
    }
}
