//! clang's offload bundles: `__CLANG_OFFLOAD_BUNDLE__` and its compressed form `CCOB`.
//!
//! Plain: magic, number of entries (u64), then for each offset, size, length of the triple (u64 each) and the triple.
//! Compressed (clang `OffloadBundler.cpp`): magic, version and method (u16 each; 0 zlib, 1 zstd), from version 2 on
//! the size of the whole, then the unpacked size and a hash (u64). Sizes have 32 bits, from version 3 on 64.

use super::{Place, Reader, inflate, slice, u32_at, u64_at};

const MAGIC: usize = b"__CLANG_OFFLOAD_BUNDLE__".len();
const MOST_ENTRIES: u64 = 4096;
const LONGEST_TRIPLE: u64 = 4096;

pub fn read(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    if let Err(what) = entries(reader, bytes, place) {
        reader.problem(place, format!("offload bundle: {what}"));
    }
}

fn entries(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) -> Result<(), String> {
    let cut = || "cut short".to_owned();
    let count = u64_at(bytes, MAGIC).ok_or_else(cut)?;
    if count > MOST_ENTRIES {
        return Err(format!("says it has {count} entries; at most {MOST_ENTRIES} are read"));
    }
    let mut at = MAGIC + 8;
    for index in 0..count {
        let offset = u64_at(bytes, at).ok_or_else(cut)?;
        let size = u64_at(bytes, at + 8).ok_or_else(cut)?;
        let length = u64_at(bytes, at + 16).ok_or_else(cut)?;
        if length > LONGEST_TRIPLE {
            return Err(format!("entry {index} has a name of {length} bytes"));
        }
        let name = slice(bytes, at as u64 + 24, length).ok_or_else(cut)?;
        let name = String::from_utf8_lossy(name).into_owned();
        // `length` is small: see above.
        at += 24 + length as usize;
        let data = slice(bytes, offset, size)
            .ok_or_else(|| format!("entry {name} ({size} bytes at {offset}) lies outside the bundle"))?;
        // Host code is not a device image; an empty entry stands for a target that this object has nothing for.
        if name.starts_with("host") || data.is_empty() {
            continue;
        }
        let mut inner = place.inside(format!("bundle entry {name}"));
        inner.kind = Some(name);
        reader.blob(data, &inner);
    }
    Ok(())
}

pub fn read_compressed(reader: &mut Reader<'_>, bytes: &[u8], place: &Place) {
    match unpack(bytes, reader.budget()) {
        Ok((unpacked, method)) => reader.unpacked(&unpacked, bytes.len(), method, place),
        Err(what) => reader.problem(place, format!("CCOB bundle: {what}")),
    }
}

fn unpack(bytes: &[u8], limit: u64) -> Result<(Vec<u8>, &'static str), String> {
    let cut = || "cut short".to_owned();
    let head = u32_at(bytes, 4).ok_or_else(cut)?;
    let (version, method) = (head & 0xffff, head >> 16);
    let wide = |at: usize| u64_at(bytes, at).ok_or_else(cut);
    let narrow = |at: usize| u32_at(bytes, at).map(u64::from).ok_or_else(cut);
    let (size, unpacked, body) = match version {
        1 => (None, narrow(8)?, 20),
        2 => (Some(narrow(8)?), narrow(12)?, 24),
        3 => (Some(wide(8)?), wide(16)?, 32),
        other => return Err(format!("version {other}; 1 to 3 are known")),
    };
    if unpacked > limit {
        return Err(format!(
            "says that it unpacks to {unpacked} bytes, more than {limit}; --max-unpacked raises the limit"
        ));
    }
    let end = size.unwrap_or(bytes.len() as u64);
    let data = end
        .checked_sub(body)
        .and_then(|length| slice(bytes, body, length))
        .ok_or_else(|| format!("says {end} bytes, has {}", bytes.len()))?;
    let (out, name) = match method {
        0 => (inflate::zlib(data, unpacked)?, "CCOB zlib"),
        1 => (inflate::zstd(data, unpacked)?, "CCOB zstd"),
        other => return Err(format!("compression method {other}; 0 (zlib) and 1 (zstd) are known")),
    };
    if out.len() as u64 != unpacked {
        return Err(format!("unpacks to {} bytes, says {unpacked}", out.len()));
    }
    Ok((out, name))
}
