//! A driver tree for tests of the real parts.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use repro_matrix::build::Compiler;
use repro_matrix::model::arm::{FrontEnd, ModuleFormat, Split, Variant};

/// An unpacked driver build (`usr/bin/ocloc*`, `usr/lib/x86_64-linux-gnu`), named by `REPRO_MATRIX_TEST_TREE`.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Fails when there is no tree: a test of the real driver that cannot find it has not passed.
    pub fn open() -> Self {
        let root = std::env::var_os("REPRO_MATRIX_TEST_TREE")
            .expect("REPRO_MATRIX_TEST_TREE must name an unpacked driver build");
        Tree { root: root.into() }
    }

    pub fn libraries(&self) -> PathBuf {
        self.root.join("usr/lib/x86_64-linux-gnu")
    }

    fn ocloc(&self) -> PathBuf {
        let bin = self.root.join("usr/bin");
        let mut found: Vec<PathBuf> = fs::read_dir(&bin)
            .unwrap_or_else(|e| panic!("{}: {e}", bin.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("ocloc"))
            .collect();
        found.sort();
        found.pop().expect("the tree has an ocloc")
    }

    /// `program` under the tree's own ld.so.
    pub fn launch(&self, program: &Path) -> Command {
        let lib = self.libraries();
        let mut command = Command::new(lib.join("ld-linux-x86-64.so.2"));
        command.arg("--library-path").arg(&lib).arg(program);
        command
    }
}

impl Compiler for Tree {
    fn command(&self, args: &[OsString]) -> Command {
        let mut command = self.launch(&self.ocloc());
        command.args(args);
        command
    }

    fn identity(&self) -> String {
        self.ocloc().display().to_string()
    }
}

pub fn variant(kernels: u32, batch_size: u32) -> Variant {
    Variant {
        name: format!("test-{kernels}-{batch_size}"),
        front_end: FrontEnd::LevelZero,
        kernels,
        plain_kernels: 0,
        batch_size,
        simd: 16,
        padding: 0,
        split: Split::Off,
        format: ModuleFormat::Native,
        options: Vec::new(),
    }
}
