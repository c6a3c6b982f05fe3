//! Whole programs on the real driver and the simulated device: compiled by the real compiler, launched through Level Zero,
//! their results compared with the host's.

mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use repro_matrix::build::Compiler;
use support::Tree;

/// The programs compiled for `device` (a name of ocloc's), optimised or not.
fn compile(tree: &Tree, dir: &Path, device: &str, options: &str) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/repro-kernels/programs/programs.cl");
    let words = ["compile", "-q", "-file", source, "-device", device, "-out_dir", ".", "-output_no_suffix"];
    let mut args: Vec<OsString> = words.map(OsString::from).to_vec();
    args.extend(["-output".into(), "programs".into(), "-options".into(), options.into()]);
    let output = tree.command(&args).current_dir(dir).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let made = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    let image = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    made.into_iter().find(image).unwrap_or_else(|| panic!("no zebin: {said}"))
}

fn check(tree: &Tree, device: &str, module: &Path, trace: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_repro-matrix"));
    let words: Vec<OsString> = vec!["level-zero-check".into(), "--module".into(), module.into()];
    let launch = tree.launch(program, &words);
    let mut command = Command::new(program);
    command.args(["sim", "--quiet", "--device", device, "--trace"]).arg(trace).arg("--");
    command.args(launch.argv).envs(launch.env).env("NEO_CACHE_PERSISTENT", "0");
    command.output().unwrap()
}

#[test]
fn vector_add_reduction_and_matrix_product_are_right() {
    let tree = Tree::open();
    for options in ["", "-cl-opt-disable"] {
        let dir = tempfile::tempdir().unwrap();
        let module = compile(&tree, dir.path(), "dg2", options);
        let output = check(&tree, "a770", &module, &dir.path().join("trace"));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
        for program in ["vector add: 0 of ", "reduction: 0 of ", "matrix product: 0 of "] {
            assert!(said.contains(program), "{said}");
        }
    }
}

#[test]
fn device_without_an_instruction_table_computes_nothing_and_says_so() {
    let tree = Tree::open();
    let dir = tempfile::tempdir().unwrap();
    let module = compile(&tree, dir.path(), "bmg", "");
    let trace = dir.path().join("trace");
    let output = check(&tree, "b580", &module, &trace);
    // The outputs stay as they were: wrong, and never by accident right.
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(
        trace.lines().next().is_some_and(|line| line.contains("\"executes_kernels\":false")),
        "{trace:.300}"
    );
}
