//! Plays a [`Search`] against something that can be run.

use std::ops::Range;

use super::forecast;
use super::search::{Search, Step, Why};
use super::verdict::Oddity;
use crate::probe::{Answer, Seen, Stop};

/// What is searched: positions in order, each of which can be run.
pub trait Ground {
    /// What a person calls the position.
    fn label(&self, position: usize) -> String;
    /// Runs it; (position, repeat) names one run for ever.
    fn run(&mut self, position: usize, repeats: Range<u32>) -> Result<Vec<Seen>, Stop>;
    /// Runs that cost no more time together than one.
    fn width(&self) -> u32;
    fn say(&mut self, line: &str);
}

/// Runs until the search ends. Answers that `search` holds already (measured before) are not run again.
pub fn hunt(search: &mut Search, ground: &mut dyn Ground) -> Result<Step, Stop> {
    let mut made = vec![0_u32; search.tallies().len()];
    let mut reasons: Vec<Option<String>> = vec![None; search.tallies().len()];
    let (mut total, mut seconds) = (0_u32, 0.0);
    loop {
        let (position, why) = match search.next() {
            Step::Run { position, why } => (position, why),
            Step::Contradiction(Oddity::EndUntestable { position, .. }) => {
                let reason = reasons.get(position).cloned().flatten();
                return Ok(Step::Contradiction(Oddity::EndUntestable { position, reason }));
            }
            end @ (Step::Done(_) | Step::Contradiction(_)) => return Ok(end),
        };
        let Some(next) = made.get_mut(position) else {
            return Err(Stop::Failed(format!("position {position} is outside of the range")));
        };
        let seen = ground.run(position, *next..next.saturating_add(ground.width().max(1)))?;
        if seen.is_empty() {
            return Err(Stop::Budget("no run is left to make".into()));
        }
        *next = next.saturating_add(u32::try_from(seen.len()).unwrap_or(u32::MAX));
        total = total.saturating_add(u32::try_from(seen.len()).unwrap_or(u32::MAX));
        for one in &seen {
            search.record(position, one.answer);
        }
        if let (Some(reason), Some(kept)) = (why_untestable(&seen), reasons.get_mut(position)) {
            *kept = Some(reason.to_owned());
        }
        // Runs of one portion go side by side.
        seconds += seen.iter().map(|one| one.seconds).fold(0.0, f64::max);
        let each = seconds / f64::from(total.max(1));
        let line = progress(search, ground, position, why, &seen, total) + &ahead(search, each);
        ground.say(&line);
    }
}

fn progress(
    search: &Search,
    ground: &dyn Ground,
    position: usize,
    why: Why,
    seen: &[Seen],
    total: u32,
) -> String {
    let tally = search.tallies().get(position).copied().unwrap_or_default();
    let reason = why_untestable(seen).map(|reason| format!(" ({})", one_line(reason))).unwrap_or_default();
    let mut line = format!(
        "{:<8} {}: corrupt {}/{} in all{}{reason}",
        why.word(),
        ground.label(position),
        tally.corrupt,
        tally.testable(),
        if tally.untestable > 0 { format!(", {} untestable", tally.untestable) } else { String::new() },
    );
    if let Some((from, to, share)) = left(search) {
        line.push_str(&format!(
            "   left {} … {} ({:.1} %), {total} runs",
            ground.label(from),
            ground.label(to),
            share * 100.0
        ));
    }
    line
}

/// "; about 12 more (8s)": an estimate, from what is believed by now and the time that a run took so far.
fn ahead(search: &Search, seconds: f64) -> String {
    let runs = forecast::runs_left(search);
    if runs == 0 {
        return String::new();
    }
    let least = if runs >= forecast::MOST { "more than " } else { "about " };
    let time = std::time::Duration::try_from_secs_f64((f64::from(runs) * seconds).ceil()).unwrap_or_default();
    format!("; {least}{runs} more ({})", humantime::format_duration(time))
}

/// The shortest run of positions around the likeliest that holds 95 % of the probability.
fn left(search: &Search) -> Option<(usize, usize, f64)> {
    let posterior = search.posterior()?;
    let (mut from, mut to) = (posterior.likeliest(), posterior.likeliest());
    let last = search.tallies().len().checked_sub(1)?;
    loop {
        let share = posterior.within(from..=to);
        if share >= 0.95 || (from == 0 && to == last) {
            return Some((from, to, share));
        }
        let of = |i: usize| posterior.first.get(i).copied().unwrap_or(0.0);
        let down = if from > 0 { of(from - 1) } else { -1.0 };
        let up = if to < last { of(to + 1) } else { -1.0 };
        if down >= up { from -= 1 } else { to += 1 }
    }
}

fn why_untestable(seen: &[Seen]) -> Option<&str> {
    seen.iter().find_map(|one| match one.answer {
        Answer::Untestable => one.reason.as_deref(),
        Answer::Corrupt | Answer::Clean => None,
    })
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(160).collect()
}
