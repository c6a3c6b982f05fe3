//! What has to be known of an ELF file: is it whole, what is it called, what does it need, which glibc.

use std::fmt;
use std::fs::File;
use std::path::Path;

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, ReadCache};

use super::DriverError;

/// `GLIBC_2.43` as (2, 43); ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GlibcVersion(pub u32, pub u32);

impl GlibcVersion {
    fn from_symbol_version(name: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?;
        let mut parts = text.split('.');
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(GlibcVersion(major, minor))
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Facts of one x86-64 ELF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elf {
    /// GNU build-id, hex.
    pub build_id: Option<String>,
    pub soname: Option<String>,
    /// DT_NEEDED, in order.
    pub needed: Vec<String>,
    /// Highest GLIBC_x.y that the file defines (the C library itself).
    pub glibc_defined: Option<GlibcVersion>,
    /// Highest GLIBC_x.y that the file asks for.
    pub glibc_needed: Option<GlibcVersion>,
    /// PT_INTERP is there: started through a dynamic loader.
    pub has_interpreter: bool,
    /// Exports what a Level Zero driver exports, and is not the Level Zero loader.
    pub level_zero_driver: bool,
}

/// Reads the file's headers, dynamic section and versions. Errors: not ELF, not x86-64, shorter than its headers say.
pub fn inspect(path: &Path) -> Result<Elf, DriverError> {
    let file = File::open(path).map_err(DriverError::io(path, "could not be opened"))?;
    let length = file.metadata().map_err(DriverError::io(path, "could not be read"))?.len();
    let cache = ReadCache::new(file);
    facts(&cache, length).map_err(|reason| DriverError::BadElf { path: path.to_owned(), reason })
}

fn facts(data: &ReadCache<File>, length: u64) -> Result<Elf, String> {
    let text = |error: object::read::Error| error.to_string();
    let header = FileHeader64::<LittleEndian>::parse(data).map_err(|_| {
        if length < 64 { format!("not an ELF file ({length} bytes)") } else { "not an ELF file".to_owned() }
    })?;
    let endian = header.endian().map_err(text)?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Err("an ELF file, but not for x86-64".to_owned());
    }
    whole(header, endian, data, length)?;

    let mut facts = Elf::default();
    for segment in header.program_headers(endian, data).map_err(text)? {
        facts.has_interpreter |= segment.p_type(endian) == elf::PT_INTERP;
        if let Some(mut notes) = segment.notes(endian, data).map_err(text)? {
            while let Some(note) = notes.next().map_err(text)? {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                    facts.build_id = Some(super::hash::hex(note.desc()));
                }
            }
        }
    }
    let sections = header.sections(endian, data).map_err(text)?;
    if let Some((entries, strings_index)) = sections.dynamic(endian, data).map_err(text)? {
        let strings = sections.strings(endian, data, strings_index).map_err(text)?;
        let name = |entry: &elf::Dyn64<LittleEndian>| -> Option<String> {
            let offset = u32::try_from(entry.d_val(endian)).ok()?;
            Some(String::from_utf8_lossy(strings.get(offset).ok()?).into_owned())
        };
        for entry in entries {
            match entry.d_tag(endian) {
                tag if tag == elf::DT_NEEDED => facts.needed.extend(name(entry)),
                tag if tag == elf::DT_SONAME => facts.soname = name(entry),
                _ => {}
            }
        }
    }
    if let Some((mut definitions, link)) = sections.gnu_verdef(endian, data).map_err(text)? {
        let strings = sections.strings(endian, data, link).map_err(text)?;
        while let Some((_, mut names)) = definitions.next().map_err(text)? {
            if let Some(name) = names.next().map_err(text)? {
                let name = name.name(endian, strings).map_err(text)?;
                facts.glibc_defined = facts.glibc_defined.max(GlibcVersion::from_symbol_version(name));
            }
        }
    }
    if let Some((mut needs, link)) = sections.gnu_verneed(endian, data).map_err(text)? {
        let strings = sections.strings(endian, data, link).map_err(text)?;
        while let Some((_, mut names)) = needs.next().map_err(text)? {
            while let Some(name) = names.next().map_err(text)? {
                let name = name.name(endian, strings).map_err(text)?;
                facts.glibc_needed = facts.glibc_needed.max(GlibcVersion::from_symbol_version(name));
            }
        }
    }
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).map_err(text)?;
    let exports = |wanted: &[u8]| {
        symbols.iter().any(|symbol| {
            !symbol.is_undefined(endian)
                && symbols.symbol_name(endian, symbol).is_ok_and(|name| name == wanted)
        })
    };
    // The loader and its layers have the driver's tables too. Only a driver and the loader have zeInit, only the
    // loader has zeLoaderInit.
    facts.level_zero_driver =
        exports(b"zeGetGlobalProcAddrTable") && exports(b"zeInit") && !exports(b"zeLoaderInit");
    Ok(facts)
}

/// A copy that was cut short still has a good header: compare the ends of everything with the file's length.
fn whole(
    header: &FileHeader64<LittleEndian>,
    endian: LittleEndian,
    data: &ReadCache<File>,
    length: u64,
) -> Result<(), String> {
    let cut = |end: u64| format!("cut short: {length} bytes, but its headers speak of {end}");
    let headers_end = header
        .e_shoff(endian)
        .saturating_add(u64::from(header.e_shnum(endian)) * u64::from(header.e_shentsize(endian)));
    if headers_end > length {
        return Err(cut(headers_end));
    }
    for segment in header.program_headers(endian, data).map_err(|error| error.to_string())? {
        let end = segment.p_offset(endian).saturating_add(segment.p_filesz(endian));
        if end > length {
            return Err(cut(end));
        }
    }
    for section in header.section_headers(endian, data).map_err(|error| error.to_string())? {
        if section.sh_type(endian) != elf::SHT_NOBITS {
            let end = section.sh_offset(endian).saturating_add(section.sh_size(endian));
            if end > length {
                return Err(cut(end));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let parse = |name: &[u8]| GlibcVersion::from_symbol_version(name);
        assert_eq!(parse(b"GLIBC_2.2.5"), Some(GlibcVersion(2, 2)));
        assert!(parse(b"GLIBC_2.36") < parse(b"GLIBC_2.43"));
        assert!(parse(b"GLIBC_2.9") < parse(b"GLIBC_2.10"));
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GLIBCXX_3.4"), None);
    }

    #[test]
    fn own_program_is_understood_and_a_cut_copy_is_refused() {
        let exe = std::env::current_exe().expect("own path");
        let facts = inspect(&exe).expect("own program");
        assert!(facts.has_interpreter);
        assert!(facts.needed.iter().any(|name| name.starts_with("libc.so")), "{:?}", facts.needed);
        assert!(facts.glibc_needed >= Some(GlibcVersion(2, 2)));
        assert!(!facts.level_zero_driver);

        let directory = tempfile::tempdir().expect("tempdir");
        let cut = directory.path().join("cut");
        let bytes = std::fs::read(&exe).expect("read");
        std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("write");
        let error = inspect(&cut).expect_err("half a file").to_string();
        assert!(error.contains("cut short"), "{error}");
        std::fs::write(&cut, b"!<arch>\nnot elf").expect("write");
        assert!(inspect(&cut).expect_err("no ELF").to_string().contains("not an ELF file"));
    }
}
