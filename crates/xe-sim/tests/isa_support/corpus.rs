//! Kernels to decode: the sources in `isa_corpus`, compiled at SIMD 8, 16 and 32, with and without optimisation.

use std::path::{Path, PathBuf};
use std::thread;
use std::{fs, process::Stdio};

use object::{Object, ObjectSection};

use super::tree::Tree;

/// Text section of a kernel or function.
pub struct Text {
    /// Source, variant and section.
    pub name: String,
    pub bytes: Vec<u8>,
}

const VARIANTS: [(&str, &str); 2] = [("", ""), ("O0", " -cl-opt-disable")];

/// Every text section of the corpus.
pub fn compile(tree: &Tree) -> Vec<Text> {
    let mut jobs = Vec::new();
    for source in sources() {
        for simd in [8, 16, 32] {
            jobs.extend(VARIANTS.iter().map(|variant| (source.clone(), simd, *variant)));
        }
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut texts = Vec::new();
    thread::scope(|scope| {
        let jobs = &jobs;
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                scope.spawn(move || {
                    let mine = jobs.iter().skip(worker).step_by(workers);
                    mine.flat_map(|(source, simd, variant)| compile_one(tree, source, *simd, *variant))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for handle in handles {
            texts.extend(handle.join().expect("a compile worker"));
        }
    });
    texts.sort_by(|one, other| one.name.cmp(&other.name));
    texts
}

fn sources() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isa_corpus");
    let mut sources: Vec<_> = fs::read_dir(&dir)
        .expect("the corpus")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cl"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 8, "the corpus lost sources: {sources:?}");
    sources
}

fn compile_one(tree: &Tree, source: &Path, simd: u8, (variant, option): (&str, &str)) -> Vec<Text> {
    let stem = source.file_stem().expect("a file").to_string_lossy();
    let out = tempfile::tempdir().expect("a temporary directory");
    // Doubles exist on this device only by emulation, which makes other built-in calls ambiguous.
    let internal =
        if stem == "double" { "-cl-ext=+cl_khr_fp64,+__opencl_c_fp64 -cl-fp64-gen-emu" } else { "" };
    let output = tree
        .command(&tree.ocloc())
        .args(["compile", "-device", "dg2", "-output", "kernel", "-output_no_suffix", "-file"])
        .arg(source)
        .arg("-options")
        .arg(format!("-cl-std=CL3.0 -DSG={simd}{option}"))
        .args(["-internal_options", internal])
        .current_dir(out.path())
        .stdin(Stdio::null())
        .output()
        .expect("ocloc runs");
    let log = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stem} at SIMD {simd} {variant}: {log}");
    let binary = fs::read(out.path().join("kernel.bin")).expect("ocloc's output");
    let elf = object::File::parse(&*binary).expect("an ELF file");
    elf.sections()
        .filter_map(|section| {
            let name = section.name().ok()?.strip_prefix(".text.")?.to_owned();
            Some(Text {
                name: format!("{stem}/simd{simd}{variant}/{name}"),
                bytes: section.data().ok()?.to_vec(),
            })
        })
        .collect()
}
