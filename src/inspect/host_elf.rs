//! Host ELF files: executables, shared objects and object files with device images in offload sections.
//!
//! The SYCL runtime finds an image by a descriptor that the host program registers (`sycl_device_binary_struct` in
//! `sycl/source/detail/compiler.hpp`): version (u16), offload kind, format (u8 each), then pointers to the target's
//! name, compile options, link options, (before version 3: manifest begin and end,) image begin and end, entries
//! begin and end. It gives the image's exact bounds; the sections alone do not. Object files before the device link
//! have no descriptors: there the section is the image.

use std::collections::HashMap;

use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};

use super::{Place, Reader, c_string};

/// clang's prefix of the sections that hold device images.
const OFFLOAD: &str = "__CLANG_OFFLOAD_BUNDLE__";
const R_X86_64_64: u32 = 1;
const R_X86_64_RELATIVE: u32 = 8;
/// Offload kind of SYCL, and the highest image format that is known (4: none said, compressed).
const KIND_SYCL: u8 = 4;
const FORMAT_MAX: u8 = 4;
/// A real image registers far fewer kernels.
const MOST_ENTRIES: u64 = 1 << 16;

/// Where compilers put the constant array of descriptors: `.data.rel.ro` with relocations, `.rodata` without.
fn holds_pointers(section: &str) -> bool {
    section.starts_with(".data") || section.starts_with(".rodata")
}

struct Part<'d> {
    name: String,
    address: u64,
    data: &'d [u8],
}

impl Part<'_> {
    fn offload(&self) -> bool {
        self.name.starts_with(OFFLOAD)
    }

    fn end(&self) -> u64 {
        self.address.saturating_add(self.data.len() as u64)
    }
}

/// The file's sections at their addresses, and what its pointers point at.
struct Space<'d> {
    parts: Vec<Part<'d>>,
    pointers: HashMap<u64, u64>,
}

struct Descriptor {
    part: usize,
    start: u64,
    end: u64,
    target: Option<String>,
    compile_options: Option<String>,
    link_options: Option<String>,
    entries: Vec<String>,
}

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    let elf = match object::read::elf::ElfFile64::<object::Endianness>::parse(bytes) {
        Ok(elf) => elf,
        Err(error) => return reader.problem(place, format!("ELF: {error} (64-bit files are read)")),
    };
    let space = match Space::new(&elf) {
        Ok(space) => space,
        Err(what) => return reader.problem(place, format!("ELF: {what}")),
    };
    let descriptors = space.descriptors();
    let mut described = vec![false; space.parts.len()];
    for (number, descriptor) in descriptors.iter().enumerate() {
        let Some(part) = space.parts.get(descriptor.part) else { continue };
        described[descriptor.part] = true;
        let mut inner = place.inside(format!("{} image {number}", part.name.trim_start_matches(OFFLOAD)));
        inner.kind = descriptor.target.clone();
        inner.group = Some(reader.images.len());
        inner.compile_options.clone_from(&descriptor.compile_options);
        inner.link_options.clone_from(&descriptor.link_options);
        inner.entries.clone_from(&descriptor.entries);
        let data =
            super::slice(part.data, descriptor.start - part.address, descriptor.end - descriptor.start);
        match data {
            Some(data) => reader.blob(data, &inner),
            None => reader.problem(&inner, "the image lies outside its section"),
        }
    }
    let registered = space.part(".tgtimg").map_or(0, |part| part.data.len() / 16);
    if registered > descriptors.len() {
        let what = format!(
            "{registered} images are listed in .tgtimg, {} have a descriptor that is understood; the others are not \
             in this list",
            descriptors.len()
        );
        reader.problem(place, what);
    }
    for (part, described) in space.parts.iter().zip(described) {
        let section = part.name.trim_start_matches(OFFLOAD);
        if described || part.data.is_empty() {
            continue;
        }
        if part.name == ".llvm.offloading" {
            reader.blob(part.data, &place.inside("section .llvm.offloading"));
        } else if part.offload() && !section.starts_with("host") {
            let mut inner = place.inside(format!("section {section}"));
            inner.kind = Some(section.trim_start_matches("sycl-").to_owned());
            inner.group = Some(reader.images.len());
            // clang leaves one zero byte where an object has nothing for a target.
            if part.data.iter().any(|byte| *byte != 0) {
                reader.blob(part.data, &inner);
            }
        }
    }
}

impl<'d> Space<'d> {
    fn new(elf: &object::read::elf::ElfFile64<'d, object::Endianness>) -> Result<Self, String> {
        let relocatable = elf.kind() == object::ObjectKind::Relocatable;
        let mut parts = Vec::new();
        let mut base = HashMap::new();
        for section in elf.sections() {
            let Some((offset, _)) = section.file_range() else { continue };
            let data = section.data().map_err(|e| format!("section {}: {e}", section.index()))?;
            // Sections of an object file have no addresses yet; their places in the file serve as such.
            let address = if relocatable { offset } else { section.address() };
            base.insert(section.index(), address);
            if address != 0 || relocatable {
                parts.push(Part { name: section.name().unwrap_or("?").to_owned(), address, data });
            } else if let Ok(name) = section.name()
                && (name.starts_with(OFFLOAD) || name == ".llvm.offloading")
            {
                // Not loaded, so no descriptor speaks of it.
                parts.push(Part { name: name.to_owned(), address: 0, data });
            }
        }
        parts.sort_by_key(|part| part.address);
        let mut pointers = HashMap::new();
        if relocatable {
            for section in elf.sections() {
                let Some(&at) = base.get(&section.index()) else { continue };
                if !section.name().is_ok_and(|name| holds_pointers(name) || name == ".tgtimg") {
                    continue;
                }
                for (offset, relocation) in section.relocations() {
                    let target = match relocation.target() {
                        RelocationTarget::Symbol(index) => {
                            elf.symbol_by_index(index).ok().and_then(|symbol| {
                                let section = base.get(&symbol.section_index()?)?;
                                Some(section.wrapping_add(symbol.address()))
                            })
                        }
                        _ => None,
                    };
                    if let Some(target) = target {
                        let value = target.wrapping_add_signed(relocation.addend());
                        pointers.insert(at.wrapping_add(offset), value);
                    }
                }
            }
        } else {
            for (at, relocation) in elf.dynamic_relocations().into_iter().flatten() {
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let value = match (r_type.0, relocation.target()) {
                    (R_X86_64_RELATIVE, _) => Some(relocation.addend().cast_unsigned()),
                    (R_X86_64_64, RelocationTarget::Symbol(index)) => elf
                        .dynamic_symbol_table()
                        .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok())
                        .map(|symbol| symbol.address().wrapping_add_signed(relocation.addend())),
                    _ => None,
                };
                if let Some(value) = value {
                    pointers.insert(at, value);
                }
            }
        }
        Ok(Space { parts, pointers })
    }

    fn part(&self, name: &str) -> Option<&Part<'d>> {
        self.parts.iter().find(|part| part.name == name)
    }

    /// The section that holds an address.
    fn find(&self, address: u64) -> Option<usize> {
        let after = self.parts.partition_point(|part| part.address <= address);
        // Empty sections may share an address with the one that is meant.
        (0..after).rev().take(8).find(|&index| self.parts.get(index).is_some_and(|part| address < part.end()))
    }

    fn bytes(&self, address: u64) -> Option<&'d [u8]> {
        let part = self.parts.get(self.find(address)?)?;
        part.data.get(usize::try_from(address - part.address).ok()?..)
    }

    /// What the pointer at `address` points at: by its relocation, else (packed relocations, fixed addresses) by
    /// what stands there.
    fn pointer(&self, address: u64) -> Option<u64> {
        match self.pointers.get(&address) {
            Some(value) => Some(*value),
            None => super::u64_at(self.bytes(address)?, 0).filter(|value| *value != 0),
        }
    }

    fn text(&self, address: u64) -> Option<String> {
        let bytes = self.bytes(self.pointer(address)?)?;
        Some(c_string(bytes.get(..bytes.len().min(64 << 10))?)).filter(|text| !text.is_empty())
    }

    /// Every descriptor of an image, in the order of the images.
    fn descriptors(&self) -> Vec<Descriptor> {
        let mut found = Vec::new();
        if !self.parts.iter().any(Part::offload) {
            return found;
        }
        for part in self.parts.iter().filter(|part| holds_pointers(&part.name)) {
            let first = part.address.next_multiple_of(8);
            let slots = part.end().saturating_sub(first) / 8;
            found.extend((0..slots).filter_map(|slot| self.descriptor(first + 8 * slot)));
        }
        found.sort_by_key(|descriptor| descriptor.start);
        found.dedup_by_key(|descriptor| descriptor.start);
        found
    }

    /// The descriptor whose "image begin" is the pointer at `slot`.
    fn descriptor(&self, slot: u64) -> Option<Descriptor> {
        let start = self.pointer(slot)?;
        let part = self.find(start)?;
        let section = self.parts.get(part).filter(|part| part.offload())?;
        let end = self.pointer(slot + 8).filter(|end| (start..=section.end()).contains(end))?;
        for (version, back) in [(3u8, 32), (2, 48), (1, 48)] {
            let base = slot.checked_sub(back)?;
            let Some(head) = self.bytes(base).and_then(|bytes| bytes.first_chunk::<4>()) else { continue };
            if head[0] != version || head[1] != 0 || head[2] != KIND_SYCL || head[3] > FORMAT_MAX {
                continue;
            }
            return Some(Descriptor {
                part,
                start,
                end,
                target: self.text(base + 8),
                compile_options: self.text(base + 16),
                link_options: self.text(base + 24),
                entries: self.entries(slot + 16),
            });
        }
        None
    }

    /// Names of the entries between the two pointers at `slot`. An entry is (address, name, size, two 32-bit words);
    /// since LLVM 20 (reserved, version and kinds, address, name, size, data, auxiliary address).
    fn entries(&self, slot: u64) -> Vec<String> {
        let (Some(begin), Some(end)) = (self.pointer(slot), self.pointer(slot + 8)) else {
            return Vec::new();
        };
        for (bytes, name) in [(32, 8), (56, 24)] {
            let count = end.saturating_sub(begin) / bytes;
            if end < begin || count * bytes != end - begin || count > MOST_ENTRIES {
                continue;
            }
            let names: Option<Vec<String>> =
                (0..count).map(|n| self.text(begin + n * bytes + name)).collect();
            if let Some(names) = names {
                return names;
            }
        }
        Vec::new()
    }
}
