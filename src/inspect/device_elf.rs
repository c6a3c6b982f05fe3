//! ELF files of the device: zebins (native code with `.ze_info`), and OpenCL program objects that hold IR.
//!
//! Formats: `shared/source/device_binary_format/zebin/zebin_elf.h` and `…/elf/ocl_elf.h` in compute-runtime; notes:
//! `zebin/zeinfo_enum_lookup.h` and `zebin_elf.h` (`IntelGTSectionType`).

use object::{Object, ObjectSection};

use super::targets::Ip;
use super::{Argument, Format, Image, Kernel, Place, Reader, Target, archive, report, spirv};
use crate::build::ze_info;

/// Machine number of Intel GPU code.
const EM_INTELGT: u16 = 205;
/// Types from here on are Intel's: zebin executables, OpenCL objects.
const ET_INTEL: u16 = 0xff00;
/// `productConfig`: the graphics IP version that the code is for.
const NOTE_PRODUCT_CONFIG: u32 = 6;

/// By machine and type in the ELF header.
pub fn is_one(bytes: &[u8]) -> bool {
    let half = |at: usize| bytes.get(at..)?.first_chunk().map(|half| u16::from_le_bytes(*half));
    half(18) == Some(EM_INTELGT) || half(16).is_some_and(|kind| kind >= ET_INTEL)
}

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    let elf = match object::File::parse(bytes) {
        Ok(elf) => elf,
        Err(error) => return reader.problem(place, format!("zebin: {error}")),
    };
    let section = |name: &str| -> Option<Result<&[u8], String>> {
        let section = elf.section_by_name(name)?;
        Some(section.data().map_err(|error| format!("{name}: {error}")))
    };
    let text = |name: &str| match section(name)? {
        Ok(data) => Some(super::c_string(data).trim().to_owned()).filter(|text| !text.is_empty()),
        Err(_) => None,
    };
    let mut image = Image::new(place, Format::DeviceElf, bytes.len());
    image.build_options = text(".misc.buildOptions").or_else(|| text("BuildOptions"));
    let info = match section(".ze_info") {
        Some(Ok(info)) => info,
        Some(Err(what)) => return reader.problem(place, what),
        None => return intermediate(reader, &elf, image, place),
    };
    let ip = match section(".note.intelgt.compat") {
        Some(Ok(notes)) => match product_config(notes) {
            Ok(ip) => ip,
            Err(what) => {
                reader.problem(place, format!(".note.intelgt.compat: {what}"));
                None
            }
        },
        Some(Err(what)) => {
            reader.problem(place, what);
            None
        }
        None => None,
    };
    image.target = Some(Target::new(archive::target_name(place), ip));
    // The section may be padded with zero bytes.
    let parsed = std::str::from_utf8(info)
        .map_err(|error| error.to_string())
        .and_then(|text| ze_info::parse(text.trim_end_matches('\0')).map_err(|error| error.to_string()));
    match parsed {
        Ok(kernels) => image.kernels = Some(kernels.into_iter().map(kernel).collect()),
        Err(what) => reader.problem(place, format!(".ze_info: {what}")),
    }
    reader.image(image, bytes);
}

/// A program object without native code: its SPIR-V is the image.
fn intermediate(reader: &mut Reader<'_>, elf: &object::File<'_>, mut image: Image, place: &Place) {
    let Some(section) = elf.section_by_name("SPIRV Object").or_else(|| elf.section_by_name(".spv")) else {
        return reader.problem(place, "an ELF file of the device with neither .ze_info nor SPIR-V");
    };
    let data = match section.data() {
        Ok(data) => data,
        Err(error) => return reader.problem(place, format!("SPIR-V: {error}")),
    };
    match spirv::parse(data) {
        Ok(module) => {
            image.format = Format::Spirv;
            image.spirv = Some(module.header);
            image.kernels = Some(module.kernels);
            reader.image(image, data);
        }
        Err(what) => reader.problem(place, format!("SPIR-V: {what}")),
    }
}

fn kernel(info: ze_info::KernelInfo) -> Kernel {
    let arguments = info.arguments.into_iter().map(|argument| Argument {
        arg_type: argument.arg_type,
        index: argument.arg_index,
        offset: argument.offset,
        size: argument.size,
        source_offset: argument.source_offset,
        addrmode: argument.addrmode,
    });
    Kernel {
        demangled: report::demangle(&info.name),
        name: info.name,
        simd_size: Some(info.simd_size),
        private_size: Some(info.private_size),
        private_surface: Some(info.private_surface),
        spill_size: Some(info.spill_size),
        scratch_size: Some(info.scratch_size),
        slm_size: Some(info.slm_size),
        grf_count: info.grf_count,
        arguments: arguments.collect(),
    }
}

/// The IP version in a note section, if a note carries one.
pub fn product_config(section: &[u8]) -> Result<Option<Ip>, String> {
    for note in notes(section)? {
        if note.kind == NOTE_PRODUCT_CONFIG {
            let word = note.data.first_chunk().ok_or("the product note is too short")?;
            return Ok(Some(Ip::from_word(u32::from_le_bytes(*word))));
        }
    }
    Ok(None)
}

/// One ELF note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'d> {
    pub owner: &'d [u8],
    pub kind: u32,
    pub data: &'d [u8],
}

/// The notes of a section: sizes of name and data, type (u32 each), then both, each padded to four bytes.
pub fn notes(section: &[u8]) -> Result<Vec<Note<'_>>, String> {
    let mut notes = Vec::new();
    let mut at = 0usize;
    while section.len().saturating_sub(at) >= 12 {
        let word = |n: usize| super::u32_at(section, at + 4 * n).unwrap_or(0);
        let (owner_size, data_size, kind) = (word(0), word(1), word(2));
        let owner_at = at as u64 + 12;
        let data_at = owner_at + u64::from(owner_size).next_multiple_of(4);
        let outside = || format!("note {} ends outside its section", notes.len());
        let owner = super::slice(section, owner_at, owner_size.into()).ok_or_else(outside)?;
        let data = super::slice(section, data_at, data_size.into()).ok_or_else(outside)?;
        notes.push(Note { owner, kind, data });
        let end = data_at + u64::from(data_size).next_multiple_of(4);
        at = usize::try_from(end).map_err(|_| "a note too large".to_owned())?;
    }
    Ok(notes)
}
