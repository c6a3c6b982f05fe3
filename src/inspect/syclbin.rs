//! SYCLBIN, what DPC++ writes for a kernel bundle (`sycl_ext_oneapi_syclbin`, design document "SYCLBIN").
//!
//! Header: magic and version (u32 each); numbers of abstract modules, IR modules and native images (u32 each, padded
//! to eight bytes); sizes of the two tables, offset and size of the global metadata (u64 each). Then the headers: of
//! an abstract module 32 bytes, of an IR module and of a native image four u64 each (metadata offset and size, raw
//! bytes' offset and size). Then the metadata table, padded to eight bytes, and the table of raw bytes.

use super::{Place, Reader, slice, u32_at, u64_at};

pub const MAGIC: &[u8; 4] = b"IBYS";
const HEADER: u64 = 56;
const ABSTRACT: u64 = 32;
const ENTRY: u64 = 32;
const MOST: u64 = 1 << 16;

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    if let Err(what) = entries(reader, bytes, place) {
        reader.problem(place, format!("SYCLBIN: {what}"));
    }
}

fn entries(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) -> Result<(), String> {
    let cut = || "cut short".to_owned();
    let version = u32_at(bytes, 4).ok_or_else(cut)?;
    if version != 1 {
        return Err(format!("version {version}; 1 is known"));
    }
    let count = |at: usize| u32_at(bytes, at).map(u64::from).ok_or_else(cut);
    let (modules, ir, native) = (count(8)?, count(12)?, count(16)?);
    if modules.max(ir).max(native) > MOST {
        return Err(format!("{modules} modules, {ir} IR modules, {native} native images"));
    }
    let (metadata, raw) = (u64_at(bytes, 24).ok_or_else(cut)?, u64_at(bytes, 32).ok_or_else(cut)?);
    let first = HEADER + modules * ABSTRACT;
    let tables = first + (ir + native) * ENTRY;
    let raw_at =
        tables.checked_add(metadata).and_then(|at| at.checked_next_multiple_of(8)).ok_or_else(cut)?;
    let raw_table = slice(bytes, raw_at, raw).ok_or_else(cut)?;
    for index in 0..ir + native {
        let entry = slice(bytes, first + index * ENTRY, ENTRY).ok_or_else(cut)?;
        let (offset, size) = (u64_at(entry, 16).unwrap_or(0), u64_at(entry, 24).unwrap_or(0));
        let word = if index < ir { "IR module" } else { "native image" };
        let mut inner = place.inside(format!("SYCLBIN {word} {index}"));
        inner.group = Some(reader.images.len());
        match slice(raw_table, offset, size) {
            Some(data) => reader.blob(data, &inner),
            None => reader.problem(&inner, format!("{size} bytes at {offset} lie outside the table")),
        }
    }
    Ok(())
}
