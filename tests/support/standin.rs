//! Stand-in driver builds whose answer is known: the real driver behind a thin library that turns the known cure
//! (`MakeEachAllocationResident=2`) on, always, never or by chance, before it opens the real one. Real verdicts, chosen answers.
#![allow(dead_code)] // Each test binary uses a part of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use repro_matrix::driver::DriverStore;

/// What a stand-in does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The real driver as it is.
    Stock,
    /// With the cure.
    Cured,
    /// With the cure in so many of a hundred runs.
    CuredPercent(u32),
    /// Does not load the real driver: nothing can be tested.
    Dead,
}

/// A data directory of a test's own: the real driver build and the cache of compiled modules are linked in, what a test adds
/// stays in it.
pub struct Lab {
    pub dir: tempfile::TempDir,
    /// The real driver library under a name that no observer takes for a driver.
    real: PathBuf,
    forward: PathBuf,
}

impl Lab {
    pub fn new() -> Lab {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = DriverStore::open().unwrap_or_else(|e| panic!("{e}"));
        let tree = store.resolve("default").unwrap_or_else(|e| {
            panic!("{e}\n`repro-matrix drivers fetch debian` gets one (ci/test does)");
        });
        let data = dir.path().join("data");
        std::fs::create_dir_all(data.join("drivers")).expect("store");
        let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to).expect("link");
        link(&store.directory().join(&tree.manifest.name), &data.join("drivers").join(&tree.manifest.name));
        let cache = repro_matrix::driver::data_dir().expect("data").join("builds");
        std::fs::create_dir_all(&cache).expect("cache");
        link(&cache, &data.join("builds"));

        let driver = tree.driver_path().expect("driver").canonicalize().expect("driver");
        let real = dir.path().join("libneo_real.so");
        std::fs::copy(&driver, &real).expect("copy of the driver");
        let assembly = forwarders(&real);
        let source = dir.path().join("forward.s");
        std::fs::write(&source, assembly).expect("assembly");
        let forward = dir.path().join("forward.o");
        cc(&["-c".into(), "-fPIC".into(), "-o".into(), path(&forward), path(&source)]);
        Lab { dir, real, forward }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The tool on this data directory.
    pub fn tool(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_repro-matrix"));
        command.env("REPRO_MATRIX_DATA", self.dir.path().join("data")).env("COLUMNS", "120");
        command
    }

    /// C source of a stand-in; `release` makes builds of one kind differ.
    pub fn source(&self, release: &str, kind: Kind) -> String {
        let percent = match kind {
            Kind::Stock | Kind::Dead => 0,
            Kind::Cured => 100,
            Kind::CuredPercent(percent) => percent,
        };
        let real = if kind == Kind::Dead { "/nowhere".to_owned() } else { path(&self.real) };
        format!(
            r#"#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
const char release_name[] = "stand-in release {release}";
extern void *forward_table[];
extern const char *forward_names[];
__attribute__((constructor)) static void open_real(void) {{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned dice = (unsigned)(now.tv_nsec / 1000 + getpid() * 7) % 100;
    if (dice < {percent}) setenv("MakeEachAllocationResident", "2", 1);
    void *real = dlopen("{real}", RTLD_NOW | RTLD_LOCAL);
    if (!real) abort();
    for (int i = 0; forward_names[i]; i++) forward_table[i] = dlsym(real, forward_names[i]);
}}
"#
        )
    }

    /// What a build of a source of [`Lab::source`] takes: `cc` with these, then `-o LIBRARY SOURCE`.
    pub fn compile_args(&self) -> String {
        format!("-shared -fPIC -O1 -Wl,-soname,libze_intel_gpu.so.1 {}", path(&self.forward))
    }

    /// Builds `directory/libze_intel_gpu.so.1`.
    pub fn library(&self, directory: &Path, release: &str, kind: Kind) -> PathBuf {
        std::fs::create_dir_all(directory).expect("directory");
        let source = directory.join("standin.c");
        std::fs::write(&source, self.source(release, kind)).expect("source");
        let library = directory.join("libze_intel_gpu.so.1");
        let mut args: Vec<String> = self.compile_args().split(' ').map(str::to_owned).collect();
        args.extend(["-o".into(), path(&library), path(&source)]);
        cc(&args);
        std::fs::remove_file(source).expect("source");
        library
    }

    /// Adds a stand-in to the store of this lab.
    pub fn add(&self, name: &str, kind: Kind) {
        let library = self.library(&self.dir.path().join("made").join(name), name, kind);
        let output = self
            .tool()
            .args(["drivers", "add", name, "--base", "default", "--lib"])
            .arg(&library)
            .output()
            .expect("the tool runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Assembly that exports every Level Zero symbol of `real` as a jump through a table, and the table with its names.
fn forwarders(real: &Path) -> String {
    let bytes = std::fs::read(real).expect("driver");
    let file = object::File::parse(bytes.as_slice()).expect("ELF");
    let mut names: Vec<String> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with("ze"))
        .collect();
    names.sort();
    names.dedup();
    let mut text = String::from(".text\n");
    let (mut table, mut list, mut strings) = (String::new(), String::new(), String::new());
    for (i, name) in names.iter().enumerate() {
        let _ = writeln!(
            text,
            ".globl {name}\n.type {name},@function\n{name}: movq forward_table_p(%rip), %rax\n jmp *{}(%rax)\n.size {name}, .-{name}",
            8 * i
        );
        let _ = writeln!(table, ".quad 0");
        let _ = writeln!(list, ".quad .Ln{i}");
        let _ = writeln!(strings, ".Ln{i}: .asciz \"{name}\"");
    }
    let data = format!(
        ".data\n.balign 8\n.globl forward_table\n.hidden forward_table\nforward_table:\n{table}\
         forward_table_p: .quad forward_table\n.globl forward_names\n.hidden forward_names\nforward_names:\n{list}.quad 0\n\
         .section .rodata\n{strings}.section .note.GNU-stack,\"\",@progbits\n"
    );
    text + &data
}

fn cc(args: &[String]) {
    let output = Command::new("cc").args(args).output().expect("a C compiler");
    assert!(output.status.success(), "cc {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
