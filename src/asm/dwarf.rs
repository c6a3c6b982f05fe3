//! Line tables of DWARF units, read within bounds: the image that they come from need not be well meant.
//!
//! Few bytes can ask for much: units that share a table, entries that share a long name. Each table is read once, and
//! names and attributes are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use gimli::{DebugAbbrev, EndianSlice, LittleEndian, Section};

use super::lines::{Place, Table};

pub(super) type Read<'d> = EndianSlice<'d, LittleEndian>;

/// Bytes of `.debug_line`: those of ten thousand kernels, at a hundred rows each, have less.
const LARGEST_TABLES: usize = 8 << 20;
/// Bytes of names, and attributes, that are looked at.
const MOST_WORK: usize = 1 << 28;
/// Source files of a module, and bytes of a path: 64 MiB together.
const MOST_FILES: usize = 1 << 14;
const LONGEST_PATH: usize = 4096;

/// The names that a unit gives its code, of those that were asked for, and its line table.
pub(super) struct Unit<'k> {
    pub kernels: BTreeSet<&'k str>,
    pub table: Table,
}

/// The units that have code of one of `kernels`.
pub(super) fn units<'k>(
    dwarf: &gimli::Dwarf<Read<'_>>,
    kernels: &BTreeMap<&'k str, u64>,
) -> Result<Vec<Unit<'k>>, String> {
    let tables = dwarf.debug_line.reader().len();
    if tables > LARGEST_TABLES {
        return Err(format!("line tables of {tables} bytes, at most {LARGEST_TABLES} are read"));
    }
    let abbreviations = abbreviations(dwarf)?;
    let mut bounds = Bounds { tables, work: MOST_WORK, files: BTreeSet::new() };
    let mut found = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().map_err(damaged)? {
        let Some(known) = abbreviations.get(&header.debug_abbrev_offset().0) else { continue };
        let unit = gimli::Unit::new_with_abbreviations(dwarf, header, Arc::clone(known)).map_err(damaged)?;
        if let Some(program) = &unit.line_program {
            spend(&mut bounds.tables, program.header().unit_length())?;
        }
        let kernels = named(dwarf, &unit, kernels, &mut bounds)?;
        if !kernels.is_empty() {
            found.push(Unit { kernels, table: table(dwarf, &unit, &mut bounds)? });
        }
    }
    Ok(found)
}

/// What may still be read.
struct Bounds {
    /// Bytes of line tables: together they are no larger than their section, as no two units share one.
    tables: usize,
    work: usize,
    files: BTreeSet<Rc<Path>>,
}

fn spend(left: &mut usize, amount: usize) -> Result<(), String> {
    *left = left.checked_sub(amount).ok_or("its parts refer to each other too often")?;
    Ok(())
}

fn damaged(error: gimli::Error) -> String {
    error.to_string()
}

/// The abbreviations at each offset that a unit names, up to the next such offset.
fn abbreviations(
    dwarf: &gimli::Dwarf<Read<'_>>,
) -> Result<BTreeMap<usize, Arc<gimli::Abbreviations>>, String> {
    let mut offsets = BTreeSet::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().map_err(damaged)? {
        offsets.insert(header.debug_abbrev_offset().0);
    }
    let bytes = dwarf.debug_abbrev.reader().slice();
    let mut found = BTreeMap::new();
    let ends = offsets.iter().skip(1).copied().chain([bytes.len()]);
    for (start, end) in offsets.iter().copied().zip(ends) {
        let bytes = bytes.get(start..end).ok_or("abbreviations outside of their section")?;
        let read = DebugAbbrev::new(bytes, LittleEndian).abbreviations(gimli::DebugAbbrevOffset(0));
        found.insert(start, Arc::new(read.map_err(damaged)?));
    }
    Ok(found)
}

/// Which of `kernels` the unit has code of.
fn named<'k>(
    dwarf: &gimli::Dwarf<Read<'_>>,
    unit: &gimli::Unit<Read<'_>>,
    kernels: &BTreeMap<&'k str, u64>,
    bounds: &mut Bounds,
) -> Result<BTreeSet<&'k str>, String> {
    let mut found = BTreeSet::new();
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs().map_err(damaged)? {
        spend(&mut bounds.work, entry.attrs().len())?;
        // Without an address it is the abstract form of a function that went into others.
        if entry.tag() != gimli::DW_TAG_subprogram || !entry.has_attr(gimli::DW_AT_low_pc) {
            continue;
        }
        for attribute in [gimli::DW_AT_name, gimli::DW_AT_linkage_name] {
            let Some(value) = entry.attr_value(attribute) else { continue };
            let name = string(dwarf, unit, value, bounds)?;
            let kernel = std::str::from_utf8(name.slice()).ok().and_then(|name| kernels.get_key_value(name));
            found.extend(kernel.map(|(kernel, _)| *kernel));
        }
    }
    Ok(found)
}

fn string<'d>(
    dwarf: &gimli::Dwarf<Read<'d>>,
    unit: &gimli::Unit<Read<'d>>,
    value: gimli::AttributeValue<Read<'d>>,
    bounds: &mut Bounds,
) -> Result<Read<'d>, String> {
    let string = dwarf.attr_string(unit, value).map_err(damaged)?;
    spend(&mut bounds.work, string.len())?;
    Ok(string)
}

fn table(
    dwarf: &gimli::Dwarf<Read<'_>>,
    unit: &gimli::Unit<Read<'_>>,
    bounds: &mut Bounds,
) -> Result<Table, String> {
    let mut table = Table::new();
    let Some(program) = unit.line_program.clone() else { return Ok(table) };
    let mut files: BTreeMap<u64, Rc<Path>> = BTreeMap::new();
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row().map_err(damaged)? {
        if row.end_sequence() {
            // Code that follows may have its own place already.
            table.entry(row.address()).or_insert(None);
            continue;
        }
        let mut place = None;
        if let (Some(line), Some(entry)) = (row.line(), row.file(header)) {
            let file = match files.get(&row.file_index()) {
                Some(file) => Rc::clone(file),
                None => {
                    let directory = entry.directory(header);
                    let file = file(dwarf, unit, [directory, Some(entry.path_name())], bounds)?;
                    files.insert(row.file_index(), Rc::clone(&file));
                    file
                }
            };
            place = Some(Place { file, line: line.get() });
        }
        table.insert(row.address(), place);
    }
    Ok(table)
}

/// The path that `parts` make up in the directory that the compiler ran in; the same path is kept once.
fn file(
    dwarf: &gimli::Dwarf<Read<'_>>,
    unit: &gimli::Unit<Read<'_>>,
    parts: [Option<gimli::AttributeValue<Read<'_>>>; 2],
    bounds: &mut Bounds,
) -> Result<Rc<Path>, String> {
    let mut path = PathBuf::new();
    if let Some(directory) = unit.comp_dir {
        path.push(directory.to_string_lossy().as_ref());
    }
    for part in parts.into_iter().flatten() {
        path.push(string(dwarf, unit, part, bounds)?.to_string_lossy().as_ref());
    }
    if let Some(known) = bounds.files.get(path.as_path()) {
        return Ok(Rc::clone(known));
    }
    if path.as_os_str().len() > LONGEST_PATH || bounds.files.len() >= MOST_FILES {
        return Err(format!("more than {MOST_FILES} source files, or a path above {LONGEST_PATH} bytes"));
    }
    let path: Rc<Path> = path.into();
    bounds.files.insert(Rc::clone(&path));
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit without children whose line table is at `table`; the abbreviation below.
    fn unit(table: u8) -> Vec<u8> {
        let body = [&[4, 0][..], &[0, 0, 0, 0], &[8], &[1], &[table, 0, 0, 0]].concat();
        [&[body.len() as u8, 0, 0, 0][..], &body].concat()
    }

    /// A line table without rows, of 15 bytes after its length.
    const TABLE: [u8; 19] = [15, 0, 0, 0, 4, 0, 9, 0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0];
    /// 1: DW_TAG_compile_unit, no children, DW_AT_stmt_list as DW_FORM_sec_offset.
    const ABBREVIATION: [u8; 8] = [1, 0x11, 0, 0x10, 0x17, 0, 0, 0];

    fn read(info: &[u8]) -> Result<usize, String> {
        let line = [TABLE, TABLE].concat();
        let dwarf = gimli::Dwarf::load(|id| {
            let bytes: &[u8] = match id {
                gimli::SectionId::DebugInfo => info,
                gimli::SectionId::DebugAbbrev => &ABBREVIATION,
                gimli::SectionId::DebugLine => &line,
                _ => &[],
            };
            Ok::<_, gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        });
        units(&dwarf.map_err(damaged)?, &BTreeMap::new()).map(|units| units.len())
    }

    #[test]
    fn a_table_is_read_for_one_unit_not_for_all_that_name_it() {
        assert_eq!(read(&[unit(0), unit(19)].concat()), Ok(0));
        let shared = read(&[unit(0), unit(0), unit(0)].concat());
        assert_eq!(shared, Err("its parts refer to each other too often".to_owned()));
    }
}
