//! `repro-matrix watch`.

use std::time::Duration;

use crate::cli::watch::WatchArgs;
use crate::cmd::Failure;
use crate::exit::Exit;
use crate::report::{Report, headline::Headline};
use crate::results::{Manifest, follow::Follower, load_lenient};
use crate::run::event::Event;
use crate::ui::Screen;

/// Short enough to feel live, long enough to cost nothing.
const PERIOD: Duration = Duration::from_millis(300);

pub fn watch(args: &WatchArgs) -> Result<Exit, Failure> {
    let (loaded, _) = load_lenient(&args.dir).map_err(|error| Failure::new(error.exit(), error))?;
    let Manifest { matrix, device, arms, .. } = &loaded.manifest;
    let runs: usize = arms.iter().map(|arm| arm.repeats as usize).sum();
    let of_arm = arms.iter().map(|arm| (arm.id.as_str(), arm.repeats as usize)).collect();
    let mut screen = Screen::new(false);
    screen.line(&format!(
        "watch    {}: {matrix} on {device}, {} arms, {runs} runs",
        args.dir.display(),
        arms.len()
    ));
    screen.event(&Event::Planned { arms: of_arm, runs, builds: 0 });
    let mut follower = Follower::new(&args.dir);
    let lives = loop {
        // Asked first: what a writer that ends now has written is still read below.
        let lives = follower.writer_lives();
        let news = follower.look().map_err(|error| Failure::new(error.exit(), error))?;
        for record in &news.records {
            screen.event(&Event::RunFinished { record });
        }
        if news.unread > 0 {
            screen.line(&format!("{} lines cannot be read by this build", news.unread));
        }
        if !lives || args.once {
            screen.finish();
            break lives;
        }
        std::thread::sleep(PERIOD);
    };
    let (loaded, problems) = load_lenient(&args.dir).map_err(|error| Failure::new(error.exit(), error))?;
    // What a living writer has not ended yet is not lost.
    let lost = !lives && problems.iter().any(|problem| problem.loses_runs);
    if lost {
        problems.iter().for_each(|problem| screen.line(&format!("warning: {problem}")));
    }
    let report = Report::of(vec![loaded], problems);
    crate::cmd::say::print(&format!("{}\n", Headline::of(&report).text))?;
    Ok(match report.sections.first().map_or(Exit::Inconclusive, |section| section.exit) {
        Exit::AsExpected | Exit::OnlyImprovements if lost => Exit::IncompatibleRecording,
        exit => exit,
    })
}
