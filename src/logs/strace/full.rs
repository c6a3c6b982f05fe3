//! One line of a full trace.

use super::names::Raw;
use crate::logs::scan::Cursor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome<'a> {
    /// "EPERM"; the text behind it is localised, the name is not.
    pub error: Option<&'a [u8]>,
    pub injected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Ioctl {
        request: &'a [u8],
        outcome: Outcome<'a>,
    },
    IoctlStart {
        request: &'a [u8],
    },
    Other {
        name: &'a [u8],
        outcome: Outcome<'a>,
    },
    OtherStart {
        name: &'a [u8],
    },
    /// The second half of the task's call.
    Resumed {
        outcome: Outcome<'a>,
    },
    Signal(&'a [u8]),
    /// "exited with 0", "killed by SIGABRT".
    End(&'a [u8]),
    /// Of a stack trace.
    Frame,
    /// strace's own words.
    Note,
    Unknown,
}

/// The task a line belongs to (0 where it is not said) and the line without it and without a time stamp.
///
/// `[pid N] …` on a terminal, `N …` in a file of `-f -o`; then `12:00:00.000000`, `1700000000.000000` or a relative
/// time, by `-t`, `-ttt`, `-r`.
pub(super) fn split_task(line: &[u8]) -> (u64, &[u8]) {
    let mut c = Cursor::new(line);
    let mut task = 0;
    if c.maybe(b"[pid ") {
        c.spaces();
        match c.u64() {
            Some(pid) if c.maybe(b"] ") => task = pid,
            _ => return (0, line),
        }
    } else if let Some(pid) = c.u64() {
        let digits_only = c.starts(b" ");
        if digits_only {
            task = pid;
        } else {
            c = Cursor::new(line);
        }
    }
    c.spaces();
    let before_stamp = c;
    let stamp = c.take_while(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b','));
    let is_stamp = stamp.len() > 1 && stamp.iter().any(|b| matches!(b, b':' | b'.')) && c.starts(b" ");
    if is_stamp {
        c.spaces();
        // `-r` together with `-t`: a relative time in brackets.
        if c.starts(b"(+") {
            c.until(b")");
            c.spaces();
        }
    } else {
        c = before_stamp;
    }
    (task, c.rest())
}

pub(super) fn parse(line: &[u8]) -> Line<'_> {
    let c = Cursor::new(line);
    match line.first() {
        Some(b'>') => return Line::Frame,
        Some(b'-') if c.starts(b"--- ") => return signal(line),
        Some(b'+') if c.starts(b"+++ ") => return end(line),
        Some(b'<') if c.starts(b"<... ") => return resumed(line),
        Some(b's') if c.starts(b"strace: ") => return Line::Note,
        _ => {}
    }
    call(line)
}

fn signal(line: &[u8]) -> Line<'_> {
    let mut c = Cursor::new(line);
    _ = c.literal(b"--- ");
    let name = c.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.starts_with(b"SIG") {
        Line::Signal(name)
    } else if c.starts(b" by SIG") || name == b"stopped" {
        Line::Note
    } else {
        Line::Unknown
    }
}

fn end(line: &[u8]) -> Line<'_> {
    let mut c = Cursor::new(line);
    _ = c.literal(b"+++ ");
    match c.until(b" +++") {
        Some(how) if how.starts_with(b"superseded by execve") => Line::Note,
        Some(how) => Line::End(how.strip_suffix(b" (core dumped)").unwrap_or(how)),
        None => Line::Unknown,
    }
}

fn resumed(line: &[u8]) -> Line<'_> {
    match outcome(line) {
        Some(outcome) if memchr::memmem::find(line, b" resumed>").is_some() => Line::Resumed { outcome },
        _ => Line::Unknown,
    }
}

fn call(line: &[u8]) -> Line<'_> {
    let mut c = Cursor::new(line);
    let name = c.take_while(|b| b.is_ascii_alphanumeric() || b == b'_');
    if name.is_empty() || c.literal(b"(").is_none() {
        return Line::Unknown;
    }
    let unfinished = line.trim_ascii_end().ends_with(b"<unfinished ...>");
    if name == b"ioctl" {
        let Some(request) = request(&mut c) else {
            // "ioctl( <unfinished ...>": interrupted before anything was printed.
            return if unfinished { Line::OtherStart { name } } else { Line::Unknown };
        };
        if unfinished {
            return Line::IoctlStart { request };
        }
        return match outcome(line) {
            Some(outcome) => Line::Ioctl { request, outcome },
            None => Line::Unknown,
        };
    }
    if unfinished {
        return Line::OtherStart { name };
    }
    match outcome(line) {
        Some(outcome) => Line::Other { name, outcome },
        None => Line::Unknown,
    }
}

/// The second argument of `ioctl(`, with the cursor behind the bracket.
fn request<'a>(c: &mut Cursor<'a>) -> Option<&'a [u8]> {
    c.take_while(|b| b.is_ascii_digit() || b == b'-');
    if c.starts(b"<") {
        // `-y`: the path may hold anything; `-yy` adds `<char 226:128>` inside.
        c.until(b">, ")?;
    } else {
        c.literal(b", ")?;
    }
    let all = c.rest();
    if c.starts(b"_IOC(") {
        c.until(b")")?;
        return all.get(..all.len() - c.rest().len());
    }
    let name = c.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ') || b == b'|');
    let name = name.strip_suffix(b" ").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// `_IOC(_IOC_READ|_IOC_WRITE, 0x64, 0x40, 0x28)`.
pub(super) fn raw_request(printed: &[u8]) -> Option<Raw> {
    let mut c = Cursor::new(printed);
    c.literal(b"_IOC(")?;
    c.until(b", ")?;
    let kind = c.hex_0x()?;
    c.literal(b", ")?;
    let nr = hex_or_zero(&mut c)?;
    c.literal(b", ")?;
    let size = hex_or_zero(&mut c)?;
    Some(Raw { kind, nr, size })
}

/// strace prints a plain `0` for zero.
fn hex_or_zero(c: &mut Cursor) -> Option<u64> {
    if c.starts(b"0x") { c.hex_0x() } else { c.u64() }
}

/// What stands behind `) = `.
fn outcome(line: &[u8]) -> Option<Outcome<'_>> {
    // The last that follows the call's bracket: an errno's text may hold one too.
    let mut candidates = memchr::memmem::rfind_iter(line, b" = ").take(8);
    let at =
        candidates.find(|&at| line.get(..at).is_some_and(|call| call.trim_ascii_end().ends_with(b")")))?;
    let mut c = Cursor::new(line.get(at + 3..)?);
    let injected = memchr::memmem::find(c.rest(), b"(INJECTED)").is_some();
    let value = c.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'?'));
    if value.is_empty() {
        return None;
    }
    let mut error = None;
    if matches!(value, b"-1" | b"?") && c.maybe(b" E") {
        let name = c.take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let length = name.len() + 1;
        let from = line.len() - c.rest().len() - length;
        error = line.get(from..from + length);
    }
    Some(Outcome { error, injected })
}
