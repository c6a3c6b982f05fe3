//! A search written down: what was asked (`search.json`) and what came of it (`found.json`). With the recorded runs this is
//! enough to decide again without running anything.

use serde::{Deserialize, Serialize};

use super::search::{Search, Settings, Step};
use super::verdict::{Found, Oddity};
use super::{Ground, Tally, hunt};
use crate::probe::{Answer, Seen, Stop, Target};

/// Version of both files.
pub const VERSION: u32 = 1;

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Looking {
    /// The first place that fails.
    Broken,
    /// The first place that does not fail any more. Positions then run backwards in time: 0 is the newest.
    Fixed,
}

/// One place of the axis, in the order of the search: 0 is good.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub label: String,
    /// Further places with the very same build, which are this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_as: Vec<String>,
    /// Id of the arm that runs it.
    pub arm: String,
    /// Content hash of its driver build, where it is known before the search.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
    /// Why it cannot be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    /// Answers that were measured before this search.
    #[serde(default)]
    pub reused: Tally,
}

/// `search.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub version: u32,
    pub verb: String,
    pub matrix: String,
    /// Id of the arm as the matrix has it.
    pub arm: String,
    pub looking: Looking,
    pub target: Target,
    pub settings: Settings,
    /// Runs that are asked for at once.
    pub batch: u32,
    pub places: Vec<Place>,
}

impl Question {
    /// The search at its start: with what is known before the first run.
    pub fn search(&self) -> Search {
        let mut search = Search::new(self.places.len(), self.settings);
        for (position, place) in self.places.iter().enumerate() {
            if place.broken.is_some() {
                for _ in 0..self.settings.untestable_after {
                    search.record(position, Answer::Untestable);
                }
            }
            search.preload(position, place.reused);
        }
        search
    }

    pub fn label(&self, position: usize) -> String {
        self.places.get(position).map_or_else(|| position.to_string(), |place| place.label.clone())
    }
}

/// `found.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    pub version: u32,
    pub runs: u32,
    pub tallies: Vec<Tally>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<Oddity>,
}

impl Conclusion {
    pub fn of(search: &Search, end: &Step) -> Conclusion {
        let (found, contradiction) = match end {
            Step::Done(found) => (Some(found.clone()), None),
            Step::Contradiction(oddity) => (None, Some(oddity.clone())),
            Step::Run { .. } => (None, None),
        };
        let tallies = search.tallies().to_vec();
        let runs = tallies.iter().map(|t| t.all()).sum();
        Conclusion { version: VERSION, runs, tallies, found, contradiction }
    }

    /// Whether both say the same; a confidence may lose its last digit on the way through a file.
    pub fn agrees_with(&self, other: &Conclusion) -> bool {
        let bare = |conclusion: &Conclusion| {
            let found = conclusion
                .found
                .clone()
                .map(|found| (found.first, found.or_from, found.last_good, found.certain));
            let odd = conclusion.found.as_ref().map_or(0, |found| found.oddities.len());
            let contradiction = conclusion.contradiction.as_ref().map(std::mem::discriminant);
            (conclusion.version, conclusion.runs, conclusion.tallies.clone(), found, odd, contradiction)
        };
        let confidence =
            |conclusion: &Conclusion| conclusion.found.as_ref().map_or(0.0, |found| found.confidence);
        bare(self) == bare(other) && (confidence(self) - confidence(other)).abs() < 1e-9
    }
}

/// A search decided again from its record.
#[derive(Clone, Debug)]
pub struct Retraced {
    pub search: Search,
    /// `None`: the record ends before a conclusion.
    pub end: Option<Step>,
    /// One line a step, as it was said when it was run.
    pub said: Vec<String>,
}

/// Decides again. `look_up`: what the run (arm id, repeat) said, if it is recorded. `Err`: the record fits no search.
pub fn retrace(question: &Question, look_up: impl Fn(&str, u32) -> Option<Seen>) -> Result<Retraced, Stop> {
    let mut ground = Recorded { question, look_up, said: Vec::new() };
    let mut search = question.search();
    let end = match hunt(&mut search, &mut ground) {
        Ok(end) => Some(end),
        Err(Stop::Budget(_)) => None,
        Err(other) => return Err(other),
    };
    Ok(Retraced { search, end, said: ground.said })
}

impl Retraced {
    /// What came of it, or how far it is.
    pub fn conclusion(&self) -> Conclusion {
        let next = self.search.next();
        Conclusion::of(&self.search, self.end.as_ref().unwrap_or(&next))
    }
}

/// The recorded runs as a ground: running is looking up.
struct Recorded<'a, F> {
    question: &'a Question,
    look_up: F,
    said: Vec<String>,
}

impl<F: Fn(&str, u32) -> Option<Seen>> Ground for Recorded<'_, F> {
    fn label(&self, position: usize) -> String {
        self.question.label(position)
    }

    fn run(&mut self, position: usize, repeats: std::ops::Range<u32>) -> Result<Vec<Seen>, Stop> {
        let arm = self.question.places.get(position).map_or("", |place| place.arm.as_str());
        let seen: Vec<Seen> = repeats.filter_map(|repeat| (self.look_up)(arm, repeat)).collect();
        if seen.is_empty() { Err(Stop::Budget("the record ends here".into())) } else { Ok(seen) }
    }

    fn width(&self) -> u32 {
        self.question.batch
    }

    fn say(&mut self, line: &str) {
        self.said.push(line.to_owned());
    }
}
