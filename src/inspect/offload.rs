//! LLVM's offload binary, what clang's new offloading driver puts into `.llvm.offloading`.
//!
//! Layout after `llvm/Object/OffloadBinary.h`: magic, version (u32), size (u64); then, in version 1, offset and size of the
//! entry, in version 2 offset and number of entries. An entry is image kind, offload kind (u16 each), flags (u32), offset
//! and number of strings, offset and size of the image (u64 each). A string is a pair of offsets. All offsets count from
//! the start of the binary. Several binaries may follow each other, padded to 8 bytes.

use super::{Place, Reader, c_string, slice, u32_at, u64_at};

/// A binary names few strings (triple, arch…).
const MOST_STRINGS: u64 = 64;
const MOST_ENTRIES: u64 = 4096;

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    let mut rest = bytes;
    while rest.starts_with(&[0x10, 0xff, 0x10, 0xad]) {
        let size = match one(reader, rest, place) {
            Ok(size) => size,
            Err(what) => return reader.problem(place, format!("offload binary: {what}")),
        };
        let Some(next) = size.checked_next_multiple_of(8).and_then(|s| usize::try_from(s).ok()) else {
            return;
        };
        rest = rest.get(next..).unwrap_or_default();
    }
}

fn one(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) -> Result<u64, String> {
    let cut = || "cut short".to_owned();
    let version = u32_at(bytes, 4).ok_or_else(cut)?;
    let size = u64_at(bytes, 8).ok_or_else(cut)?;
    let start = u64_at(bytes, 16).ok_or_else(cut)?;
    let second = u64_at(bytes, 24).ok_or_else(cut)?;
    let whole = slice(bytes, 0, size).ok_or_else(|| format!("says {size} bytes, has {}", bytes.len()))?;
    if size < 32 {
        return Err(format!("says {size} bytes, less than its header"));
    }
    let entries = match version {
        1 => 1,
        2 => second,
        other => return Err(format!("version {other}; 1 and 2 are known")),
    };
    if entries > MOST_ENTRIES {
        return Err(format!("{entries} entries"));
    }
    for index in 0..entries {
        let at = start.saturating_add(index * 40);
        let entry = slice(whole, at, 40).ok_or_else(|| format!("entry {index} lies outside"))?;
        let field = |n: usize| u64_at(entry, 8 + 8 * n).unwrap_or(0);
        let (strings, count, image, length) = (field(0), field(1), field(2), field(3));
        let mut inner = place.inside("offload binary");
        let mut triple = None;
        for n in 0..count.min(MOST_STRINGS) {
            let Some(pair) = slice(whole, strings.saturating_add(16 * n), 16) else { break };
            let text = |at: usize| {
                let offset = usize::try_from(u64_at(pair, at)?).ok()?;
                whole.get(offset..).map(c_string)
            };
            match (text(0).as_deref(), text(8)) {
                (Some("triple"), value) => triple = value,
                (Some("compile-opts"), value) => inner.compile_options = value,
                (Some("link-opts"), value) => inner.link_options = value,
                _ => {}
            }
        }
        inner.kind = triple.or(inner.kind);
        let data = slice(whole, image, length).ok_or_else(|| format!("image {index} lies outside"))?;
        reader.blob(data, &inner);
    }
    Ok(size)
}
