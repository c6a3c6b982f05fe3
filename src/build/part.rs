//! Reads a zebin kernel by kernel: what of it belongs to which kernel, so that kernels can be taken into another
//! module ([`super::join`]).
//!
//! Only zebins whose every section is one of those below can be taken apart; anything else (functions, constants,
//! debug information) may tie kernels together and is refused by name.

use std::collections::BTreeMap;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Rel as _, SectionHeader as _, SectionTable, Sym as _, SymbolTable};
use object::{Endianness, SectionIndex, SymbolIndex};

use super::ze_text::{self, Blocks, BlocksError};

/// `.ze_info`, as IGC types and names it.
pub const SHT_ZEBIN_ZEINFO: elf::SectionType = elf::SectionType(0xff00_0011);
pub const TEXT: &str = ".text.";
pub const REL: &str = ".rel.text.";
/// Product and format version.
pub const COMPAT: &str = ".note.intelgt.compat";
pub const METRICS: &str = ".note.intelgt.metrics";
/// The options of the command line, where there were any.
pub const OPTIONS: &str = ".misc.buildOptions";
pub const SHT_ZEBIN_MISC: elf::SectionType = elf::SectionType(0xff00_0014);
pub const ZE_INFO: &str = ".ze_info";

/// Why kernels cannot be taken out of a zebin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error("not a zebin: {0}")]
    NotZebin(String),
    #[error("section `{0}` may tie kernels together")]
    Section(String),
    #[error("symbol `{0}` may tie kernels together")]
    Symbol(String),
    #[error(".ze_info: {0}")]
    ZeInfo(#[from] BlocksError),
    #[error("kernel `{0}` has code and no .ze_info, or .ze_info and no code")]
    Half(String),
}

/// A zebin of which every byte has an owner.
#[derive(Debug)]
pub struct Part<'a> {
    pub machine: u16,
    pub flags: u32,
    /// Sections of the whole module, by name: [`COMPAT`], [`METRICS`], [`OPTIONS`].
    pub common: BTreeMap<&'a str, &'a [u8]>,
    pub ze_info: Blocks<'a>,
    pub kernels: BTreeMap<&'a str, Code<'a>>,
}

/// What one kernel has besides its lines in `.ze_info`.
#[derive(Debug, Default)]
pub struct Code<'a> {
    pub text: &'a [u8],
    /// Local symbols of the section, in their order.
    pub symbols: Vec<Symbol<'a>>,
    pub relocations: Vec<Relocation<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    pub name: &'a str,
    pub value: u64,
    pub size: u64,
    /// `st_info`: binding and type.
    pub info: u8,
    pub other: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation<'a> {
    pub offset: u64,
    pub kind: u32,
    pub to: To<'a>,
}

/// What a relocation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To<'a> {
    /// Index in the kernel's own symbols.
    Own(usize),
    /// A name that the driver supplies.
    Driver(Symbol<'a>),
}

type Header = FileHeader64<Endianness>;

/// Where a symbol of the file has gone.
#[derive(Clone, Copy)]
enum Owner<'a> {
    Nobody,
    Kernel(SectionIndex, usize),
    Driver(Symbol<'a>),
}

/// Takes `image` apart.
pub fn read(image: &[u8]) -> Result<Part<'_>, PartError> {
    let not = |error: object::Error| PartError::NotZebin(error.to_string());
    let header = Header::parse(image).map_err(not)?;
    let endian = header.endian().map_err(not)?;
    let sections = header.sections(endian, image).map_err(not)?;
    let symbols = sections.symbols(endian, image, elf::SHT_SYMTAB).map_err(not)?;
    let mut part = Part {
        machine: header.e_machine(endian).0,
        flags: header.e_flags(endian).0,
        common: BTreeMap::new(),
        ze_info: Blocks::default(),
        kernels: BTreeMap::new(),
    };
    let mut names: BTreeMap<usize, &str> = BTreeMap::new();
    for (index, section) in sections.enumerate() {
        let name = sections.section_name(endian, section).map_err(not)?;
        let name = std::str::from_utf8(name).map_err(|e| PartError::NotZebin(e.to_string()))?;
        let data = || section.data(endian, image).map_err(not);
        match (name, section.sh_type(endian)) {
            ("", elf::SHT_NULL) | (_, elf::SHT_STRTAB | elf::SHT_SYMTAB) => {}
            (COMPAT | METRICS, elf::SHT_NOTE) | (OPTIONS, SHT_ZEBIN_MISC) => {
                part.common.insert(name, data()?);
            }
            (ZE_INFO, SHT_ZEBIN_ZEINFO) => {
                let text = std::str::from_utf8(data()?).map_err(|e| PartError::NotZebin(e.to_string()))?;
                part.ze_info = ze_text::blocks(text.trim_end_matches('\0'))?;
            }
            (_, elf::SHT_PROGBITS) if name.starts_with(TEXT) => {
                let kernel = name.get(TEXT.len()..).unwrap_or_default();
                names.insert(index.0, kernel);
                let code = Code { text: data()?, ..Code::default() };
                if part.kernels.insert(kernel, code).is_some() {
                    return Err(PartError::Section(name.to_owned()));
                }
            }
            // Second pass: they need the symbols.
            (_, elf::SHT_REL) if name.starts_with(REL) => {}
            _ => return Err(PartError::Section(name.to_owned())),
        }
    }
    let owners = owners(endian, &symbols, &names, &mut part.kernels)?;
    relocations(endian, image, &sections, &names, &owners, &mut part.kernels)?;
    let halves = || part.kernels.keys().chain(part.ze_info.kernels.keys());
    if let Some(half) =
        halves().find(|name| !part.kernels.contains_key(*name) || !part.ze_info.kernels.contains_key(*name))
    {
        return Err(PartError::Half((*half).to_owned()));
    }
    Ok(part)
}

/// Gives every symbol to the kernel in whose code it lies, or to the driver.
fn owners<'a>(
    endian: Endianness,
    symbols: &SymbolTable<'a, Header>,
    names: &BTreeMap<usize, &'a str>,
    kernels: &mut BTreeMap<&'a str, Code<'a>>,
) -> Result<Vec<Owner<'a>>, PartError> {
    let not = |error: object::Error| PartError::NotZebin(error.to_string());
    // The first entry stands for no symbol.
    let mut owners = vec![Owner::Nobody];
    for (index, symbol) in symbols.enumerate().skip(1) {
        let name = symbols.symbol_name(endian, symbol).map_err(not)?;
        let name = std::str::from_utf8(name).map_err(|e| PartError::NotZebin(e.to_string()))?;
        let own = Symbol {
            name,
            value: symbol.st_value(endian),
            size: symbol.st_size(endian),
            info: symbol.st_info().0,
            other: symbol.st_other().0,
        };
        let section = symbols.symbol_section(endian, symbol, index).map_err(not)?;
        let owner = match section {
            None if symbol.st_bind() == elf::STB_GLOBAL && symbol.is_undefined(endian) => Owner::Driver(own),
            Some(section) if symbol.st_bind() == elf::STB_LOCAL => {
                let code = names.get(&section.0).and_then(|kernel| kernels.get_mut(kernel));
                let code = code.ok_or_else(|| PartError::Symbol(name.to_owned()))?;
                code.symbols.push(own);
                Owner::Kernel(section, code.symbols.len() - 1)
            }
            _ => return Err(PartError::Symbol(name.to_owned())),
        };
        owners.push(owner);
    }
    Ok(owners)
}

fn relocations<'a>(
    endian: Endianness,
    image: &'a [u8],
    sections: &SectionTable<'a, Header>,
    names: &BTreeMap<usize, &'a str>,
    owners: &[Owner<'a>],
    kernels: &mut BTreeMap<&'a str, Code<'a>>,
) -> Result<(), PartError> {
    let not = |error: object::Error| PartError::NotZebin(error.to_string());
    for section in sections.iter() {
        let Some((list, _)) = section.rel(endian, image).map_err(not)? else { continue };
        let target = section.info_link(endian);
        let place = || PartError::Section(format!("relocations of section {}", target.0));
        let code = names.get(&target.0).and_then(|kernel| kernels.get_mut(kernel)).ok_or_else(place)?;
        for relocation in list {
            let SymbolIndex(symbol) = relocation.symbol(endian).unwrap_or(SymbolIndex(0));
            let to = match owners.get(symbol) {
                Some(Owner::Driver(symbol)) => To::Driver(*symbol),
                Some(Owner::Kernel(section, own)) if *section == target => To::Own(*own),
                _ => return Err(place()),
            };
            let kind = relocation.r_type(endian).0;
            code.relocations.push(Relocation { offset: relocation.r_offset(endian), kind, to });
        }
    }
    Ok(())
}
