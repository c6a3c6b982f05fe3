//! Finding messages inside a line.

use memchr::memmem::Finder;

/// Starts of messages that are looked for inside a line, not only at its start: those that the judge needs, and
/// those that are known to be glued.
pub(super) const ANCHORS: [&[u8]; 10] = [
    b"bind BO-",
    b"DRM_IOCTL_XE_GEM_CREATE has returned: ",
    super::ioctl::CREATE_XE,
    b"Private Memory Per Dispatch ",
    b"Non-default value of debug variable: ",
    b"Segmentation fault from GPU at 0x",
    b"Abort was called at ",
    b"== repro-matrix phase ",
    b" vm=",
    b"unbind BO-",
];
/// The last of them is found by the first.
const SEARCHED: usize = ANCHORS.len() - 1;

/// How much of a message that did not parse need not be looked at again.
pub(super) fn anchor_length(text: &[u8]) -> usize {
    ANCHORS.iter().find(|a| text.starts_with(a.trim_ascii_start())).map_or(1, |a| a.trim_ascii_start().len())
}

/// For each anchor the first place at or after what was asked last: so that a line is searched once for each anchor,
/// whatever is in it.
#[derive(Debug)]
pub(super) struct Anchors {
    finders: [Finder<'static>; SEARCHED],
    next: [Place; SEARCHED],
}

#[derive(Clone, Copy, Debug)]
enum Place {
    NotSearched,
    At(usize),
    Nowhere,
}

impl Default for Anchors {
    fn default() -> Self {
        let finders = std::array::from_fn(|i| Finder::new(ANCHORS.get(i).copied().unwrap_or_default()));
        Anchors { finders, next: [Place::NotSearched; SEARCHED] }
    }
}

impl Anchors {
    /// A new line.
    pub(super) fn restart(&mut self) {
        self.next = [Place::NotSearched; SEARCHED];
    }

    /// Where the next message starts, at or after `from`.
    pub(super) fn next(&mut self, line: &[u8], from: usize) -> Option<usize> {
        let mut best: Option<usize> = None;
        for (finder, place) in self.finders.iter().zip(&mut self.next) {
            let current = match *place {
                Place::At(at) if at >= from => Some(at),
                Place::Nowhere => None,
                Place::At(_) | Place::NotSearched => {
                    line.get(from..).and_then(|rest| finder.find(rest)).map(|at| at + from)
                }
            };
            *place = current.map_or(Place::Nowhere, Place::At);
            best = match (best, current) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        let at = best?;
        // "unbind" holds "bind": step back over "un", unless that part has been dealt with.
        let un = at.checked_sub(2).filter(|&start| start >= from);
        match un {
            Some(start) if line.get(start..).is_some_and(|rest| rest.starts_with(b"unbind BO-")) => {
                Some(start)
            }
            _ => Some(at),
        }
    }
}

/// The text behind `[PID: n] `, `[YYYY-MM-DD HH:MM:SS] ` and leading blanks.
pub(super) fn without_prefixes(line: &[u8]) -> &[u8] {
    let mut rest = line.trim_ascii_start();
    while rest.first() == Some(&b'[') {
        match prefix_length(rest).and_then(|n| rest.get(n..)) {
            Some(after) => rest = after.trim_ascii_start(),
            None => break,
        }
    }
    rest
}

fn prefix_length(text: &[u8]) -> Option<usize> {
    // The longest is the time: "[2026-09-01 10:22:41]".
    let head = text.get(..24).unwrap_or(text);
    let end = memchr::memchr(b']', head)?;
    let inner = head.get(1..end)?;
    let pid = inner.strip_prefix(b"PID: ").is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit));
    let time = inner.len() == 19
        && inner.iter().zip(b"dddd-dd-dd dd:dd:dd").all(|(&b, &form)| match form {
            b'd' => b.is_ascii_digit(),
            other => b == other,
        });
    (pid || time).then_some(end + 1)
}
