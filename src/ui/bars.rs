//! The four lines at the foot of a terminal while a matrix runs: builds, runs, verdicts so far, the last finding. Each is
//! cut at the terminal's width, and each is redrawn in its place.

use std::io::Write;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

pub(super) struct Bars {
    multi: MultiProgress,
    build: ProgressBar,
    run: ProgressBar,
    verdicts: ProgressBar,
    found: ProgressBar,
}

impl Bars {
    pub(super) fn new() -> Self {
        let multi = MultiProgress::new();
        let add = |template: &str| {
            let bar = multi.add(ProgressBar::new(0));
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .progress_chars("━╸─"),
            );
            bar
        };
        // `wide_msg` takes what is left of the line and cuts there.
        let build = add("build    {bar:16} {pos}/{len}  {elapsed}  {wide_msg}");
        let run = add("run      {bar:16} {pos}/{len}  {prefix}  about {eta} left  {wide_msg}");
        let verdicts = add("so far   {wide_msg}");
        let found = add("found    {wide_msg}");
        found.set_message("nothing yet");
        run.enable_steady_tick(Duration::from_millis(250));
        Bars { multi, build, run, verdicts, found }
    }

    /// Above the bars, in lines that fit; what goes on is indented.
    pub(super) fn line(&self, text: &str) {
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| width.0);
        let text = wrapped(text, usize::from(width));
        // A closed stderr must not end the run.
        self.multi.suspend(|| drop(writeln!(std::io::stderr(), "{text}")));
    }

    pub(super) fn lengths(&self, builds: usize, runs: usize) {
        self.build.set_length(builds as u64);
        self.run.set_length(runs as u64);
    }

    pub(super) fn counts(&self, verdicts: &str, arms: &str) {
        self.verdicts.set_message(verdicts.to_owned());
        self.run.set_prefix(arms.to_owned());
    }

    pub(super) fn building(&self, name: &str) {
        self.build.set_message(format!("{name}…"));
    }

    /// `all`: nothing is left to build; how many came from the cache.
    pub(super) fn built(&self, all: Option<usize>) {
        self.build.inc(1);
        if let Some(cached) = all {
            self.build.finish_with_message(format!("({cached} from cache)"));
        }
    }

    /// "over/file-r 3/10".
    pub(super) fn running(&self, arm: &str) {
        self.run.set_message(arm.to_owned());
    }

    pub(super) fn ran(&self, verdicts: &str, arms: &str) {
        self.run.inc(1);
        self.counts(verdicts, arms);
    }

    pub(super) fn found(&self, what: &str) {
        self.found.set_message(what.lines().next().unwrap_or_default().to_owned());
    }

    pub(super) fn clear(&self) {
        for bar in [&self.build, &self.run, &self.verdicts, &self.found] {
            bar.finish_and_clear();
        }
    }
}

/// Column at which the text of a line begins, behind its word.
const INDENT: usize = 9;

/// Broken between words; a word that is longer than a line stays whole, so that a path can be copied. Columns are counted
/// as characters.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let mut column = 0;
        // The first word keeps the spaces behind it.
        for word in line.split_inclusive(' ') {
            let length = word.trim_end().chars().count();
            if column + length > width && column > INDENT {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.push_str(&" ".repeat(INDENT));
                column = INDENT;
            }
            out.push_str(word);
            column += word.chars().count();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_lose_none() {
        let text = "device   a simulated Arc A770 with a long word about what it is and why it is so";
        let out = wrapped(text, 40);
        assert!(out.lines().all(|line| line.chars().count() <= 40), "{out}");
        assert!(out.starts_with("device   a simulated") && out.contains("\n         "), "{out}");
        assert_eq!(out.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        let path = format!("results  /{}", "long/".repeat(20));
        assert_eq!(wrapped(&path, 40), path, "a path stays whole");
        assert_eq!(wrapped("one\ntwo", 40), "one\ntwo");
    }
}
