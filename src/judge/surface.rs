//! Which of the ranges is the private surface, and its life in words.

use crate::model::facts::{BindEvent, DispatchFact, RangeHistory};
use crate::model::repro::Phase;

/// A driver rounds an allocation up to its page size, 2 MiB at most.
const ROUNDING: u64 = 2 << 20;

/// True if a range of `len` bytes can hold a surface of `bytes` and no more than rounding.
pub fn fits(len: u64, bytes: u64) -> bool {
    len >= bytes && len - bytes < ROUNDING
}

/// Histories of the private surface: ranges of the expected size that a dispatch of the checked kernels used, or,
/// without dispatches, all of that size.
pub fn histories<'a>(
    ranges: &'a [RangeHistory],
    dispatches: &[DispatchFact],
    bytes: u64,
) -> Vec<&'a RangeHistory> {
    let used = |range: &RangeHistory| {
        dispatches
            .iter()
            .flat_map(|d| &d.ranges)
            .any(|(addr, len, _)| *addr == range.start && fits(*len, bytes))
    };
    let sized = || ranges.iter().filter(|range| fits(range.size, bytes));
    let seen: Vec<_> = sized().filter(|range| used(range)).collect();
    if seen.is_empty() { sized().collect() } else { seen }
}

/// Successful binds and unbinds up to the end of the work, teardown left out.
pub fn effective(events: &[BindEvent]) -> Vec<bool> {
    events.iter().filter(|e| e.errno == 0 && e.phase != Some(Phase::TearDown)).map(|e| e.bind).collect()
}

/// "bind unbind ─" (never bound again), "bind (unbind bind)×942", "bind".
///
/// With unknown phases the unbind at teardown cannot be told from the one that matters: `phases_known` = false
/// then says "bind unbind" without the dash.
pub fn compress(life: &[bool], phases_known: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(bind) = life.get(at) {
        let pair = |i: usize| life.get(i) == Some(&false) && life.get(i + 1) == Some(&true);
        let mut times = 0;
        while !*bind && pair(at + 2 * times) {
            times += 1;
        }
        if times > 1 {
            words.push(format!("(unbind bind)×{times}"));
            at += 2 * times;
        } else {
            words.push(if *bind { "bind" } else { "unbind" }.to_owned());
            at += 1;
        }
    }
    if phases_known && life.last() == Some(&false) {
        words.push("─".into());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(text: &str) -> Vec<bool> {
        text.chars().map(|c| c == 'b').collect()
    }

    #[test]
    fn histories_are_told_in_words() {
        assert_eq!(compress(&life("b"), true), "bind");
        assert_eq!(compress(&life("bu"), true), "bind unbind ─");
        assert_eq!(compress(&life("bu"), false), "bind unbind");
        assert_eq!(compress(&life("bub"), true), "bind unbind bind");
        assert_eq!(compress(&life("bubub"), true), "bind (unbind bind)×2");
        assert_eq!(compress(&life("bububu"), true), "bind (unbind bind)×2 unbind ─");
        assert_eq!(compress(&[], true), "");
    }

    #[test]
    fn surface_size_allows_rounding_only() {
        assert!(fits(93_323_264, 93_323_264));
        assert!(fits(93_323_264 + (2 << 20) - 1, 93_323_264));
        assert!(!fits(93_323_264 + (2 << 20), 93_323_264));
        assert!(!fits(93_323_263, 93_323_264));
    }

    #[test]
    fn teardown_and_failed_binds_are_no_part_of_a_life() {
        let e = |bind, errno, phase| BindEvent { bind, errno, phase: Some(phase) };
        let events = [
            e(true, 0, Phase::Before),
            e(true, 1, Phase::Copies),
            e(false, 0, Phase::Copies),
            e(false, 0, Phase::TearDown),
        ];
        assert_eq!(effective(&events), [true, false]);
    }
}
