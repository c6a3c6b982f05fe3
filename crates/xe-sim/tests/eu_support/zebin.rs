//! Kernels of a zebin: text, and what `.ze_info` says of their payload.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use object::{Object, ObjectSection, ObjectSymbol};

use super::tree::Tree;

#[derive(Clone, Debug, Default)]
pub struct Argument {
    pub kind: String,
    pub offset: usize,
    pub size: usize,
    pub index: Option<usize>,
    pub mode: String,
    pub source: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub name: String,
    pub text: Vec<u8>,
    /// Numbers of `execution_env`.
    pub env: BTreeMap<String, u64>,
    pub payload: Vec<Argument>,
    /// Bytes of local ids a thread.
    pub local_id_bytes: usize,
    /// `.data.const`, with the places of relocations in it unresolved.
    pub constants: Vec<u8>,
    /// `.data.global`: variables of program scope.
    pub globals: Vec<u8>,
    /// Places in the text that hold an address in the constants: offset, type, addend.
    pub relocations: Vec<(u64, u32, i64)>,
}

impl Kernel {
    pub fn env(&self, key: &str) -> u64 {
        self.env.get(key).copied().unwrap_or(0)
    }

    pub fn simd(&self) -> u32 {
        self.env("simd_size") as u32
    }
}

/// Compiles `source` and returns its kernels by name.
pub fn compile(source: &str, options: &str) -> BTreeMap<String, Kernel> {
    compile_with(source, options, "")
}

pub fn compile_with(source: &str, options: &str, internal: &str) -> BTreeMap<String, Kernel> {
    try_compile(source, options, internal).unwrap_or_else(|log| panic!("{log}"))
}

/// Internal options for double precision, which the compiler emulates on devices without it.
pub const DOUBLE_PRECISION: &str = "-cl-ext=+cl_khr_fp64,+__opencl_c_fp64";

/// Among the options: IGC makes no messages of the load/store cache, but those of the legacy data ports.
pub const LEGACY_DATA_PORTS: &str = "-DLEGACY_DATA_PORTS";

/// The error is the compiler's log and how it ended.
pub fn try_compile(source: &str, options: &str, internal: &str) -> Result<BTreeMap<String, Kernel>, String> {
    let tree = Tree::find();
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("k.cl"), source).expect("the source");
    let mut command = tree.command(&tree.ocloc());
    if internal.contains(DOUBLE_PRECISION) {
        command.env("OverrideDefaultFP64Settings", "1").env("IGC_EnableDPEmulation", "1");
    }
    if options.contains(LEGACY_DATA_PORTS) {
        command.env("IGC_ForceNoLSC", "1");
    }
    let output = command
        .args(["compile", "-device", "dg2", "-output", "k", "-output_no_suffix", "-file", "k.cl"])
        .args(["-options", &format!("-cl-std=CL3.0 {options}"), "-internal_options", internal])
        .current_dir(dir.path())
        .stdin(Stdio::null())
        .output()
        .expect("ocloc runs");
    let log = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        // A crash leaves no log.
        return Err(format!("{log}ocloc: {}", output.status));
    }
    Ok(parse(&fs::read(dir.path().join("k.bin")).expect("ocloc's output")))
}

pub fn compile_file(file: &str, options: &str) -> BTreeMap<String, Kernel> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/eu_corpus").join(file);
    compile(&fs::read_to_string(path).expect("a source of the corpus"), options)
}

pub fn parse(binary: &[u8]) -> BTreeMap<String, Kernel> {
    let elf = object::File::parse(binary).expect("an ELF file");
    let info = elf.section_by_name(".ze_info").expect(".ze_info").data().expect("its bytes");
    let mut kernels = read_info(&String::from_utf8_lossy(info));
    let data = |name| elf.section_by_name(name).map_or_else(Vec::new, |s| s.data().expect("bytes").to_vec());
    let (constants, globals) = (data(".data.const"), data(".data.global"));
    for section in elf.sections() {
        let name = section.name().expect("a name");
        let Some(kernel) = name.strip_prefix(".text.").and_then(|name| kernels.get_mut(name)) else {
            continue;
        };
        kernel.text = section.data().expect("its bytes").to_vec();
        kernel.constants = constants.clone();
        kernel.globals = globals.clone();
        for (offset, relocation) in section.relocations() {
            let object::RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let object::RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let symbol = elf.symbol_by_index(symbol).expect("a symbol");
            let of_constants = symbol.section_index().and_then(|i| elf.section_by_index(i).ok());
            if of_constants.is_some_and(|s| s.name() == Ok(".data.const")) {
                let addend = symbol.address() as i64 + relocation.addend();
                kernel.relocations.push((offset, r_type.0, addend));
            }
        }
    }
    kernels.retain(|_, kernel| !kernel.text.is_empty());
    kernels
}

/// Reads the `kernels:` list of the YAML that the compiler writes: one key a line, two spaces a level.
fn read_info(text: &str) -> BTreeMap<String, Kernel> {
    let mut kernels = BTreeMap::new();
    let mut current: Option<Kernel> = None;
    let mut section = String::new();
    let mut inside = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let item = line.trim_start().starts_with("- ");
        let Some((key, value)) = line.trim_start().trim_start_matches("- ").split_once(':') else { continue };
        let (key, value) = (key.trim(), value.trim());
        if indent == 0 {
            inside = key == "kernels";
        }
        if !inside {
            continue;
        }
        match indent {
            2 if item && key == "name" => {
                if let Some(kernel) = current.take() {
                    kernels.insert(kernel.name.clone(), kernel);
                }
                current = Some(Kernel { name: value.to_owned(), ..Kernel::default() });
            }
            4 => section = key.to_owned(),
            _ => {}
        }
        let Some(kernel) = &mut current else { continue };
        if indent < 6 {
            continue;
        }
        match section.as_str() {
            "execution_env" => {
                let number = match value {
                    "true" => Some(1),
                    other => other.parse().ok(),
                };
                if let Some(number) = number {
                    kernel.env.insert(key.to_owned(), number);
                }
            }
            "payload_arguments" => {
                if item {
                    kernel.payload.push(Argument::default());
                }
                let argument = kernel.payload.last_mut().expect("an item");
                let number = value.parse::<usize>();
                match key {
                    "arg_type" => argument.kind = value.to_owned(),
                    "offset" => argument.offset = number.expect("a number"),
                    "size" => argument.size = number.expect("a number"),
                    "arg_index" => argument.index = number.ok(),
                    "addrmode" => argument.mode = value.to_owned(),
                    "source_offset" => argument.source = number.expect("a number"),
                    _ => {}
                }
            }
            "per_thread_payload_arguments" if key == "size" => {
                kernel.local_id_bytes += value.parse::<usize>().expect("a number");
            }
            _ => {}
        }
    }
    if let Some(kernel) = current.take() {
        kernels.insert(kernel.name.clone(), kernel);
    }
    kernels
}
