//! The stamps before a kernel record, in the forms that dmesg, journalctl and /dev/kmsg give.

use crate::logs::scan::Cursor;

/// When a record was made, as far as its stamp says. Both in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Since boot: CLOCK_MONOTONIC as printk has it.
    pub monotonic: Option<u64>,
    /// Since 1970 in UTC.
    pub wall: Option<u64>,
}

/// What is needed to read stamps that leave something out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Assumed {
    /// Seconds east of UTC, for stamps without a zone.
    pub utc_offset: i32,
    /// For stamps without a year; without it they have no time.
    pub year: Option<i64>,
}

/// The stamp, and the text behind it.
pub(super) fn split(line: &[u8], assumed: Assumed) -> (Stamp, &[u8]) {
    let mut stamp = Stamp::default();
    let mut c = Cursor::new(line);
    // "<6>" of a raw log, "kern  :info  : " of `dmesg -x`.
    if c.maybe(b"<") && (c.u64().is_none() || !c.maybe(b">")) {
        c = Cursor::new(line);
    }
    if let Some(level) = dmesg_level(c) {
        c = level;
    }
    if let Some((micros, rest)) = dev_kmsg(c) {
        stamp.monotonic = micros.checked_mul(1000);
        return (stamp, rest);
    }
    if let Some((wall, rest)) = iso(c, assumed).or_else(|| ctime(c, assumed)).or_else(|| syslog(c, assumed)) {
        stamp.wall = wall;
        c = rest;
        host_kernel(&mut c);
    }
    c.spaces();
    while c.starts(b"[") {
        let before = c;
        match bracket(&mut c) {
            Some(Some(ns)) => stamp.monotonic = Some(ns),
            Some(None) => {}
            None => {
                c = before;
                break;
            }
        }
        c.spaces();
    }
    (stamp, c.rest())
}

fn dmesg_level(mut c: Cursor) -> Option<Cursor> {
    for _ in 0..2 {
        let word = c.take_while(|b| b.is_ascii_lowercase());
        (2..=8).contains(&word.len()).then_some(())?;
        c.take_while(|b| b == b' ');
        c.literal(b":")?;
        c.take_while(|b| b == b' ');
    }
    Some(c)
}

/// `prio,seq,µs,flags[,…];text`.
fn dev_kmsg(mut c: Cursor<'_>) -> Option<(u64, &[u8])> {
    c.u64()?;
    c.literal(b",")?;
    c.u64()?;
    c.literal(b",")?;
    let micros = c.u64()?;
    c.literal(b",")?;
    c.until(b";")?;
    Some((micros, c.rest()))
}

/// `[ 5121.400112]`, `[ 206.297075 <  192.070733>]`, `[    T123]`. `Some(None)` = a bracket without a time.
fn bracket(c: &mut Cursor) -> Option<Option<u64>> {
    c.literal(b"[")?;
    c.spaces();
    if c.maybe(b"T") || c.maybe(b"C") {
        c.u64()?;
        c.literal(b"]")?;
        return Some(None);
    }
    let seconds = c.u64()?;
    c.literal(b".")?;
    let nanos = fraction(c)?;
    c.spaces();
    if c.maybe(b"<") {
        c.until(b">")?;
    }
    c.literal(b"]")?;
    Some(seconds.checked_mul(1_000_000_000).and_then(|s| s.checked_add(nanos)))
}

/// Up to nine digits after the point, as ns.
fn fraction(c: &mut Cursor) -> Option<u64> {
    let digits = c.take_while(|b| b.is_ascii_digit());
    if digits.is_empty() {
        return None;
    }
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some(padded.fold(0, |sum, b| sum * 10 + u64::from(b - b'0')))
}

/// `2026-09-11T08:03:40[.123456|,123456][Z|+02:00|+0200]`; a blank instead of the T too.
fn iso<'a>(mut c: Cursor<'a>, assumed: Assumed) -> Option<(Option<u64>, Cursor<'a>)> {
    let year = c.i64().filter(|y| (1970..=9999).contains(y))?;
    c.literal(b"-")?;
    let month = c.u64()?;
    c.literal(b"-")?;
    let day = c.u64()?;
    (c.maybe(b"T") || c.maybe(b" ")).then_some(())?;
    let of_day = clock(&mut c)?;
    let mut nanos = 0;
    if c.maybe(b".") || c.maybe(b",") {
        nanos = fraction(&mut c)?;
    }
    let mut offset = i64::from(assumed.utc_offset);
    if c.maybe(b"Z") {
        offset = 0;
    } else if c.starts(b"+") || c.starts(b"-") {
        let west = c.maybe(b"-");
        c.maybe(b"+");
        let hours = c.u64()?;
        // "+0200" reads as one number.
        let (hours, minutes) = if c.maybe(b":") { (hours, c.u64()?) } else { (hours / 100, hours % 100) };
        let seconds = i64::try_from(hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?).ok()?;
        offset = if west { -seconds } else { seconds };
    }
    Some((wall(year, month, day, of_day, nanos, offset), c))
}

/// `[Sun Nov 29 15:37:00 2026] ` of `dmesg -T`.
fn ctime<'a>(mut c: Cursor<'a>, assumed: Assumed) -> Option<(Option<u64>, Cursor<'a>)> {
    c.literal(b"[")?;
    let weekday = c.take_while(|b| b.is_ascii_alphabetic());
    (weekday.len() == 3).then_some(())?;
    c.literal(b" ")?;
    let month = month(&mut c)?;
    c.spaces();
    let day = c.u64()?;
    c.literal(b" ")?;
    let of_day = clock(&mut c)?;
    c.literal(b" ")?;
    let year = c.i64()?;
    c.literal(b"]")?;
    Some((wall(year, month, day, of_day, 0, i64::from(assumed.utc_offset)), c))
}

/// `Apr 21 20:15:09 host kernel: `: no year.
fn syslog<'a>(mut c: Cursor<'a>, assumed: Assumed) -> Option<(Option<u64>, Cursor<'a>)> {
    let month = month(&mut c)?;
    c.spaces();
    let day = c.u64()?;
    c.literal(b" ")?;
    let of_day = clock(&mut c)?;
    if c.maybe(b".") {
        fraction(&mut c)?;
    }
    let offset = i64::from(assumed.utc_offset);
    Some((assumed.year.and_then(|year| wall(year, month, day, of_day, 0, offset)), c))
}

/// `host kernel: `, if it is there.
fn host_kernel(c: &mut Cursor) {
    let before = *c;
    c.spaces();
    if !c.starts(b"kernel: ") {
        c.take_while(|b| b != b' ');
        c.spaces();
    }
    if !c.maybe(b"kernel: ") {
        *c = before;
    }
}

fn month(c: &mut Cursor) -> Option<u64> {
    const NAMES: [&[u8]; 12] =
        [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    let name = c.take_while(|b| b.is_ascii_alphabetic());
    let index = NAMES.iter().position(|known| *known == name)?;
    Some(index as u64 + 1)
}

/// `20:15:09` as seconds of the day.
fn clock(c: &mut Cursor) -> Option<u64> {
    let hours = c.u64().filter(|&h| h < 24)?;
    c.literal(b":")?;
    let minutes = c.u64().filter(|&m| m < 60)?;
    c.literal(b":")?;
    let seconds = c.u64().filter(|&s| s <= 60)?;
    Some(hours * 3600 + minutes * 60 + seconds)
}

fn wall(year: i64, month: u64, day: u64, of_day: u64, nanos: u64, offset: i64) -> Option<u64> {
    let valid = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    valid.then_some(())?;
    let days = days_since_1970(year, month as i64, day as i64);
    let seconds = (days * 86_400 + of_day as i64).checked_sub(offset)?;
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Of the Gregorian calendar: years run from March, so that the leap day is the last of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

/// The year in UTC of a wall time in ns.
pub(super) fn year_of(wall: u64) -> i64 {
    let days = (wall / 86_400_000_000_000) as i64;
    let guess = 1970 + days / 366;
    (guess..guess + 2 + days / 10_000).rfind(|&year| days_since_1970(year, 1, 1) <= days).unwrap_or(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(line: &str) -> (Stamp, String) {
        let (stamp, rest) = split(line.as_bytes(), Assumed { utc_offset: 7200, year: Some(2026) });
        (stamp, String::from_utf8_lossy(rest).into_owned())
    }

    // Seconds from `date -u -d … +%s`.
    #[test]
    fn every_form_gives_its_time() {
        let second = 1_000_000_000;
        let cases: [(&str, Option<u64>, Option<u64>); 10] = [
            ("[ 5121.400112] xe a", Some(5_121_400_112_000), None),
            ("[  206.297075 <  192.070733>] xe a", Some(206_297_075_000), None),
            ("[ 12.000001][  T123] xe a", Some(12_000_001_000), None),
            ("6,1234,5121400112,-;xe a", Some(5_121_400_112_000), None),
            ("kern  :info  : [    1.000000] xe a", Some(1_000_000_000), None),
            ("2026-09-11T08:03:40,500000+02:00 xe a", None, Some(1_789_106_620 * second + 500_000_000)),
            ("2026-09-11T06:03:40Z xe a", None, Some(1_789_106_620 * second)),
            ("2026-09-11T08:03:40 xe a", None, Some(1_789_106_620 * second)),
            ("[Fri Sep 11 08:03:40 2026] xe a", None, Some(1_789_106_620 * second)),
            ("Sep 11 08:03:40 host kernel: xe a", None, Some(1_789_106_620 * second)),
        ];
        for (line, monotonic, wall) in cases {
            assert_eq!(stamp(line), (Stamp { monotonic, wall }, "xe a".to_owned()), "{line}");
        }
    }

    #[test]
    fn years() {
        assert_eq!(year_of(0), 1970);
        assert_eq!(year_of(1_789_106_620_000_000_000), 2026);
        assert_eq!(year_of(1_767_225_599_000_000_000), 2025, "last second of 2025");
        assert_eq!(year_of(1_767_225_600_000_000_000), 2026, "first second of 2026");
        assert!(year_of(u64::MAX) > 2500);
    }
}
