//! Puts a zebin together from kernels of several zebins of one compiler for one device.
//!
//! What results is what the compiler would have made of all kernels at once: the same sections in the same order,
//! each kernel's code, relocations and `.ze_info` unchanged. Two things differ: behind the end of each kernel's code IGC
//! puts moves to the null register, never executed, which hold a hash of the compilation and the kernel's number in it;
//! and alignment in the file. `tests/join.rs` compares the two.

use std::collections::{BTreeMap, BTreeSet};

use super::elf_out::{self, REL_SIZE, Section, Strings, SymbolEntry};
use super::part::{
    self, COMPAT, Code, METRICS, OPTIONS, Part, PartError, REL, SHT_ZEBIN_MISC, SHT_ZEBIN_ZEINFO, Symbol,
    TEXT, To, ZE_INFO,
};
use super::ze_text;

/// Part of the cache key of what is put together. Raise it when the result changes.
pub const JOIN_VERSION: u32 = 1;

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOTE: u32 = 7;
const SHT_REL: u32 = 9;
/// SHF_ALLOC | SHF_EXECINSTR.
const FLAGS_TEXT: u64 = 2 | 4;

/// Two sections a kernel and a few more: section numbers from 0xff00 on have another meaning.
const MOST_KERNELS: usize = 0x7f00;

/// Why kernels cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    #[error("part {index}: {error}")]
    Part { index: usize, error: PartError },
    #[error("parts 0 and {index} were made for different devices, or by different compilers")]
    Unlike { index: usize },
    #[error("part {index} has no kernel `{kernel}`")]
    NoKernel { index: usize, kernel: String },
    #[error("there is no part {0}")]
    NoPart(usize),
    #[error("kernel `{0}` is taken twice")]
    Twice(String),
    #[error("too many kernels for one ELF file")]
    TooMany,
}

/// The module with `kernels`, in this order, each from the part with this index.
pub fn join(parts: &[&[u8]], kernels: &[(usize, String)]) -> Result<Vec<u8>, JoinError> {
    let parts = parts
        .iter()
        .enumerate()
        .map(|(index, image)| part::read(image).map_err(|error| JoinError::Part { index, error }))
        .collect::<Result<Vec<Part<'_>>, _>>()?;
    let first = parts.first().ok_or(JoinError::NoPart(0))?;
    for (index, other) in parts.iter().enumerate() {
        let version = |part: &Part<'_>| part.ze_info.version.to_owned();
        let alike = (other.machine, other.flags, &other.common)
            == (first.machine, first.flags, &first.common)
            && version(other) == version(first);
        if !alike {
            return Err(JoinError::Unlike { index });
        }
    }
    let taken = take(&parts, kernels)?;
    if taken.len() > MOST_KERNELS {
        return Err(JoinError::TooMany);
    }
    write(first, &taken).ok_or(JoinError::TooMany)
}

/// A kernel with all that belongs to it.
struct Taken<'a> {
    name: &'a str,
    code: &'a Code<'a>,
    info: &'a str,
    misc: Option<&'a str>,
}

fn take<'a>(parts: &'a [Part<'a>], kernels: &'a [(usize, String)]) -> Result<Vec<Taken<'a>>, JoinError> {
    let mut seen = BTreeSet::new();
    kernels
        .iter()
        .map(|(index, name)| {
            let part = parts.get(*index).ok_or(JoinError::NoPart(*index))?;
            let missing = || JoinError::NoKernel { index: *index, kernel: name.clone() };
            if !seen.insert(name) {
                return Err(JoinError::Twice(name.clone()));
            }
            Ok(Taken {
                name,
                code: part.kernels.get(name.as_str()).ok_or_else(missing)?,
                info: part.ze_info.kernels.get(name.as_str()).ok_or_else(missing)?,
                misc: part.ze_info.misc.get(name.as_str()).copied(),
            })
        })
        .collect()
}

/// Sections in IGC's order: code, symbols, options, metrics, relocations, `.ze_info`, compatibility, names.
fn write(common: &Part<'_>, taken: &[Taken<'_>]) -> Option<Vec<u8>> {
    let mut strings = Strings::default();
    let mut sections: Vec<Section> = taken
        .iter()
        .map(|kernel| Section {
            name: format!("{TEXT}{}", kernel.name),
            kind: SHT_PROGBITS,
            flags: FLAGS_TEXT,
            data: kernel.code.text.to_vec(),
            ..Section::default()
        })
        .collect();
    // Section names come before symbol names in the table.
    for section in &sections {
        strings.add(&section.name)?;
    }
    let symtab = u32::try_from(sections.len() + 1).ok()?;
    let table = Table::of(taken);
    let with_relocations =
        || taken.iter().zip(1u32..).filter(|(kernel, _)| !kernel.code.relocations.is_empty());
    // Symbols, relocations and .ze_info come in between, and what belongs to the module.
    let strtab = sections.len() + 1 + with_relocations().count() + 1 + common.common.len() + 1;
    sections.push(Section {
        name: ".symtab".to_owned(),
        kind: SHT_SYMTAB,
        link: u32::try_from(strtab).ok()?,
        info: table.locals,
        entry_size: SymbolEntry::SIZE,
        ..Section::default()
    });
    let shared = |name: &str, kind: u32| Some(plain(name, kind, common.common.get(name)?.to_vec()));
    sections.extend(shared(OPTIONS, SHT_ZEBIN_MISC.0));
    sections.extend(shared(METRICS, SHT_NOTE));
    for (kernel, target) in with_relocations() {
        sections.push(Section {
            name: format!("{REL}{}", kernel.name),
            kind: SHT_REL,
            link: symtab,
            info: target,
            entry_size: REL_SIZE,
            data: table.relocations(kernel, target)?,
            ..Section::default()
        });
    }
    let info = ze_text::join(common.ze_info.version, taken.iter().map(|kernel| (kernel.info, kernel.misc)));
    sections.push(plain(ZE_INFO, SHT_ZEBIN_ZEINFO.0, info.into_bytes()));
    sections.extend(shared(COMPAT, SHT_NOTE));
    for section in &sections {
        strings.add(&section.name)?;
    }
    strings.add(".strtab")?;
    let symbols = table.bytes(&mut strings)?;
    if let Some(section) = sections.iter_mut().find(|section| section.kind == SHT_SYMTAB) {
        section.data = symbols;
    }
    elf_out::file(common.machine, common.flags, &sections, strings)
}

fn plain(name: &str, kind: u32, data: Vec<u8>) -> Section {
    Section { name: name.to_owned(), kind, data, ..Section::default() }
}

/// The symbols of the module: each kernel's own, then what the driver supplies, each name once.
struct Table<'a> {
    own: Vec<(Symbol<'a>, u16)>,
    /// Kernel's section → index of its first symbol.
    starts: BTreeMap<u32, u32>,
    driver: Vec<Symbol<'a>>,
    /// Entries before the first global one.
    locals: u32,
}

impl<'a> Table<'a> {
    fn of(taken: &[Taken<'a>]) -> Self {
        let mut table = Table { own: Vec::new(), starts: BTreeMap::new(), driver: Vec::new(), locals: 1 };
        for (kernel, section) in taken.iter().zip(1u16..) {
            table.starts.insert(section.into(), table.locals);
            for symbol in &kernel.code.symbols {
                table.own.push((*symbol, section));
                table.locals += 1;
            }
            for relocation in &kernel.code.relocations {
                if let To::Driver(symbol) = relocation.to
                    && !table.driver.iter().any(|known| known.name == symbol.name)
                {
                    table.driver.push(symbol);
                }
            }
        }
        table
    }

    fn relocations(&self, kernel: &Taken<'_>, section: u32) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for relocation in &kernel.code.relocations {
            let symbol = match relocation.to {
                To::Own(index) => self.starts.get(&section)? + u32::try_from(index).ok()?,
                To::Driver(symbol) => {
                    let place = self.driver.iter().position(|known| known.name == symbol.name)?;
                    self.locals + u32::try_from(place).ok()?
                }
            };
            elf_out::write_rel(relocation.offset, relocation.kind, symbol, &mut bytes);
        }
        Some(bytes)
    }

    fn bytes(&self, strings: &mut Strings) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        SymbolEntry::NULL.write(&mut bytes);
        let driver = self.driver.iter().map(|symbol| (*symbol, 0));
        for (symbol, section) in self.own.iter().copied().chain(driver) {
            let Symbol { name, value, size, info, other } = symbol;
            let name = strings.add(name)?;
            SymbolEntry { name, info, other, section, value, size }.write(&mut bytes);
        }
        Some(bytes)
    }
}
