//! Live progress: bars on a terminal, one line an event otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::model::build::BuildRecord;
use crate::model::outcome::RunRecord;
use crate::run::event::Event;

/// Draws to stderr; results (table, findings) go to stdout, so that they can be piped.
pub struct Screen {
    bars: Option<Bars>,
    verdicts: BTreeMap<&'static str, usize>,
    unexpected: usize,
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
}

struct Bars {
    multi: MultiProgress,
    build: ProgressBar,
    run: ProgressBar,
}

impl Screen {
    /// `plain`: no bars even on a terminal.
    pub fn new(plain: bool) -> Self {
        let bars = (!plain && std::io::stderr().is_terminal()).then(Bars::new);
        Screen {
            bars,
            verdicts: BTreeMap::new(),
            unexpected: 0,
            runs: 0,
            done: 0,
            builds: 0,
            built: 0,
            known: BTreeSet::new(),
            cached: 0,
            clock: Instant::now(),
            first_run: None,
        }
    }

    /// A line above the bars.
    pub fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.multi.suspend(|| drop(writeln!(std::io::stderr(), "{text}"))),
            // A closed stderr must not end the run.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    /// One event.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Planned { runs, builds, .. } => {
                // A matrix under a stopping rule is dispatched in rounds: they add up.
                self.runs = self.done + *runs;
                self.builds = self.builds.max(*builds);
                if let Some(bars) = &self.bars {
                    bars.build.set_length(self.builds as u64);
                    bars.run.set_length(self.runs as u64);
                }
            }
            Event::BuildStarted { name } => {
                if let Some(bars) = &self.bars {
                    bars.build.set_message(format!("{name}…"));
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
                    bars.run.set_message(format!("{}  {arm}", self.tally()));
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
            bars.build.inc(1);
            if self.built == self.builds {
                bars.build.finish_with_message(format!("({} from cache)", self.cached));
            }
        }
    }

    fn run_finished(&mut self, record: &RunRecord) {
        self.done += 1;
        *self.verdicts.entry(record.verdict.word()).or_default() += 1;
        // The words of the table: a run without a verdict on the driver is neither expected nor unexpected.
        let unexpected = record.as_expected == Some(false) && record.verdict.answers();
        self.unexpected += usize::from(unexpected);
        match &self.bars {
            Some(bars) => {
                bars.run.inc(1);
                bars.run.set_message(self.tally());
                if unexpected {
                    self.line(&format!("unexpected  {}: {}", record.arm, record.unmet.join("; ")));
                }
            }
            None => {
                let expected = match record.as_expected {
                    Some(true) => ", as expected",
                    Some(false) if unexpected => ", UNEXPECTED",
                    Some(false) => ", no verdict",
                    None => "",
                };
                self.line(&format!(
                    "run      {}/{} {} #{}: {}{expected} ({:.1} s){}",
                    self.done,
                    self.runs,
                    record.arm,
                    record.repeat,
                    record.verdict.word(),
                    record.wall_seconds,
                    self.remaining()
                ));
            }
        }
    }

    /// "; about 2m 10s left", once there is something to judge by.
    fn remaining(&self) -> String {
        let passed = self.first_run.map_or(Duration::ZERO, |first| first.elapsed());
        match left(passed, self.done, self.runs) {
            Some(left) => format!("; about {} left", humantime::format_duration(left)),
            None => String::new(),
        }
    }

    /// "clean 17 · corrupt 9 · unexpected 0".
    fn tally(&self) -> String {
        let mut parts: Vec<String> = self.verdicts.iter().map(|(word, n)| format!("{word} {n}")).collect();
        parts.push(format!("unexpected {}", self.unexpected));
        parts.join(" · ")
    }

    /// Takes the bars off the screen.
    pub fn finish(&self) {
        if let Some(bars) = &self.bars {
            bars.build.finish_and_clear();
            bars.run.finish_and_clear();
        }
        let took = Duration::from_secs(self.clock.elapsed().as_secs());
        self.line(&format!(
            "done     {} of {} runs in {}: {}",
            self.done,
            self.runs,
            humantime::format_duration(took),
            self.tally()
        ));
    }
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

impl Bars {
    fn new() -> Self {
        let multi = MultiProgress::new();
        let style = |template: &str| {
            ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_bar())
                .progress_chars("━╸─")
        };
        let build = multi.add(ProgressBar::new(0));
        build.set_style(style("build    {bar:24} {pos}/{len}  {elapsed} {msg}"));
        let run = multi.add(ProgressBar::new(0));
        run.set_style(style("run      {bar:24} {pos}/{len}  {msg}  about {eta} left"));
        run.enable_steady_tick(Duration::from_millis(250));
        Bars { multi, build, run }
    }
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
