//! PrintIoctlEntries, PrintIoctlTimes / PrintKmdTimes, failed requests, buffer objects and prefetches.
//!
//! Sources: compute-runtime, drm_neo.cpp, drm_allocation.cpp, ioctl_helper_{xe,upstream,prelim}.cpp.

use crate::logs::scan::Cursor;
use crate::model::facts::{ERRNO_UNKNOWN, KmdTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub name: &'a [u8],
    /// `None` = the line that announces the call.
    pub errno: Option<i32>,
}

/// `IOCTL %s called`, `IOCTL %s returns %d[, errno %d(%s)]`.
pub(super) fn entry<'a>(c: &mut Cursor<'a>) -> Option<Entry<'a>> {
    c.literal(b"IOCTL ")?;
    let name = c.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.is_empty() {
        return None;
    }
    if c.maybe(b" called") {
        return Some(Entry { name, errno: None });
    }
    c.literal(b" returns ")?;
    let result = c.i32()?;
    let mut errno = if result == 0 { 0 } else { ERRNO_UNKNOWN };
    if c.maybe(b", errno ") {
        let number = c.i32()?;
        if errno != 0 && number != 0 {
            errno = number;
        }
        bracketed(c)?;
    }
    // Requests with a count as result return more than 0.
    Some(Entry { name, errno: Some(if result > 0 { 0 } else { errno }) })
}

fn bracketed(c: &mut Cursor) -> Option<()> {
    c.literal(b"(")?;
    if c.until(b")").is_none() {
        c.take_while(|_| true);
    }
    Some(())
}

/// `DRM_IOCTL_I915_GETPARAM: param: %s, output value: %d, retCode:% d`. The value only if it was got.
pub(super) fn getparam<'a>(c: &mut Cursor<'a>) -> Option<(&'a [u8], Option<i64>)> {
    c.literal(b"DRM_IOCTL_I915_GETPARAM: param: ")?;
    let name = c.until(b", output value: ")?;
    let value = c.i64()?;
    c.literal(b", retCode:")?;
    c.maybe(b" ");
    Some((name, (c.i32()? == 0).then_some(value)))
}

/// `ioctl(%s) failed with %d. errno=%d(%s)`.
pub(super) fn failed<'a>(c: &mut Cursor<'a>) -> Option<(&'a [u8], i32)> {
    c.literal(b"ioctl(")?;
    let name = c.until(b") failed with ")?;
    c.i32()?;
    c.literal(b". errno=")?;
    let errno = c.i32()?;
    bracketed(c)?;
    Some((name, errno))
}

/// A row of the table of times: name, total ns, count, average, min, max.
pub(super) fn time_row(line: &[u8]) -> Option<(&[u8], KmdTime)> {
    let mut c = Cursor::new(line);
    c.spaces();
    let name = c.take_while(|b| !b.is_ascii_whitespace());
    c.spaces();
    let total_ns = c.u64()?;
    c.spaces();
    let count = c.u64()?;
    c.spaces();
    let average = c.take_while(|b| !b.is_ascii_whitespace());
    average.first()?.is_ascii_digit().then_some(())?;
    c.spaces();
    let min_ns = c.i64()?;
    c.spaces();
    let max_ns = c.i64()?;
    c.spaces();
    c.at_end().then_some((name, KmdTime { count, total_ns, min_ns, max_ns }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Object {
    /// The announcement; the result is a message of its own.
    Performing,
    Created {
        ok: bool,
    },
    Userptr,
    Imported,
    Closed,
    CloseSkipped,
}

/// Starts of the announcements of a new object.
pub(super) const CREATE_XE: &[u8] = b"Performing DRM_IOCTL_XE_GEM_CREATE with {";
pub(super) const CREATE_I915: &[u8] = b"Performing GEM_CREATE_EXT with {";

/// PrintBOCreateDestroyResult. xe prints `Performing …}` without a newline: the result follows in the same line.
pub(super) fn object(c: &mut Cursor) -> Option<Object> {
    if c.maybe(CREATE_XE) || c.maybe(CREATE_I915) {
        c.until(b"}")?;
        return Some(Object::Performing);
    }
    if c.maybe(b"Created new BO with GEM_USERPTR, handle: BO-") {
        c.i64()?;
        return Some(Object::Userptr);
    }
    if c.maybe(b"Created BO-") {
        c.until(b" from PRIME_FD_TO_HANDLE")?;
        return Some(Object::Imported);
    }
    if c.maybe(b"Calling gem close on handle: BO-") {
        c.i64()?;
        return Some(Object::Closed);
    }
    if c.maybe(b"Skipped closing BO-") {
        c.until(b"more shared users!")?;
        return Some(Object::CloseSkipped);
    }
    if !c.maybe(b"DRM_IOCTL_XE_GEM_CREATE") {
        c.literal(b"GEM_CREATE_EXT")?;
        c.maybe(b" with EXT_MEMORY_REGIONS");
        c.maybe(b" with EXT_SET_PAT");
    }
    c.literal(b" has returned: ")?;
    let ok = c.i32()? == 0;
    c.literal(b" BO-")?;
    c.i64()?;
    c.literal(b" with size: ")?;
    c.u64()?;
    Some(Object::Created { ok })
}

/// `prefetch BO=…, result: %d`, where 1 is success. The chunked form announces (`prefetching`) before it reports.
pub(super) fn prefetch(c: &mut Cursor) -> Option<Option<bool>> {
    c.literal(b"prefetch")?;
    let announces = c.maybe(b"ing");
    if !announces {
        c.maybe(b"ed");
    }
    c.literal(b" BO=")?;
    c.until(b", region: ")?;
    c.hex()?;
    if announces {
        return Some(None);
    }
    c.literal(b", result: ")?;
    Some(Some(c.u64()? != 0))
}
