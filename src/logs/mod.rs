//! Log parsers: bytes in, [`crate::model::facts`] out.
//!
//! All of them take lines, keep no text beyond the facts, bound every collection, and never fail on input: what they
//! cannot read is counted. Formats by release are described where each line is parsed.

pub mod input;
pub mod kmsg;
pub mod lines;
pub mod neo;
pub mod runtime;
mod scan;
pub mod strace;
pub mod xe_trace;
pub mod ze_api;

/// Adds one to a counter of a map with text keys, unless the map is full: then the loss is counted.
fn count(map: &mut std::collections::BTreeMap<String, u64>, key: &[u8], limit: usize, dropped: &mut u64) {
    let key = text(key);
    if let Some(n) = map.get_mut(key.as_str()) {
        *n += 1;
    } else if map.len() < limit {
        map.insert(key, 1);
    } else {
        *dropped += 1;
    }
}

/// Longest text kept from a log as one value.
const MAX_TEXT: usize = 240;

/// Text for a fact: cut, and with invalid UTF-8 replaced.
fn text(bytes: &[u8]) -> String {
    let cut = bytes.get(..MAX_TEXT).unwrap_or(bytes);
    String::from_utf8_lossy(cut).trim_end().to_owned()
}

/// "EPERM" for 1; "errno 4711" for what Linux does not know.
pub fn errno_name(number: i32) -> String {
    match nix::errno::Errno::from_raw(number) {
        nix::errno::Errno::UnknownErrno => format!("errno {number}"),
        known => format!("{known:?}"),
    }
}

/// Addresses of the driver are canonical (bit 47 sign-extended), those of the kernel are not.
pub(crate) fn to_48_bits(address: u64) -> u64 {
    address & 0xffff_ffff_ffff
}
