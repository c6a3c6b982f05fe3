//! The next value to run, from the answers so far.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bisect::{Belief, Tally};
use crate::probe::Answer;

/// The axis: `low`, `low + step` … `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    pub low: u64,
    pub high: u64,
    pub step: u64,
}

impl Range {
    /// The value nearest to `value` from below that belongs to the axis.
    fn at(self, value: u64) -> u64 {
        let value = value.clamp(self.low, self.high);
        self.low + (value - self.low) / self.step.max(1) * self.step.max(1)
    }

    fn last(self) -> u64 {
        self.at(self.high)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// Brackets the flip.
    Bracket,
    /// The two values beside the flip, again.
    Neighbour,
    /// Far from the flip: is the axis what it seems?
    Audit,
    /// One after the other: what shape has it?
    Map,
}

impl Why {
    /// For people.
    pub fn told(self) -> &'static str {
        match self {
            Why::Bracket => "looking for the flip",
            Why::Neighbour => "beside the flip, again",
            Why::Audit => "far from the flip",
            Why::Map => "one after the other",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Run { value: u64, why: Why },
    Done(Outcome),
}

/// What the axis looks like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub enum Shape {
    /// `below` up to `last`, the other answer from `first` on.
    Flip { last: u64, first: u64, below: Answer },
    /// The same answer at every value that was run.
    Flat { answer: Answer },
    /// More than one flip.
    NotMonotone { period: Option<u64> },
    /// Values that cannot be tested hide the flip: it is between these.
    Hidden { last: u64, first: u64, below: Answer },
    /// Nothing could be tested.
    Untestable,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub shape: Shape,
    pub runs: u32,
}

/// A search over one axis.
#[derive(Clone, Debug)]
pub struct Search {
    range: Range,
    /// The first value of which a flip is predicted.
    predicted: Option<u64>,
    /// Largest probability that a neighbour called clean is not.
    error: f64,
    answers: BTreeMap<u64, Tally>,
}

/// As [`Search::error`], for values that only guide the search.
const LOOSE: f64 = 0.2;
/// Failures of the first corrupt value beside the flip: its rate decides how many clean runs the other needs.
const HITS: u32 = 3;
/// A value is given up after so many runs without an answer.
const UNTESTABLE: u32 = 2;
/// Most runs that are looked ahead.
const MOST_AHEAD: u32 = 2_000;
/// Consecutive values that are run to see the shape of an axis that is not monotone.
const WINDOW: u64 = 16;

impl Search {
    /// `range`: low < high, step ≥ 1.
    pub fn new(range: Range, predicted: Option<u64>, error: f64) -> Search {
        let inside = |value: &u64| *value > range.low && *value <= range.last();
        // Between two values of the axis, the upper one is the first of the other answer.
        let upper = |value: u64| range.low + (value - range.low).div_ceil(range.step) * range.step;
        let predicted = predicted.filter(inside).map(upper);
        Search { range, predicted, error, answers: BTreeMap::new() }
    }

    pub fn record(&mut self, value: u64, answer: Answer) {
        self.answers.entry(value).or_default().add(answer);
    }

    pub fn answers(&self) -> &BTreeMap<u64, Tally> {
        &self.answers
    }

    pub fn runs(&self) -> u32 {
        self.answers.values().map(|t| t.testable().saturating_add(t.untestable)).sum()
    }

    /// Runs until the search ends, if the flip is where it is predicted, or else in the middle of where it may be, and every
    /// value behaves like its side. An estimate for people.
    pub fn runs_left(&self) -> u32 {
        let mut ahead = self.clone();
        let known = self.known();
        let flip = known.windows(2).find_map(|pair| match pair {
            [(a, x), (b, y)] if x != y => Some((*a, *b, *x)),
            _ => None,
        });
        let predicted = |low: u64, high: u64| self.predicted.filter(|p| *p > low && *p <= high);
        let middle = |low: u64, high: u64| low + (high - low).div_ceil(2);
        let (first, corrupt_below) = match flip {
            Some((low, high, corrupt_below)) => {
                (predicted(low, high).unwrap_or_else(|| middle(low, high)), corrupt_below)
            }
            None => self.elsewhere(&known),
        };
        for _ in 0..MOST_AHEAD {
            let Step::Run { value, .. } = ahead.next() else { break };
            ahead.record(value, word((value < first) == corrupt_below));
        }
        ahead.runs().saturating_sub(self.runs())
    }

    /// Where the flip may be while all known values are alike, and whether corrupt is below it.
    fn elsewhere(&self, known: &[(u64, bool)]) -> (u64, bool) {
        let (low, high) = (self.range.low, self.range.last());
        let (Some((least, corrupt)), Some((most, _))) = (known.first().copied(), known.last().copied())
        else {
            return (self.predicted.unwrap_or(low + (high - low).div_ceil(2)), false);
        };
        let first = match self.predicted {
            Some(first) if first <= least || first > most => first,
            // The prediction is refuted: on the side that has more room.
            _ if least - low > high - most => low + (least - low).div_ceil(2),
            _ => most + (high - most).div_ceil(2).max(1),
        };
        // Below it is whatever the known values are, if they are below, or else the other.
        (first, corrupt == (most < first))
    }

    /// What is known of a value at the given error; `None`: it needs another run.
    fn answer(&self, value: u64, error: f64) -> Option<Answer> {
        let tally = self.answers.get(&value).copied().unwrap_or_default();
        if tally.corrupt > 0 {
            return Some(Answer::Corrupt);
        }
        if tally.testable() == 0 && tally.untestable >= UNTESTABLE {
            return Some(Answer::Untestable);
        }
        let (mut hits, mut misses) = (0_u32, 0_u32);
        for tally in self.answers.values().filter(|tally| tally.corrupt > 0) {
            hits = hits.saturating_add(tally.corrupt);
            misses = misses.saturating_add(tally.clean);
        }
        // Before anything failed, one clean run has to do: there is no rate to go by.
        let chance = if hits == 0 { 0.0 } else { Belief::NOTHING.all_clean(hits, misses, tally.clean) };
        (tally.clean > 0 && chance <= error).then_some(Answer::Clean)
    }

    /// Answers that are settled for guidance, untestable values left out.
    fn known(&self) -> Vec<(u64, bool)> {
        let known = self.answers.keys().filter_map(|value| match self.answer(*value, LOOSE)? {
            Answer::Corrupt => Some((*value, true)),
            Answer::Clean => Some((*value, false)),
            Answer::Untestable => None,
        });
        known.collect()
    }

    pub fn next(&self) -> Step {
        let done = |shape| Step::Done(Outcome { shape, runs: self.runs() });
        // A value that was begun is settled first: what follows depends on it.
        if let Some(value) = self.unsettled() {
            return Step::Run { value, why: Why::Bracket };
        }
        let known = self.known();
        let flips: Vec<(u64, u64, bool)> = known
            .windows(2)
            .filter_map(|pair| match pair {
                [(a, x), (b, y)] if x != y => Some((*a, *b, *x)),
                _ => None,
            })
            .collect();
        match flips.as_slice() {
            [] => self.look_for_a_flip(&known).unwrap_or_else(|| {
                done(match known.first() {
                    Some((_, corrupt)) => Shape::Flat { answer: word(*corrupt) },
                    None => Shape::Untestable,
                })
            }),
            [(last, first, corrupt)] => self.close_in(*last, *first, *corrupt).unwrap_or_else(|hidden| {
                let below = word(*corrupt);
                done(if hidden {
                    Shape::Hidden { last: *last, first: *first, below }
                } else {
                    Shape::Flip { last: *last, first: *first, below }
                })
            }),
            [(last, ..), ..] => match self.doubtful() {
                // A clean value that is bad luck looks like a second flip.
                Some(value) => Step::Run { value, why: Why::Neighbour },
                None => self.map(*last),
            },
        }
    }

    fn unsettled(&self) -> Option<u64> {
        self.answers.keys().copied().find(|value| self.answer(*value, LOOSE).is_none())
    }

    /// A value that is called clean on loose grounds.
    fn doubtful(&self) -> Option<u64> {
        let clean = |value: &u64| self.answer(*value, LOOSE) == Some(Answer::Clean);
        self.answers.keys().copied().filter(clean).find(|value| self.answer(*value, self.error).is_none())
    }

    fn fresh(&self, value: u64) -> bool {
        !self.answers.contains_key(&value)
    }

    /// No two known values differ yet: the prediction's neighbours, then the ends, then places in between.
    fn look_for_a_flip(&self, known: &[(u64, bool)]) -> Option<Step> {
        let Range { step, .. } = self.range;
        let run = |value| Some(Step::Run { value, why: Why::Bracket });
        if let Some(predicted) = self.predicted {
            for value in [predicted, predicted - step] {
                if self.fresh(value) {
                    return run(value);
                }
            }
            // The prediction is off: away from it in growing steps, to the side where the other answer may be.
            let corrupt = known.first().map(|(_, corrupt)| *corrupt);
            let mut distance = step;
            loop {
                distance = distance.saturating_mul(2);
                let value = match corrupt {
                    Some(true) => self.range.at(predicted.saturating_sub(distance)),
                    _ => self.range.at(predicted.saturating_add(distance)),
                };
                if self.fresh(value) {
                    return run(value);
                }
                if value == self.range.low || value == self.range.last() {
                    break;
                }
            }
        }
        // The ends, then places by the golden ratio and the powers of two: an axis that repeats shows at one of them.
        let (low, last) = (self.range.low, self.range.last());
        let span = last - low;
        let mut places = vec![low, last, self.range.at(low + span / 2), low + step.min(span)];
        let mut power = 2_u64;
        while power <= last && power < 1 << 40 {
            places.push(self.range.at(power.max(low)));
            power *= 4;
        }
        places.extend(
            (1..=8_u32)
                .map(|i| self.range.at(low + (span as f64 * (f64::from(i) * 0.618_034).fract()) as u64)),
        );
        places.into_iter().find(|value| self.fresh(*value)).and_then(run)
    }

    /// One flip between `last` and `first`: halve, then settle the neighbours, then look far away. `Err(hidden)`: done.
    fn close_in(&self, last: u64, first: u64, corrupt_below: bool) -> Result<Step, bool> {
        let Range { low, step, .. } = self.range;
        let run = |value, why| Ok(Step::Run { value, why });
        let between = (first - last) / step;
        if between > 1 {
            // A prediction inside of the gap is better than its middle; untestable values are passed over.
            let middle = last + between / 2 * step;
            let mut wishes: Vec<u64> = self.predicted.into_iter().flat_map(|p| [p, p - step]).collect();
            wishes.push(middle);
            wishes.extend(
                (1..between.min(64))
                    .flat_map(|i| [middle.saturating_add(i * step), middle.saturating_sub(i * step)]),
            );
            if let Some(value) = wishes.into_iter().find(|v| *v > last && *v < first && self.fresh(*v)) {
                return run(value, Why::Bracket);
            }
        }
        let (clean, corrupt) = if corrupt_below { (first, last) } else { (last, first) };
        let tally = |value: u64| self.answers.get(&value).copied().unwrap_or_default();
        // The rate first: a corrupt value that fails seldom needs more runs of the clean one.
        if tally(corrupt).corrupt < HITS {
            return run(corrupt, Why::Neighbour);
        }
        if self.answer(clean, self.error).is_none() {
            return run(clean, Why::Neighbour);
        }
        // Far away on both sides, at places without a common divisor.
        let (down, up) = (last - low, self.range.last() - first);
        let reach = up.min(first);
        let part = |span: u64, share: f64| (span as f64 * share) as u64;
        let audits = [
            self.range.at(low + part(down, 0.618)),
            self.range.at(low + part(down, 0.236)),
            self.range.at(first + part(reach, 0.145)),
            self.range.at(first + step.min(up)),
        ];
        for value in audits {
            if self.fresh(value) && !(last..=first).contains(&value) {
                return run(value, Why::Audit);
            }
        }
        Err(between > 1)
    }

    /// More than one flip: consecutive values from the first flip on show whether it repeats.
    fn map(&self, from: u64) -> Step {
        let Range { step, .. } = self.range;
        let start = self
            .range
            .at(from.min(self.range.last().saturating_sub((WINDOW - 1) * step).max(self.range.low)));
        let window: Vec<u64> =
            (0..WINDOW).map(|i| start + i * step).filter(|value| *value <= self.range.last()).collect();
        if let Some(value) = window.iter().copied().find(|value| self.fresh(*value)) {
            return Step::Run { value, why: Why::Map };
        }
        let seen: Vec<(u64, bool)> =
            self.known().into_iter().filter(|(value, _)| window.contains(value)).collect();
        let period = super::period(&seen, step);
        // What fits the window must fit everything else that was run.
        let period = period.filter(|length| {
            self.known().iter().all(|(value, corrupt)| {
                seen.iter()
                    .any(|(other, c)| (value / step) % length == (other / step) % length && c == corrupt)
            })
        });
        Step::Done(Outcome {
            shape: Shape::NotMonotone { period: period.map(|length| length * step) },
            runs: self.runs(),
        })
    }
}

fn word(corrupt: bool) -> Answer {
    if corrupt { Answer::Corrupt } else { Answer::Clean }
}
