//! The places of an axis, run by the one prober.

use std::ops::Range;

use super::axis::{Axis, Source};
use super::git::Workshop;
use crate::bisect::Ground;
use crate::bisect::record::Question;
use crate::cmd::prober::{Prepared, Prober};
use crate::model::arm::Arm;
use crate::probe::{Probe, Seen, Stop};

/// See the module.
pub struct Places<'a> {
    pub prober: Prober,
    pub prepared: &'a Prepared,
    pub axis: &'a Axis,
    pub question: &'a Question,
    pub workshop: Option<Workshop>,
}

impl Places<'_> {
    /// Builds a commit. The error is why it cannot be tested.
    fn commit(&mut self, hash: &str, driver: &str) -> Result<Result<(), String>, Stop> {
        let Some(workshop) = &self.workshop else {
            return Err(Stop::Failed("no build command for a commit".into()));
        };
        let built = match self.prepared.store.resolve(driver) {
            Ok(tree) => Ok(tree),
            Err(_) => {
                self.prober.say(&format!("build    {hash}"));
                workshop.build(&self.prepared.store, hash, driver)
            }
        };
        match built {
            Ok(tree) => self.prober.add_driver(driver, tree).map(Ok),
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// Nothing is to be built for runs that are all recorded.
    fn known(&self, arm: &Arm, repeats: &Range<u32>) -> bool {
        repeats.clone().all(|repeat| self.prober.record(&arm.id, repeat).is_some())
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
            Some(Source::Commit { arm, .. }) if self.known(arm, &repeats) => self.prober.probe(arm, repeats),
            Some(Source::Commit { hash, driver, arm }) => match self.commit(hash, driver)? {
                Ok(()) => self.prober.probe(arm, repeats),
                // As in `run`: what a build failure leaves untested is on record, so that the search can be retraced.
                Err(reason) => self.prober.not_built(arm, repeats, &reason),
            },
            // Known before the search, which does not ask for it.
            Some(Source::Broken(reason)) => {
                Err(Stop::Failed(format!("a broken place was to be run: {reason}")))
            }
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
