//! Faults, aborts, hangs, accepted keys, and messages that are kept as they are.
//!
//! Sources: compute-runtime, drm_neo.cpp, debug_helpers.cpp, debug_settings_manager.cpp.

use crate::logs::scan::Cursor;
use crate::logs::text;
use crate::model::facts::GpuFault;
use crate::model::repro::Phase;

/// A phase marker of the reproducer. Consumes the name and what pads it.
pub(super) fn phase(c: &mut Cursor) -> Option<Phase> {
    let phase = Phase::from_marker(c.rest())?;
    c.literal(crate::model::repro::PHASE_MARKER.as_bytes())?;
    c.take_while(|b| b.is_ascii_lowercase() || b == b'_');
    c.take_while(|b| b == b' ' || b == b'=');
    Some(phase)
}

/// `Segmentation fault from GPU at 0x%llx, ctx_id: %u (%s) type: %d (%s), level: %d (%s), access: %d (%s), banned: %d`.
pub(super) fn gpu_fault(c: &mut Cursor) -> Option<GpuFault> {
    c.literal(b"Segmentation fault from GPU at 0x")?;
    let address = c.hex()?;
    c.literal(b", ctx_id: ")?;
    let context = c.u64()?;
    c.literal(b" (")?;
    c.until(b") type: ")?;
    let kind = numbered(c)?;
    c.literal(b", level: ")?;
    let level = numbered(c)?;
    c.literal(b", access: ")?;
    let access = numbered(c)?;
    c.literal(b", banned: ")?;
    let banned = c.u64()? != 0;
    c.maybe(b", aborting.");
    Some(GpuFault { address, context, kind, level, access, banned })
}

/// `%d (%s)`.
fn numbered(c: &mut Cursor) -> Option<String> {
    c.i64()?;
    c.literal(b" (")?;
    Some(text(c.until(b")")?))
}

/// `Abort was called at %d line in file:`; the file is the next line.
pub(super) fn abort(c: &mut Cursor) -> Option<u64> {
    c.literal(b"Abort was called at ")?;
    let line = c.u64()?;
    c.literal(b" line in file:")?;
    Some(line)
}

/// The base name, if the line is a source path: the directories are the packager's.
pub(super) fn source_file(line: &[u8]) -> Option<String> {
    const SUFFIXES: [&[u8]; 4] = [b".cpp", b".h", b".inl", b".c"];
    let line = line.trim_ascii();
    let known = SUFFIXES.iter().any(|s| line.ends_with(s)) && !line.contains(&b' ');
    let base = line.rsplit(|&b| b == b'/' || b == b'\\').next()?;
    known.then(|| text(base))
}

/// `Non-default value of debug variable: %s = %s`. Consumes the rest of the line.
pub(super) fn key<'a>(c: &mut Cursor<'a>) -> Option<(&'a [u8], &'a [u8])> {
    c.literal(b"Non-default value of debug variable: ")?;
    let name = c.until(b" = ")?;
    if name.is_empty() {
        return None;
    }
    Some((name, c.take_while(|_| true)))
}

/// Messages that say the driver noticed a hang.
pub(super) fn is_hang(text: &[u8]) -> bool {
    text.starts_with(b"ERROR: GPU HANG detected!") || text.starts_with(b"Error! GPU hang detected in ")
}

/// Starts of messages that are kept whole, since a person may need them.
pub(super) const KEPT: [&[u8]; 18] = [
    b"WARNING: ",
    b"ERROR: ",
    b"Error! ",
    b"FATAL: ",
    b"INFO: ",
    b"Shared System USM NOT allowed",
    b"Compiler Library ",
    b"Installed Compiler Library ",
    b"NEO_CACHE_PERSISTENT is enabled.",
    b"Size of SLM (",
    b"Failed to allocate private surface of ",
    b"Missing override for ",
    b"EXT_SET_PAT support is: ",
    b"Completion fence supported: ",
    b"DeviceBinaryFormat::",
    b"Using PCI barrier ptr",
    b"Unknown device: ",
    b"Unhandle GT Topo type",
];

/// Starts of lines that are known and only counted: execution buffers, fences, reports.
pub(super) const COUNTED: [&[u8]; 10] = [
    b"Exec called with drmVmId = ",
    b"ExecBufferXe ",
    b"drm_i915_gem_execbuffer2 { ",
    b"Buffer Object = { ",
    b"Command Buffer Object = { ",
    b"Buffer object for submit",
    b"Completion fence ",
    b"=== Allocation Summary Report ===",
    b"=== Peak Live Memory ===",
    b"numberHwEngines=",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_are_cut_too() {
        assert_eq!(source_file(b"C:\\neo\\source\\os_interface.cpp").as_deref(), Some("os_interface.cpp"));
        assert_eq!(source_file(b"Aborted (core dumped)"), None);
    }
}
