//! Live progress: bars on a terminal, one line an event otherwise.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

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
    cached: usize,
    clock: Instant,
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
            cached: 0,
            clock: Instant::now(),
        }
    }

    /// A line above the bars.
    pub fn line(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.multi.suspend(|| eprintln!("{text}")),
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
                self.builds = *builds;
                if let Some(bars) = &self.bars {
                    bars.build.set_length(*builds as u64);
                    bars.run.set_length(self.runs as u64);
                }
            }
            Event::BuildStarted { name } => {
                if let Some(bars) = &self.bars {
                    bars.build.set_message(format!("{name}…"));
                }
            }
            Event::BuildFinished { name, seconds, cached, error } => {
                self.built += 1;
                self.cached += usize::from(*cached);
                self.build_finished(name, *seconds, *cached, *error);
            }
            Event::RunStarted { arm, .. } => {
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

    fn build_finished(&self, name: &str, seconds: f64, cached: bool, error: Option<&str>) {
        if let Some(error) = error {
            self.line(&format!("build    {name} FAILED after {seconds:.1} s: {error}"));
        } else if self.bars.is_none() {
            let how = if cached { "from cache".into() } else { format!("{seconds:.1} s") };
            self.line(&format!("build    {name} {how} ({}/{})", self.built, self.builds));
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
        let unexpected = record.as_expected == Some(false);
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
                    Some(false) => ", UNEXPECTED",
                    None => "",
                };
                self.line(&format!(
                    "run      {}/{} {} #{}: {}{expected} ({:.1} s)",
                    self.done,
                    self.runs,
                    record.arm,
                    record.repeat,
                    record.verdict.word(),
                    record.wall_seconds
                ));
            }
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
