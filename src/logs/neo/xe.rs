//! PrintXeLogs (up to 23.43 under PrintDebugMessages): what the xe back end of the driver asked the kernel for.
//!
//! Three forms of the bind line: `op=%d(%s) nsy=%d` without a result (23.35 – 23.43); `operation=%d(%s) flags=%d(%s)
//! nsy=%d pat=%hu ret=%d` (24.09 – 25.48); the same with `num_bind=%d`, or with two operations `operation[0]=…` in
//! one line (26.01 –). Addresses are 48-bit here. Source: compute-runtime, ioctl_helper_xe.cpp.

use crate::logs::scan::Cursor;
use crate::logs::to_48_bits;
use crate::model::facts::ERRNO_UNKNOWN;

/// A line that starts with `vm=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VmLine<'a> {
    pub vm: u32,
    pub start: u64,
    pub size: u64,
    pub operations: [Option<&'a [u8]>; 2],
    /// `None` = the line does not say.
    pub errno: Option<i32>,
    /// It changes what is bound; others (madvise, prefetch, attribute queries) do not.
    pub binds: bool,
}

/// `vm=` is a short text that others may print too: the second field tells.
pub(super) fn looks_like_vm_line(text: &[u8]) -> bool {
    let mut c = Cursor::new(text);
    let number = c.literal(b"vm=").and_then(|()| c.i64());
    number.is_some() && [&b" obj=0x"[..], b" start=0x", b" addr=0x"].iter().any(|field| c.starts(field))
}

/// Parses at `vm=`.
pub(super) fn vm_line<'a>(c: &mut Cursor<'a>) -> Option<VmLine<'a>> {
    c.literal(b"vm=")?;
    let vm = c.i64()?.try_into().ok()?;
    if c.maybe(b" obj=0x") {
        return bind_line(c, vm);
    }
    let (start, size);
    let mut operations = [None; 2];
    if c.maybe(b" start=0x") {
        start = c.hex()?;
        c.literal(b" size=0x")?;
        size = c.hex()?;
        if c.maybe(b" param=0x") {
            c.hex()?;
            c.literal(b" operation=")?;
            operation(c)?;
            operations[0] = Some(&b"madvise"[..]);
        } else {
            c.literal(b" num_mem_ranges=")?;
            c.i64()?;
            c.literal(b" sizeof_mem_range_attr=")?;
            c.i64()?;
            operations[0] = Some(&b"query memory range attributes"[..]);
        }
    } else {
        c.literal(b" addr=0x")?;
        start = c.hex()?;
        c.literal(b" range=0x")?;
        size = c.hex()?;
        c.literal(b" region=0x")?;
        c.hex()?;
        c.literal(b" operation=")?;
        operations[0] = Some(operation(c)?);
    }
    c.literal(b" ret=")?;
    let errno = result(c.i32()?);
    Some(VmLine { vm, start: to_48_bits(start), size, operations, errno: Some(errno), binds: false })
}

fn bind_line<'a>(c: &mut Cursor<'a>, vm: u32) -> Option<VmLine<'a>> {
    c.hex()?;
    c.literal(b" off=0x")?;
    c.hex()?;
    c.literal(b" range=0x")?;
    let size = c.hex()?;
    c.literal(b" addr=0x")?;
    let start = to_48_bits(c.hex()?);
    let mut operations = [None; 2];
    if c.maybe(b" op=") {
        let name = operation(c)?;
        // "AS_": the asynchronous flag, folded into the operation's number by these releases.
        operations[0] = Some(name.strip_prefix(b"AS_").unwrap_or(name));
    } else if c.maybe(b" operation=") {
        operations[0] = Some(operation(c)?);
        c.literal(b" flags=")?;
        operation(c)?;
    } else {
        c.literal(b" operation[0]=")?;
        operations[0] = Some(operation(c)?);
        c.literal(b" flags[0]=")?;
        operation(c)?;
        c.literal(b" operation[1]=")?;
        operations[1] = Some(operation(c)?);
        c.literal(b" flags[1]=")?;
        operation(c)?;
    }
    c.literal(b" nsy=")?;
    c.i64()?;
    if c.maybe(b" num_bind=") {
        c.i64()?;
    }
    let mut errno = None;
    if c.maybe(b" pat=") {
        c.u64()?;
        c.literal(b" ret=")?;
        errno = Some(result(c.i32()?));
    }
    Some(VmLine { vm, start, size, operations, errno, binds: true })
}

/// `%d(%s)`.
fn operation<'a>(c: &mut Cursor<'a>) -> Option<&'a [u8]> {
    c.i64()?;
    c.literal(b"(")?;
    c.until(b")")
}

fn result(ret: i32) -> i32 {
    if ret == 0 { 0 } else { ERRNO_UNKNOWN }
}

/// What an operation does to a range: bind, unbind, or nothing that a range's history shows.
pub(super) fn effect(operation: &[u8]) -> Option<bool> {
    match operation {
        b"MAP" | b"MAP_USERPTR" => Some(true),
        b"UNMAP" => Some(false),
        _ => None,
    }
}

/// A line that starts with `->`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallLine {
    Userptr {
        ok: bool,
    },
    /// `None` = older form without the value.
    ResetStats {
        value: Option<u64>,
    },
    Other,
}

/// Parses after `-> `. Consumes the rest of the line.
pub(super) fn call_line(c: &mut Cursor) -> Option<CallLine> {
    c.literal(b"IoctlHelperXe::")?;
    let rest = c.rest();
    let has = |needle: &[u8]| memchr::memmem::find(rest, needle);
    let number = |key: &[u8]| {
        let at = memchr::memmem::rfind(rest, key)? + key.len();
        Cursor::new(rest.get(at..)?).i64()
    };
    let line = if has(b"GemUserptr").is_some() {
        CallLine::Userptr { ok: number(b" r=")? == 0 }
    } else if has(b"GetResetStats").is_some() {
        number(b" r=")?;
        CallLine::ResetStats { value: number(b" value=").map(i64::unsigned_abs) }
    } else {
        CallLine::Other
    };
    c.take_while(|_| true);
    Some(line)
}
