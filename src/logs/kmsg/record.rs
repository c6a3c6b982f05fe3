//! What one kernel record of xe or i915 says.
//!
//! Sources: Linux, drivers/gpu/drm/xe (xe_guc_submit.c, xe_gt_pagefault.c, xe_vm.c, xe_devcoredump.c) and i915
//! (i915_gpu_error.c, gt/intel_reset.c, i915_sw_fence.c), wordings of 4.x to 6.18.

use crate::logs::scan::Cursor;
use crate::logs::{errno_name, text, to_48_bits};
use crate::model::facts::KernelFault;

/// The record of a graphics driver, without stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// "0000:c3:00.0"; old i915 lines have none.
    pub device: Option<&'a [u8]>,
    /// Without "[drm]", tile and GT.
    pub message: &'a [u8],
    /// It is no more than a driver, tile and GT: the head of a block whose lines follow.
    pub head_only: bool,
}

/// `None` = not of xe, i915 or DRM.
pub(super) fn split(body: &[u8]) -> Option<Record<'_>> {
    let mut c = Cursor::new(body);
    let mut device = None;
    if c.starts(b"Fence expiration time out i915-") {
        let mut name = c;
        name.until(b"i915-")?;
        return Some(Record { device: pci(&mut name), message: body, head_only: false });
    }
    if c.maybe(b"xe ") || c.maybe(b"i915 ") {
        device = Some(pci(&mut c)?);
        c.literal(b":")?;
        c.spaces();
        c.maybe(b"[drm] ");
        if c.rest() == b"[drm]" {
            c.maybe(b"[drm]");
        }
        // drm_dbg: "[drm:function [xe]] ".
        if c.starts(b"[drm:") {
            c.until(b"] ")?;
        }
    } else {
        c.literal(b"[drm] ")?;
    }
    c.maybe(b"*ERROR* ");
    loop {
        let before = c;
        if !(c.maybe(b"Tile") || c.maybe(b"GT")) || c.u64().is_none() || !c.maybe(b":") {
            c = before;
            break;
        }
        c.spaces();
    }
    c.maybe(b"GUC: ");
    c.maybe(b"*ERROR* ");
    Some(Record {
        device,
        message: c.rest(),
        head_only: device.is_some() && c.rest().trim_ascii().is_empty(),
    })
}

/// `dddd:bb:dd.f`, hexadecimal.
fn pci<'a>(c: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let all = c.rest();
    let mut at = *c;
    at.hex()?;
    at.literal(b":")?;
    at.hex()?;
    at.literal(b":")?;
    at.hex()?;
    at.literal(b".")?;
    at.hex()?;
    let length = all.len() - at.rest().len();
    *c = at;
    all.get(..length)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Errno name.
    FaultResponse(String),
    EngineReset,
    TimedOutJob,
    CatError,
    Coredump,
    /// Errno name.
    VmWorkerError(String),
    QueueResetDetected,
    BannedUse,
    GpuHang,
    ContextReset,
    ChipReset,
    FailedReset,
    FenceTimeout,
    /// "i915/tgl_guc_70.bin 70.13.1". Not an error.
    Guc(String),
    Other,
}

pub(super) fn classify(message: &[u8]) -> Kind {
    let mut c = Cursor::new(message);
    let has = |needle: &[u8]| memchr::memmem::find(message, needle).is_some();
    if c.maybe(b"Fault response: Unsuccessful ") {
        return Kind::FaultResponse(errno(&mut c));
    }
    if c.maybe(b"VM worker error: ") {
        return Kind::VmWorkerError(errno(&mut c));
    }
    let starts = |literal: &[u8]| message.starts_with(literal);
    if starts(b"Engine reset: ") || (starts(b"Resetting ") && (has(b" after gpu hang") || has(b" for "))) {
        return if starts(b"Resetting chip") { Kind::ChipReset } else { Kind::EngineReset };
    }
    if starts(b"Timedout job: ")
        || starts(b"VM job timed out on non-killed execqueue")
        || starts(b"Kernel-submitted job timed out")
    {
        return Kind::TimedOutJob;
    }
    if starts(b"Engine memory CAT error") {
        return Kind::CatError;
    }
    if starts(b"Xe device coredump has been created") {
        return Kind::Coredump;
    }
    if starts(b"exec queue reset detected") {
        return Kind::QueueResetDetected;
    }
    if starts(b"Ioctl argument check failed at ") && (has(b"BANNED") || has(b"banned")) {
        return Kind::BannedUse;
    }
    if starts(b"GPU HANG: ") {
        return Kind::GpuHang;
    }
    if has(b" context reset due to GPU hang") {
        return Kind::ContextReset;
    }
    if has(b"reset request timed out")
        || starts(b"Engine reset failed on ")
        || (starts(b"Suspend fence, ") && has(b"failed to respond"))
    {
        return Kind::FailedReset;
    }
    if starts(b"Fence expiration time out ") {
        return Kind::FenceTimeout;
    }
    if has(b"GuC firmware") && has(b" version ") {
        return guc(message).map_or(Kind::Other, Kind::Guc);
    }
    Kind::Other
}

/// `-12` or `-ENOMEM`.
fn errno(c: &mut Cursor) -> String {
    let number = *c;
    match c.i32() {
        Some(n) => errno_name(n.saturating_abs()),
        None => {
            *c = number;
            c.maybe(b"-");
            text(c.take_while(|b| b.is_ascii_alphanumeric()))
        }
    }
}

fn guc(message: &[u8]) -> Option<String> {
    let mut c = Cursor::new(message);
    c.until(b"GuC firmware ")?;
    c.maybe(b"from ");
    let file = c.take_while(|b| b != b' ');
    c.literal(b" version ")?;
    let version = c.take_while(|b| b.is_ascii_digit() || b == b'.');
    Some(format!("{} {}", text(file), text(version)))
}

/// "python3 [40112]", from `… in python3 [40112]`, `python3[40112] context reset …`, `…:python[3184]:a22!`.
pub(super) fn process(message: &[u8]) -> Option<String> {
    let open = memchr::memchr_iter(b'[', message).find(|&at| {
        let mut c = Cursor::new(message.get(at + 1..).unwrap_or_default());
        c.u64().is_some() && c.starts(b"]")
    })?;
    let pid = Cursor::new(message.get(open + 1..)?).u64()?;
    let before = message.get(..open)?;
    let name = match memchr::memmem::rfind(before, b" in ") {
        Some(at) => before.get(at + 4..)?,
        None => before.rsplit(|&b| b == b':').next()?,
    };
    // "Engine memory CAT error [18]: class=…" has brackets of its own.
    let name = name.trim_ascii();
    let looks = !name.is_empty() && name.len() <= 16 && !before.starts_with(b"Engine memory CAT error");
    looks.then(|| format!("{} [{pid}]", text(name)))
}

/// One `Key: value` line of a fault block. False = it is not one.
pub(super) fn fault_line(line: &[u8], fault: &mut KernelFault) -> bool {
    let mut c = Cursor::new(line.trim_ascii());
    let key = match c.until(b": ") {
        Some(key) => key,
        None => return false,
    };
    match key {
        b"ASID" => fault.asid = c.u64(),
        b"Faulted Address" => fault.address = c.hex_0x().map(to_48_bits),
        b"FaultType" => fault.fault_type = c.u64(),
        b"AccessType" => fault.access_type = c.u64(),
        b"FaultLevel" => fault.level = c.u64(),
        b"EngineClass" => {
            c.u64();
            c.spaces();
            let name = c.take_while(|b| b.is_ascii_alphanumeric());
            fault.engine = (!name.is_empty()).then(|| text(name));
        }
        b"EngineInstance" | b"VFID" | b"PDATA" => {}
        _ => return false,
    }
    true
}
