//! The driver's own kernels (fills and copies on the compute engine): ready-made zebins inside its library.

use std::collections::BTreeSet;
use std::fs;

use object::{Object, ObjectSection};

use super::corpus::Text;
use super::tree::Tree;

/// `EM_INTELGT`, machine of zebin files.
const INTEL_GT: u16 = 205;
/// `IGFX_XE_HPG_CORE`: core family of DG2, in the compatibility note.
const XE_HPG_CORE: u32 = 0xc07;
/// Note types of `.note.intelgt.compat`.
const NOTE_CORE_FAMILY: u32 = 2;

/// Each different text section built for Xe-HPG.
pub fn texts(tree: &Tree) -> Vec<Text> {
    let library = fs::read(tree.library("libze_intel_gpu.so.1")).expect("the driver's library");
    let mut seen = BTreeSet::new();
    let mut texts = Vec::new();
    for offset in starts(&library) {
        let Some(binary) = extent(&library[offset..]) else { continue };
        // A copy, for the reader wants aligned bytes.
        let binary = library[offset..offset + binary].to_vec();
        let Ok(elf) = object::File::parse(&*binary) else { continue };
        let note = elf.section_by_name(".note.intelgt.compat");
        let family = note.and_then(|note| core_family(note.data().ok()?));
        if family != Some(XE_HPG_CORE) {
            continue;
        }
        for section in elf.sections() {
            let (Ok(name), Ok(bytes)) = (section.name(), section.data()) else { continue };
            if let Some(name) = name.strip_prefix(".text.")
                && seen.insert(bytes.to_vec())
            {
                texts.push(Text { name: format!("built-in/{offset:#x}/{name}"), bytes: bytes.to_vec() });
            }
        }
    }
    texts
}

fn starts(library: &[u8]) -> impl Iterator<Item = usize> + '_ {
    library.windows(20).enumerate().filter_map(|(offset, window)| {
        let machine = u16::from_le_bytes([window[18], window[19]]);
        (window.starts_with(b"\x7fELF\x02\x01") && machine == INTEL_GT).then_some(offset)
    })
}

/// Length of the ELF file at the start of `bytes`: its section headers come last.
fn extent(bytes: &[u8]) -> Option<usize> {
    let table = usize::try_from(u64::from_le_bytes(bytes.get(0x28..0x30)?.try_into().ok()?)).ok()?;
    let size = u16::from_le_bytes(bytes.get(0x3a..0x3c)?.try_into().ok()?);
    let count = u16::from_le_bytes(bytes.get(0x3c..0x3e)?.try_into().ok()?);
    let end = table.checked_add(usize::from(size) * usize::from(count))?;
    (end <= bytes.len()).then_some(end)
}

fn core_family(mut note: &[u8]) -> Option<u32> {
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    loop {
        let (name, description, kind) = (word(note, 0)?, word(note, 4)?, word(note, 8)?);
        let at = 12 + (name as usize).next_multiple_of(4);
        if kind == NOTE_CORE_FAMILY {
            return word(note, at);
        }
        note = note.get(at + (description as usize).next_multiple_of(4)..)?;
    }
}
