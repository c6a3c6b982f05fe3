//! Source lines of a zebin's kernels, from the DWARF that IGC writes for `-g` and `-gline-tables-only`.
//!
//! IGC writes a compilation unit for each kernel, with addresses that count from the start of the kernel's `.text.NAME`; the
//! relocations of the debug sections hold those addresses as addends. Which kernel a unit is of, its subprogram says (the
//! relocations' symbols do not: those of the second kernel on have no name).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use gimli::{EndianSlice, SectionId};
use object::elf::RelocationType;
use object::{LittleEndian, Object, ObjectSection, RelocationFlags};

use super::dwarf::units;

type Zebin<'d> = object::read::elf::ElfFile64<'d, LittleEndian>;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As the compiler was told, with the directory that it ran in where that is known.
    pub file: Rc<Path>,
    /// From 1.
    pub line: u64,
}

/// Bytes from the start of the code → the place from there on; `None`: of no line.
pub type Table = BTreeMap<u64, Option<Place>>;

/// What the debug information says of one kernel's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub at: Table,
    /// Bytes of the kernel's `.text.NAME`.
    pub code: u64,
}

/// Kernel → its lines; empty when there is no debug information. An error: there is some and it cannot be read.
pub fn lines(zebin: &[u8]) -> Result<BTreeMap<String, Lines>, String> {
    let elf = Zebin::parse(zebin).map_err(|e| e.to_string())?;
    let mut kernels: BTreeMap<&str, u64> = BTreeMap::new();
    for section in elf.sections() {
        if let Some(kernel) = section.name().ok().and_then(|name| name.strip_prefix(".text.")) {
            kernels.insert(kernel, section.size());
        }
    }
    let sections: gimli::DwarfSections<Cow<'_, [u8]>> =
        gimli::DwarfSections::load(|id: SectionId| section(&elf, id.name()))?;
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, gimli::LittleEndian));
    let mut of_kernels = BTreeMap::new();
    for unit in units(&dwarf, &kernels).map_err(|why| format!("debug information: {why}"))? {
        // Addresses count from the start of one kernel: of two, or of two units of one kernel, none can be told to be right.
        let mut table = (unit.kernels.len() == 1).then_some(unit.table);
        for kernel in unit.kernels {
            let told = if of_kernels.contains_key(kernel) { None } else { table.take() };
            of_kernels.insert(kernel, told);
        }
    }
    let told = of_kernels.into_iter().filter_map(|(kernel, table)| Some((kernel, table?)));
    Ok(told
        .map(|(kernel, at)| {
            let code = kernels.get(kernel).copied().unwrap_or_default();
            (kernel.to_owned(), Lines { at, code })
        })
        .collect())
}

/// The bytes of a debug section, relocated.
fn section<'d>(elf: &Zebin<'d>, name: &str) -> Result<Cow<'d, [u8]>, String> {
    let Some(section) = elf.section_by_name(name) else { return Ok(Cow::Borrowed(&[])) };
    let bytes = section.data().map_err(|e| format!("{name}: {e}"))?;
    let relocations = section.relocations().map(|(offset, r)| (offset, r.flags(), r.addend()));
    relocated(bytes, relocations).map_err(|why| format!("{name}: {why}"))
}

/// `bytes` with each (offset, kind, value) put in. There are at most as many as there are places for: sections of relocations
/// may be chained without an end.
fn relocated(
    bytes: &[u8],
    relocations: impl Iterator<Item = (u64, RelocationFlags, i64)>,
) -> Result<Cow<'_, [u8]>, String> {
    let mut room = bytes.len();
    let mut bytes = Cow::Borrowed(bytes);
    for (offset, flags, value) in relocations {
        // R_ZE_SYM_ADDR and R_ZE_SYM_ADDR_32 (zebin specification); every symbol's value is 0.
        let width = match flags {
            RelocationFlags::Elf { r_type: RelocationType(1) } => 8,
            RelocationFlags::Elf { r_type: RelocationType(2) } => 4,
            other => return Err(format!("a relocation of an unknown kind ({other:?})")),
        };
        room = room.checked_sub(width).ok_or("more relocations than it has places")?;
        let value = value.to_le_bytes();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let place = bytes.to_mut().get_mut(start..start.saturating_add(width));
        let (Some(place), Some(value)) = (place, value.get(..width)) else {
            return Err(format!("a relocation at {offset:#x}, outside of it"));
        };
        place.copy_from_slice(value);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_relocated_once_at_most() {
        let of = |kind, offset| (offset, RelocationFlags::Elf { r_type: RelocationType(kind) }, 0x0102);
        let told = |list: &[(u64, RelocationFlags, i64)]| relocated(&[9; 12], list.iter().copied());
        let both = told(&[of(1, 0), of(2, 8)]).unwrap();
        assert_eq!(both[..], [2, 1, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0]);
        assert!(told(&[of(1, 0), of(1, 0)]).unwrap_err().contains("more relocations"));
        assert!(told(&[of(1, 8)]).unwrap_err().contains("outside"));
        assert!(told(&[of(3, 0)]).unwrap_err().contains("unknown kind"));
    }
}
