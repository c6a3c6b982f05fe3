//! The places of an axis, run by the one prober.

use std::ops::Range;

use super::axis::{Axis, Source};
use super::git::Workshop;
use crate::bisect::Ground;
use crate::bisect::record::Question;
use crate::cmd::prober::{Prepared, Prober};
use crate::probe::{Answer, Probe, Seen, Stop};

/// See the module.
pub struct Places<'a> {
    pub prober: Prober,
    pub prepared: &'a Prepared,
    pub axis: &'a Axis,
    pub question: &'a Question,
    pub workshop: Option<Workshop>,
}

impl Places<'_> {
    /// Builds a commit unless its runs are all recorded. The error is why it cannot be tested.
    fn commit(&mut self, hash: &str, driver: &str) -> Result<Result<(), String>, Stop> {
        let Some(workshop) = &self.workshop else {
            return Err(Stop::Failed("no build command for a commit".into()));
        };
        if self.prober.manifest().drivers.contains_key(driver)
            && let Ok(tree) = self.prepared.store.resolve(driver)
        {
            return self.prober.add_driver(driver, tree).map(Ok);
        }
        self.prober.say(&format!("build    {hash}"));
        match workshop.build(&self.prepared.store, hash, driver) {
            Ok(tree) => self.prober.add_driver(driver, tree).map(Ok),
            Err(reason) => Ok(Err(reason)),
        }
    }
}

impl Ground for Places<'_> {
    fn label(&self, position: usize) -> String {
        self.question.label(position)
    }

    fn run(&mut self, position: usize, repeats: Range<u32>) -> Result<Vec<Seen>, Stop> {
        let axis = self.axis;
        match axis.sources.get(position) {
            Some(Source::Ready(arm)) => self.prober.probe(arm, repeats),
            Some(Source::Commit { hash, driver, arm }) => match self.commit(hash, driver)? {
                Ok(()) => self.prober.probe(arm, repeats),
                // Not recorded as runs: nothing ran. The store has no such build, so a resumed search tries again.
                Err(reason) => Ok(repeats.map(|_| untestable(&reason)).collect()),
            },
            Some(Source::Broken(reason)) => Ok(repeats.map(|_| untestable(reason)).collect()),
            None => Err(Stop::Failed(format!("position {position} is outside of the axis"))),
        }
    }

    fn width(&self) -> u32 {
        self.question.batch
    }

    fn say(&mut self, line: &str) {
        self.prober.say(line);
    }
}

fn untestable(reason: &str) -> Seen {
    Seen {
        answer: Answer::Untestable,
        verdict: "build-failed".into(),
        signature: "build-failed".into(),
        seconds: 0.0,
        reason: Some(reason.to_owned()),
    }
}
