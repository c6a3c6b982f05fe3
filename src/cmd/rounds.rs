//! Which cells to run next when a stopping rule, not a number, ends the arms.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::report::aggregate::ArmSummary;
use crate::report::rates;
use crate::run::dispatcher::Cell;
use crate::stats::stopping::StopRule;

/// The cells that are left, handed out a few repeats at a time so that arms are looked at in between.
pub struct Rounds<'a> {
    rule: &'a StopRule,
    left: Vec<Cell>,
    clock: Instant,
    pub out_of_time: bool,
}

impl<'a> Rounds<'a> {
    pub fn new(rule: &'a StopRule, cells: Vec<Cell>) -> Self {
        Rounds { rule, left: cells, clock: Instant::now(), out_of_time: false }
    }

    /// When the time is over.
    pub fn until(&self) -> Option<Instant> {
        self.clock.checked_add(self.rule.max_time?)
    }

    /// The next cells, `at_least` so many where so many are left; empty: every arm is done, or the time is over.
    pub fn next(&mut self, arms: &[Arm], records: &[RunRecord], at_least: usize) -> Vec<Cell> {
        let mut of_arm: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
        for record in records {
            of_arm.entry(&record.arm).or_default().push(record);
        }
        let done: Vec<bool> = arms
            .iter()
            .map(|arm| {
                let records = of_arm.get(arm.id.as_str()).map_or(&[][..], Vec::as_slice);
                let summary = ArmSummary::of(arm, records);
                self.rule.done(rates::tally(records, summary.rate_of)).is_some()
            })
            .collect();
        self.left.retain(|cell| !done.get(cell.arm).copied().unwrap_or(true));
        if self.rule.max_time.is_some_and(|most| self.clock.elapsed() >= most) && !self.left.is_empty() {
            self.out_of_time = true;
            return Vec::new();
        }
        // Whole rounds: the arms of a comparison stay together.
        let mut repeats: Vec<u32> = self.left.iter().map(|cell| cell.repeat).collect();
        repeats.sort_unstable();
        repeats.dedup();
        let mut upto = 0;
        let mut taken = 0;
        for repeat in repeats {
            if taken >= at_least.max(1) {
                break;
            }
            upto = repeat;
            taken += self.left.iter().filter(|cell| cell.repeat == repeat).count();
        }
        let (now, later) = std::mem::take(&mut self.left).into_iter().partition(|cell| cell.repeat <= upto);
        self.left = later;
        now
    }
}
