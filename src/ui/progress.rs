//! Live progress: bars on a terminal, one line an event otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime};

use crate::model::build::BuildRecord;
use crate::model::outcome::RunRecord;
use crate::report::aggregate::reason;
use crate::run::event::Event;

use super::bars::Bars;

/// Draws to stderr; results (table, findings) go to stdout, so that they can be piped.
pub struct Screen {
    bars: Option<Bars>,
    verdicts: BTreeMap<&'static str, usize>,
    unexpected: usize,
    /// Arm → runs that are done and that are planned.
    arms: BTreeMap<String, (usize, usize)>,
    runs: usize,
    done: usize,
    builds: usize,
    built: usize,
    /// What was built: later rounds of a stopping rule ask for it again.
    known: BTreeSet<String>,
    cached: usize,
    clock: Instant,
    /// When the first run began: builds before it say nothing of how long the runs take.
    first_run: Option<Instant>,
    /// From the first run's start to the last one's end, by the records: the times of a run that is watched.
    recorded: Option<(SystemTime, SystemTime)>,
}

impl Screen {
    /// `plain`: no bars even on a terminal.
    pub fn new(plain: bool) -> Self {
        let bars = (!plain && std::io::stderr().is_terminal()).then(Bars::new);
        Screen {
            bars,
            verdicts: BTreeMap::new(),
            unexpected: 0,
            arms: BTreeMap::new(),
            runs: 0,
            done: 0,
            builds: 0,
            built: 0,
            known: BTreeSet::new(),
            cached: 0,
            clock: Instant::now(),
            first_run: None,
            recorded: None,
        }
    }

    /// A line above the bars.
    pub fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.line(text),
            // A closed stderr must not end the run.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    /// One event.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { arms, runs, builds } => {
                // A matrix under a stopping rule is dispatched in rounds: they add up.
                self.runs = self.done + *runs;
                self.builds = self.builds.max(*builds);
                for (arm, runs) in arms {
                    let (done, planned) = self.arms.entry((*arm).to_owned()).or_default();
                    *planned = *done + *runs;
                }
                if let Some(bars) = &self.bars {
                    bars.lengths(self.builds, self.runs);
                    bars.counts(&self.tally(), &self.arms_done());
                }
            }
            Event::BuildStarted { name } => {
                if let Some(bars) = &self.bars {
                    bars.building(name);
                }
            }
            Event::BuildFinished { name, cached: true, error: None, records: [], .. }
                if self.known.contains(*name) => {}
            Event::BuildFinished { name, seconds, cached, error, records } => {
                self.known.insert((*name).to_owned());
                self.built += 1;
                self.cached += usize::from(*cached);
                self.build_finished(name, *seconds, *cached, *error, records);
            }
            Event::RunStarted { arm, .. } => {
                self.first_run.get_or_insert_with(Instant::now);
                if let Some(bars) = &self.bars {
                    let (done, planned) = self.arms.get(*arm).copied().unwrap_or_default();
                    bars.running(&format!("{arm} {}/{planned}", done + 1));
                }
            }
            Event::RunFinished { record } => self.run_finished(record),
            Event::RunStopped { arm, repeat } => {
                self.line(&format!("stopped  {arm} #{repeat} (not recorded)"))
            }
            Event::Stopping => {
                self.line("stopping: running arms are being ended (again to kill them at once)")
            }
        }
    }

    fn build_finished(
        &self,
        name: &str,
        seconds: f64,
        cached: bool,
        error: Option<&str>,
        records: &[BuildRecord],
    ) {
        for record in records {
            for note in &record.notes {
                self.line(&format!("note     build {}: {note}", record.variant));
            }
        }
        if let Some(error) = error {
            self.line(&format!("build    {name} FAILED after {seconds:.1} s: {error}"));
        } else if self.bars.is_none() {
            let took = if cached { "from cache".into() } else { format!("{seconds:.1} s") };
            let how: Vec<String> = records.iter().map(BuildRecord::how).collect();
            let how = if how.is_empty() { String::new() } else { format!(": {}", how.join("; ")) };
            self.line(&format!("build    {}/{} {name} {took}{how}", self.built, self.builds));
        }
        if let Some(bars) = &self.bars {
            bars.built((self.built == self.builds).then_some(self.cached));
        }
    }

    fn run_finished(&mut self, record: &RunRecord) {
        self.done += 1;
        self.note_times(record);
        self.arms.entry(record.arm.clone()).or_default().0 += 1;
        *self.verdicts.entry(record.verdict.word()).or_default() += 1;
        // The words of the table: a run without a verdict on the driver is neither expected nor unexpected.
        let unexpected = record.as_expected == Some(false) && record.verdict.answers();
        self.unexpected += usize::from(unexpected);
        let expected = match record.as_expected {
            Some(true) => ", as expected",
            Some(false) if unexpected => ", UNEXPECTED",
            Some(false) => ", no verdict",
            None if !record.not_measured.is_empty() => ", not measured",
            None => "",
        };
        let told = format!("{} #{}: {}{expected}", record.arm, record.repeat, record.verdict.word());
        let found = finding(record);
        match &self.bars {
            Some(bars) => {
                bars.ran(&self.tally(), &self.arms_done());
                if let Some(found) = found {
                    bars.found(&format!("{told}; {found}"));
                }
                if unexpected {
                    self.line(&format!("unexpected  {}: {}", record.arm, record.unmet.join("; ")));
                }
            }
            None => {
                self.line(&format!(
                    "run      {}/{} {told} ({:.1} s){}",
                    self.done,
                    self.runs,
                    record.wall_seconds,
                    self.remaining()
                ));
                if let Some(found) = found {
                    self.line(&format!("found    {}: {found}", record.arm));
                }
            }
        }
    }

    /// "; about 2m 10s left", once there is something to judge by.
    fn remaining(&self) -> String {
        let passed = self.first_run.map(|first| first.elapsed()).or_else(|| self.recorded_time());
        match passed.and_then(|passed| left(passed, self.done, self.runs)) {
            Some(left) => format!("; about {} left", humantime::format_duration(left)),
            None => String::new(),
        }
    }

    fn note_times(&mut self, record: &RunRecord) {
        let Ok(began) = humantime::parse_rfc3339(&record.started) else { return };
        let wall = Duration::try_from_secs_f64(record.wall_seconds).unwrap_or_default();
        let ended = began.checked_add(wall).unwrap_or(began);
        let (first, last) = self.recorded.unwrap_or((began, ended));
        self.recorded = Some((first.min(began), last.max(ended)));
    }

    fn recorded_time(&self) -> Option<Duration> {
        self.recorded.and_then(|(first, last)| last.duration_since(first).ok())
    }

    /// "clean 17 · corrupt 9 · unexpected 0".
    fn tally(&self) -> String {
        let mut parts: Vec<String> = self.verdicts.iter().map(|(word, n)| format!("{word} {n}")).collect();
        parts.push(format!("unexpected {}", self.unexpected));
        parts.join(" · ")
    }

    /// "12/45 arms".
    fn arms_done(&self) -> String {
        let done = self.arms.values().filter(|(done, planned)| done >= planned).count();
        format!("{done}/{} arms", self.arms.len())
    }

    /// Takes the bars off the screen.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.clear();
        }
        let started_here = self.first_run.map(|_| self.clock.elapsed());
        let took = started_here.or_else(|| self.recorded_time()).unwrap_or_else(|| self.clock.elapsed());
        let took = Duration::from_secs(took.as_secs());
        self.line(&format!(
            "done     {} of {} runs in {}: {}",
            self.done,
            self.runs,
            humantime::format_duration(took),
            self.tally()
        ));
    }
}

/// What a run that is not clean shows: the verdict's own reason, else what the device or the data say, in the judge's
/// words. `None` for a clean run.
fn finding(record: &RunRecord) -> Option<String> {
    if record.verdict.word() == "clean" {
        return None;
    }
    let says = |instrument: &str| {
        record.evidence.iter().find(|e| e.instrument == instrument).map(|e| e.says.clone())
    };
    reason(&record.verdict).or_else(|| says("sim")).or_else(|| says("data"))
}

/// Time for the runs that are not done, if they take what the done ones took; in whole seconds, from a minute on in
/// tens. `None` for fewer than three, and at the end.
fn left(passed: Duration, done: usize, runs: usize) -> Option<Duration> {
    let rest = runs.checked_sub(done).filter(|rest| *rest > 0)?;
    if done < 3 {
        return None;
    }
    let seconds = (passed.as_secs_f64() / done as f64 * rest as f64).ceil() as u64;
    Some(Duration::from_secs(if seconds >= 60 { seconds.next_multiple_of(10) } else { seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_when_it_can_be_judged() {
        let left = |seconds, done, runs| left(Duration::from_secs(seconds), done, runs).map(|d| d.as_secs());
        assert_eq!(left(10, 2, 50), None, "too early");
        assert_eq!(left(10, 5, 5), None, "nothing is left");
        assert_eq!(left(10, 5, 10), Some(10));
        assert_eq!(left(100, 5, 10), Some(100));
        assert_eq!(left(31, 3, 9), Some(70), "62 s, in tens");
        assert_eq!(left(1, 6, 5), None, "more than planned");
    }
}
