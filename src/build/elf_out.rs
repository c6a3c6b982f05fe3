//! Writes a relocatable 64-bit little-endian ELF file the way IGC does: section and symbol names in one `.strtab`, no
//! program headers, sections in the order given.

use std::collections::BTreeMap;

const HEADER: usize = 64;
const SECTION_HEADER: u16 = 64;
/// Where sections begin in the file: enough for every structure in them, and for instructions.
const ALIGN: usize = 64;
const SHT_STRTAB: u32 = 3;

/// One section. `name` is unique among sections.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub name: String,
    pub kind: u32,
    pub flags: u64,
    pub link: u32,
    pub info: u32,
    pub entry_size: u64,
    pub data: Vec<u8>,
}

/// Names with their offsets; each is stored once.
#[derive(Debug)]
pub struct Strings {
    bytes: Vec<u8>,
    known: BTreeMap<String, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { bytes: vec![0], known: BTreeMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    /// `None` when the table would pass 4 GiB.
    pub fn add(&mut self, name: &str) -> Option<u32> {
        if let Some(offset) = self.known.get(name) {
            return Some(*offset);
        }
        let offset = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.known.insert(name.to_owned(), offset);
        Some(offset)
    }
}

/// Fields of a symbol table entry.
#[derive(Clone, Copy, Debug)]
pub struct SymbolEntry {
    pub name: u32,
    pub info: u8,
    pub other: u8,
    pub section: u16,
    pub value: u64,
    pub size: u64,
}

impl SymbolEntry {
    pub const SIZE: u64 = 24;
    /// The first entry of every table.
    pub const NULL: Self = SymbolEntry { name: 0, info: 0, other: 0, section: 0, value: 0, size: 0 };

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.name.to_le_bytes());
        to.extend([self.info, self.other]);
        to.extend(self.section.to_le_bytes());
        to.extend(self.value.to_le_bytes());
        to.extend(self.size.to_le_bytes());
    }
}

/// Bytes of a relocation without addend.
pub const REL_SIZE: u64 = 16;

pub fn write_rel(offset: u64, kind: u32, symbol: u32, to: &mut Vec<u8>) {
    to.extend(offset.to_le_bytes());
    to.extend((u64::from(symbol) << 32 | u64::from(kind)).to_le_bytes());
}

/// The file. `.strtab` comes last and is made here; its index is `sections.len() + 1` (section 0 is the null section).
/// `None` when there are too many sections or names for the format.
pub fn file(machine: u16, flags: u32, sections: &[Section], mut strings: Strings) -> Option<Vec<u8>> {
    let strtab = u16::try_from(sections.len() + 1).ok()?;
    let count = strtab.checked_add(1)?;
    let mut names = Vec::with_capacity(sections.len());
    for section in sections {
        names.push(strings.add(&section.name)?);
    }
    let strtab_name = strings.add(".strtab")?;
    let table =
        Section { name: ".strtab".to_owned(), kind: SHT_STRTAB, data: strings.bytes, ..Section::default() };

    let mut file = vec![0; HEADER];
    let mut headers = vec![0; usize::from(SECTION_HEADER)];
    for (section, name) in sections.iter().zip(names).chain([(&table, strtab_name)]) {
        file.resize(file.len().next_multiple_of(ALIGN), 0);
        headers.extend(name.to_le_bytes());
        headers.extend(section.kind.to_le_bytes());
        headers.extend(section.flags.to_le_bytes());
        headers.extend(0u64.to_le_bytes());
        headers.extend((file.len() as u64).to_le_bytes());
        headers.extend((section.data.len() as u64).to_le_bytes());
        headers.extend(section.link.to_le_bytes());
        headers.extend(section.info.to_le_bytes());
        headers.extend(0u64.to_le_bytes());
        headers.extend(section.entry_size.to_le_bytes());
        file.extend(&section.data);
    }
    file.resize(file.len().next_multiple_of(ALIGN), 0);
    let at = file.len() as u64;
    file.extend(headers);

    // e_ident: 64 bits, little-endian, version 1; e_type 1 is "relocatable".
    let mut header = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header.extend(1u16.to_le_bytes());
    header.extend(machine.to_le_bytes());
    header.extend(1u32.to_le_bytes());
    header.extend([0; 16]);
    header.extend(at.to_le_bytes());
    header.extend(flags.to_le_bytes());
    header.extend(64u16.to_le_bytes());
    header.extend([0; 4]);
    header.extend(SECTION_HEADER.to_le_bytes());
    header.extend(count.to_le_bytes());
    header.extend(strtab.to_le_bytes());
    file.splice(..HEADER, header);
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection, ObjectSymbol};

    /// Read back by a reader that is not ours.
    #[test]
    fn another_reader_finds_what_was_written() {
        let mut strings = Strings::default();
        let name = strings.add("start").unwrap();
        let entry = SymbolEntry { name, info: 2, other: 0, section: 1, value: 8, size: 4 };
        let mut symbols = Vec::new();
        SymbolEntry::NULL.write(&mut symbols);
        entry.write(&mut symbols);
        let mut rel = Vec::new();
        write_rel(4, 2, 1, &mut rel);
        let sections = [
            Section { name: ".text.a".into(), kind: 1, flags: 6, data: vec![7; 16], ..Section::default() },
            Section {
                name: ".symtab".into(),
                kind: 2,
                link: 4,
                info: 2,
                entry_size: SymbolEntry::SIZE,
                data: symbols,
                ..Section::default()
            },
            Section {
                name: ".rel.text.a".into(),
                kind: 9,
                link: 2,
                info: 1,
                entry_size: REL_SIZE,
                data: rel,
                ..Section::default()
            },
        ];
        let file = file(0xcd, 5, &sections, strings).unwrap();
        let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*file).unwrap();
        assert_eq!(elf.kind(), object::ObjectKind::Relocatable);
        assert_eq!(elf.elf_header().e_machine.get(object::Endianness::Little).0, 0xcd);
        let text = elf.section_by_name(".text.a").unwrap();
        assert_eq!((text.data().unwrap(), text.index().0), (&[7; 16][..], 1));
        let symbol = elf.symbol_by_name("start").unwrap();
        assert_eq!((symbol.address(), symbol.size(), symbol.section_index().unwrap().0), (8, 4, 1));
        let relocations: Vec<_> = text.relocations().collect();
        assert_eq!(relocations.len(), 1);
        assert_eq!(relocations[0].0, 4);
        assert_eq!(relocations[0].1.target(), object::RelocationTarget::Symbol(object::SymbolIndex(1)));
    }
}
