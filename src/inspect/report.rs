//! What an inspection says: plain values, as JSON shows them.

use serde::Serialize;

use super::{Place, targets};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileReport {
    pub file: String,
    pub bytes: u64,
    pub format: Format,
    /// In the order of the file. The parts of one fat image follow each other and have the same `group`.
    pub images: Vec<Image>,
    /// What is damaged or not understood.
    pub problems: Vec<Problem>,
}

/// A place and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub place: String,
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    HostElf,
    /// A zebin, or an OpenCL program object that holds IR (`generic_ir`).
    DeviceElf,
    Archive,
    Bundle,
    CompressedBundle,
    OffloadBinary,
    /// A SYCL kernel bundle.
    Syclbin,
    Zstd,
    Spirv,
    Bitcode,
    Unknown,
}

impl Format {
    /// By the first bytes.
    pub(super) fn of(bytes: &[u8]) -> Format {
        const SPIRV: [u8; 4] = 0x0723_0203u32.to_le_bytes();
        const SPIRV_BIG: [u8; 4] = 0x0723_0203u32.to_be_bytes();
        let starts = |magic: &[u8]| bytes.starts_with(magic);
        if starts(b"\x7fELF") {
            if super::device_elf::is_one(bytes) { Format::DeviceElf } else { Format::HostElf }
        } else if starts(b"!<arch>\n") {
            Format::Archive
        } else if starts(b"__CLANG_OFFLOAD_BUNDLE__") {
            Format::Bundle
        } else if starts(b"CCOB") {
            Format::CompressedBundle
        } else if starts(&[0x10, 0xff, 0x10, 0xad]) {
            Format::OffloadBinary
        } else if starts(super::syclbin::MAGIC) {
            Format::Syclbin
        } else if starts(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Format::Zstd
        } else if starts(&SPIRV) || starts(&SPIRV_BIG) {
            Format::Spirv
        } else if starts(b"BC\xc0\xde") || starts(&[0xde, 0xc0, 0x17, 0x0b]) {
            Format::Bitcode
        } else {
            Format::Unknown
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Format::HostElf => "ELF",
            Format::DeviceElf => "zebin",
            Format::Archive => "archive",
            Format::Bundle => "offload bundle",
            Format::CompressedBundle => "CCOB bundle",
            Format::OffloadBinary => "offload binary",
            Format::Syclbin => "SYCLBIN",
            Format::Zstd => "zstd frame",
            Format::Spirv => "SPIR-V",
            Format::Bitcode => "LLVM bitcode",
            Format::Unknown => "unknown",
        }
    }
}

/// One device image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    /// Containers from the outside in.
    pub place: String,
    /// Images with the same number are parts of one fat image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<usize>,
    /// As the container names it: `spir64`, `spir64_gen`, `sycl-spir64-unknown-unknown`…
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub format: Format,
    /// Bytes of the image itself.
    pub bytes: u64,
    /// Bytes in the file of the (whole) compressed image, and the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_options: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_options: Option<String>,
    /// Options that the device compiler wrote into the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_options: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spirv: Option<Spirv>,
    /// `None`: the format says nothing of its kernels (bitcode).
    pub kernels: Option<Vec<Kernel>>,
    /// Kernels that the host program registers for this image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
}

impl Image {
    pub(super) fn new(place: &Place, format: Format, bytes: usize) -> Image {
        Image {
            place: place.text(),
            group: place.group,
            kind: place.kind.clone(),
            format,
            bytes: bytes as u64,
            stored_bytes: place.stored.map(|(bytes, _)| bytes),
            compression: place.stored.map(|(_, method)| method),
            target: None,
            compile_options: place.compile_options.clone(),
            link_options: place.link_options.clone(),
            build_options: None,
            spirv: None,
            kernels: None,
            entries: place.entries.clone(),
        }
    }

    /// Holds instructions of a device: what ahead-of-time compilation is for.
    pub fn is_native(&self) -> bool {
        self.target.is_some()
    }

    /// Σ over the kernels of bytes for one hardware thread in a global private surface; `None` where the image says
    /// nothing of it.
    pub fn private_per_thread(&self) -> Option<u64> {
        let kernels = self.kernels.as_ref()?;
        kernels.iter().map(|kernel| kernel.private_surface).try_fold(0u64, |sum, each| sum.checked_add(each?))
    }
}

/// What a native image was compiled for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The name in the container (`64.dg2` gives `dg2`), else the acronym or the IP version.
    pub name: String,
    /// Graphics IP version, `12.55.8`, from the zebin's own note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Every `ocloc -device` name of this IP version: they are one image.
    pub acronyms: Vec<&'static str>,
}

impl Target {
    pub(super) fn new(name: Option<String>, ip: Option<targets::Ip>) -> Target {
        let acronyms = ip.map(targets::acronyms).unwrap_or_default().to_vec();
        let ip = ip.map(|ip| ip.to_string());
        let name = name
            .or_else(|| acronyms.first().map(|name| (*name).to_owned()))
            .or_else(|| ip.clone())
            .unwrap_or_else(|| "unknown".to_owned());
        Target { name, ip, acronyms }
    }
}

/// The header of a SPIR-V module and what it needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spirv {
    /// `1.4`.
    pub version: String,
    /// Tool that wrote it (high half of the generator word) and its version.
    pub generator: u16,
    pub generator_version: u16,
    pub id_bound: u32,
    pub extensions: Vec<String>,
}

/// One kernel. What only native code can say is `None` for SPIR-V: the driver's compiler has yet to decide it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    pub name: String,
    /// Where it differs from `name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simd_size: Option<u32>,
    /// Bytes for one hardware thread, wherever they are placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_size: Option<u64>,
    /// Of these, bytes for one hardware thread in a global private surface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_surface: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_size: Option<u64>,
    /// Bytes for one hardware thread in scratch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slm_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grf_count: Option<u32>,
    /// The payload in the order of `.ze_info`; offsets and sizes in bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argument {
    #[serde(rename = "type")]
    pub arg_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    pub offset: u64,
    pub size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addrmode: Option<String>,
}

/// The source name of a kernel. SYCL names kernels by `_ZTS`, "typeinfo name for TYPE": the type is what a reader
/// looks for. `None` when the name is not mangled, or not by rules that are known here.
pub fn demangle(name: &str) -> Option<String> {
    /// Longer names are shown as they are: demangling can grow a name without bound.
    const LONGEST: usize = 16 << 10;
    if !name.starts_with("_Z") || name.len() > LONGEST {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name.as_bytes()).ok()?;
    let text = symbol.demangle().ok()?;
    Some(text.strip_prefix("typeinfo name for ").map_or_else(|| text.clone(), str::to_owned))
}
