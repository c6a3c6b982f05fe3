//! The log lines that a verdict rests on, with their place.

use crate::judge::surface;

/// Lines of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Path below the results directory.
    pub log: String,
    /// (number from 1, text).
    pub lines: Vec<(usize, String)>,
    /// Lines of interest beyond those shown.
    pub more: usize,
}

/// Shown of each kind of line in one log.
const MOST: usize = 12;
/// A trace line lists every pointer of a dispatch; what matters stands at its head.
const LONGEST: usize = 400;

/// What is of interest in `log`, if anything: the driver's size decisions, binds and unbinds of a surface of
/// `surface` bytes, failed binds, hazards, resets.
pub fn excerpt(log: &str, text: &[u8], surface: Option<u64>) -> Option<Excerpt> {
    let mut shown = Vec::new();
    let mut counts = [0usize; KINDS];
    for (index, line) in text.split(|b| *b == b'\n').enumerate() {
        let Some(kind) = kind(log, line, surface) else { continue };
        let Some(count) = counts.get_mut(kind as usize) else { continue };
        *count += 1;
        if *count <= MOST {
            shown.push((index + 1, shorten(&String::from_utf8_lossy(line))));
        }
    }
    let more = counts.iter().map(|count| count.saturating_sub(MOST)).sum();
    (!shown.is_empty()).then(|| Excerpt { log: log.to_owned(), lines: shown, more })
}

const KINDS: usize = 5;

#[derive(Clone, Copy)]
enum Kind {
    Decision,
    Surface,
    FailedBind,
    Hazard,
    Mark,
}

fn kind(log: &str, line: &[u8], surface: Option<u64>) -> Option<Kind> {
    let has = |what: &str| memchr::memmem::find(line, what.as_bytes()).is_some();
    if log.ends_with("trace.gz") {
        if has("\"ev\":\"hazard\"") || has("\"ev\":\"unmapped_access\"") || has("\"ev\":\"queue_banned\"") {
            return Some(Kind::Hazard);
        }
        if has("\"ev\":\"bind\"") {
            if !has("\"errno\":0") {
                return Some(Kind::FailedBind);
            }
            return number_after(line, "\"range\":")
                .filter(|range| is_surface(*range, surface))
                .map(|_| Kind::Surface);
        }
        return None;
    }
    if log.ends_with("kmsg.gz") {
        return (has("xe ") || has("i915") || has("[drm]")).then_some(Kind::Hazard);
    }
    if has("== repro-matrix phase ") || has("upload") {
        return Some(Kind::Mark);
    }
    if has("Private Memory Per Dispatch") {
        return Some(Kind::Decision);
    }
    if has("result: -1") || has("= -1 E") && has("BIND") {
        return Some(Kind::FailedBind);
    }
    number_after(line, "size: ")
        .filter(|size| has("bind") && is_surface(*size, surface))
        .map(|_| Kind::Surface)
}

fn is_surface(bytes: u64, surface: Option<u64>) -> bool {
    surface.is_some_and(|surface| surface::fits(bytes, surface))
}

fn number_after(line: &[u8], what: &str) -> Option<u64> {
    let at = memchr::memmem::find(line, what.as_bytes())? + what.len();
    let digits: Vec<u8> = line.get(at..)?.iter().copied().take_while(u8::is_ascii_digit).collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let head: String = line.chars().take(LONGEST).collect();
    format!("{head} … ({} characters)", line.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surface_and_the_failed_binds_are_shown_with_their_lines() {
        let log = "noise\nbind BO-1 to VM 1, range: 0 - 1, size: 65536, result: 0\n\
                   bind BO-2 to VM 1, range: 0 - 1, size: 93323264, result: 0\n\
                   bind BO-0 to VM 1, range: 0 - 1, size: 5, result: -1, errno: 1(x)\n";
        let found = excerpt("logs/a/0/stdout.gz", log.as_bytes(), Some(93_323_264)).unwrap();
        assert_eq!(found.lines.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(excerpt("logs/a/0/stdout.gz", b"nothing\n", Some(1)), None);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        let log = "x result: -1\n".repeat(MOST + 3);
        let found = excerpt("stderr.gz", log.as_bytes(), None).unwrap();
        assert_eq!((found.lines.len(), found.more), (MOST, 3));
    }
}
