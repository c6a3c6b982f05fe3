//! PrintBOBindingResult: one line for each bind and unbind of a buffer object, in four forms.
//!
//! | Releases | After `BO-%d` |
//! |---|---|
//! | 20.36 – 20.39 | `, range: …` |
//! | 20.40 – 21.35 | ` to VM %u, range: …` |
//! | 21.36 – 25.26 | ` to VM %u, drmVmId = %u, range: …`; here the *second* number is the VM, the first is the tile |
//! | 25.27 – | ` to VM %u, vmHandleId = %u, range: …`; here the first is the VM |
//!
//! Up to 22.06 every line ends in `, errno: %d(%s)`, also when the result is 0 and the number stale; from 22.07 only
//! failures do. Source: compute-runtime, drm_buffer_object.cpp at each of these tags.

use crate::logs::scan::Cursor;
use crate::logs::to_48_bits;
use crate::model::facts::ERRNO_UNKNOWN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    BoOnly,
    Vm,
    DrmVmId,
    VmHandleId,
}

impl Form {
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::BoOnly => "bo",
            Form::Vm => "vm",
            Form::DrmVmId => "drmVmId",
            Form::VmHandleId => "vmHandleId",
        }
    }
}

/// One line. The object's number is not kept: on xe every user pointer is `BO-0`, and handles are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BindLine {
    pub form: Form,
    pub bind: bool,
    pub vm: u32,
    pub tile: Option<u32>,
    pub start: u64,
    pub size: u64,
    /// 0 = success.
    pub errno: i32,
}

/// Parses at the cursor; on success the cursor is behind the message.
pub(super) fn parse(c: &mut Cursor) -> Option<BindLine> {
    let bind = !c.maybe(b"un");
    c.literal(b"bind BO-")?;
    c.i64()?;
    let (form, vm, tile) = if c.starts(b", range: ") {
        (Form::BoOnly, 0, None)
    } else {
        c.literal(if bind { b" to VM " } else { b" from VM " })?;
        let first = c.u32()?;
        if c.maybe(b", vmHandleId = ") {
            (Form::VmHandleId, first, Some(c.u32()?))
        } else if c.maybe(b", drmVmId = ") {
            (Form::DrmVmId, c.u32()?, Some(first))
        } else {
            (Form::Vm, first, None)
        }
    };
    c.literal(b", range: ")?;
    let start = to_48_bits(c.hex()?);
    c.literal(b" - ")?;
    let end = to_48_bits(c.hex()?);
    c.literal(b", size: ")?;
    let size = c.u64()?;
    // The end is exclusive. A line whose numbers contradict each other was torn by another thread's output.
    if to_48_bits(end.wrapping_sub(start)) != size {
        return None;
    }
    c.literal(b", result: ")?;
    let result = c.i32()?;
    let mut errno = 0;
    if c.maybe(b", errno: ") {
        errno = c.i32()?;
        c.literal(b"(")?;
        // The text is the C library's, in any language; cut output may lack its end.
        if c.until(b")").is_none() {
            c.take_while(|_| true);
        }
    }
    // A stale errno beside result 0 means nothing; a failure without one is still a failure.
    let errno = match (result, errno) {
        (0, _) => 0,
        (_, 0) => ERRNO_UNKNOWN,
        (_, number) => number,
    };
    Some(BindLine { form, bind, vm, tile, start, size, errno })
}
