//! A driver build for tests of the real parts.
#![allow(dead_code)] // Each test binary uses a part of it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use repro_matrix::build::cache::Cache;
use repro_matrix::build::{Builder, Compiler, Slots, TreeCompiler};
use repro_matrix::driver::{DriverStore, DriverTree, LaunchSpec};
use repro_matrix::model::arm::{Compile, FrontEnd, ModuleFormat, Split, Variant};

/// The driver build `default` of the store (see `repro-matrix drivers`).
pub struct Tree {
    tree: DriverTree,
    compiler: TreeCompiler,
}

impl Tree {
    /// Fails when there is none: a test of the real driver that cannot find it has not passed.
    pub fn open() -> Self {
        let store = DriverStore::open().unwrap_or_else(|e| panic!("{e}"));
        let tree = store.resolve("default").unwrap_or_else(|e| {
            panic!("{e}\n`repro-matrix drivers fetch debian` gets one (ci/test does)");
        });
        let compiler = TreeCompiler::new(&tree).unwrap_or_else(|e| panic!("{e}"));
        Tree { tree, compiler }
    }

    /// `program` with the build's libraries.
    pub fn launch(&self, program: &Path, args: &[OsString]) -> LaunchSpec {
        self.tree.launch(program, args).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Compiler for Tree {
    fn command(&self, args: &[OsString]) -> Command {
        self.compiler.command(args)
    }

    fn identity(&self) -> String {
        self.compiler.identity()
    }
}

/// A builder with a cache in `dir`; all of a test binary share the machine's cores.
pub fn builder<'a>(compiler: &'a dyn Compiler, dir: &Path) -> Builder<'a> {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    static SLOTS: LazyLock<Slots> = LazyLock::new(|| Slots::new(0));
    Builder {
        compiler,
        cache: Cache::new(dir),
        slots: &SLOTS,
        timeout: Duration::from_secs(120),
        stop: &GO_ON,
    }
}

pub fn variant(kernels: u32, batch_size: u32) -> Variant {
    Variant {
        name: format!("test-{kernels}-{batch_size}"),
        command: None,
        front_end: FrontEnd::LevelZero,
        kernels,
        plain_kernels: 0,
        batch_size,
        simd: 16,
        padding: 0,
        split: Split::Off,
        compile: Compile::Parts,
        format: ModuleFormat::Native,
        options: Vec::new(),
    }
}
