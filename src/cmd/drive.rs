//! Drives a planned matrix to its end: recorder, dispatcher, screen, closing text, exit code.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cmd::Failure;
use crate::cmd::memo::Memo;
use crate::cmd::notify;
use crate::cmd::rounds::Rounds;
use crate::cmd::say;
use crate::exit::Exit;
use crate::model::outcome::RunRecord;
use crate::report::words::plural;
use crate::report::{aggregate, findings, outcome};
use crate::results::{Manifest, Recorder, ResultsError, builds, csv};
use crate::run::Cancel;
use crate::run::dispatcher::{Cell, End, Schedule, dispatch};
use crate::run::event::Event;
use crate::run::health::{self, Health};
use crate::run::lab::Lab;
use crate::ui::{Screen, summary};

/// How a matrix is run, apart from what is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// `results/`.
    pub results: PathBuf,
    /// A results directory to go on with.
    pub resume: Option<PathBuf>,
    pub jobs: usize,
    pub build_jobs: usize,
    pub plain: bool,
    pub keep_work: bool,
    /// Shell command for the end of the run.
    pub notify: Option<String>,
}

/// Runs `cells` of `manifest.arms`. `make_lab` gets the results directory. `header` lines come first on the screen.
pub fn drive<L: Lab>(
    manifest: &Manifest,
    cells: &[Cell],
    options: &Options,
    header: &[String],
    make_lab: impl FnOnce(&Path) -> L,
) -> Result<Exit, Failure> {
    let mut screen = Screen::new(options.plain);
    for line in header {
        screen.line(line);
    }
    let cancel = Cancel::new().map_err(|e| Failure::new(Exit::Internal, format!("pipe2: {e}")))?;
    cancel.on_signals().map_err(|e| Failure::new(Exit::Internal, format!("signal handlers: {e}")))?;
    let (mut recorder, mut records, cells) = open(manifest, cells, options, &screen)?;
    let dir = recorder.dir().to_owned();
    // Rounds ask for the same builds again.
    let lab = Memo::new(make_lab(&dir));
    let arms = &manifest.arms;
    let mut health = Health::new(health::tainted());
    let mut run = |cells: &[Cell], until: Option<Instant>, records: &mut Vec<RunRecord>| {
        let Options { jobs, build_jobs, .. } = *options;
        let schedule = Schedule { arms, cells, jobs, build_jobs, until };
        dispatch(schedule, &lab, &cancel, |event| {
            match event {
                Event::RunFinished { record } => {
                    recorder.append(record)?;
                    records.push((*record).clone());
                    health.watch(record, &cancel);
                }
                Event::BuildFinished { records, .. } => builds::append(&dir, records)?,
                _ => {}
            }
            screen.event(event);
            Ok::<(), ResultsError>(())
        })
    };
    let mut out_of_time = false;
    let end = match &manifest.stop {
        None => run(&cells, None, &mut records),
        Some(rule) => {
            let mut rounds = Rounds::new(rule, cells);
            loop {
                let now = rounds.next(arms, &records, options.jobs);
                out_of_time = rounds.out_of_time;
                match run(&now, rounds.until(), &mut records) {
                    End::Complete if !now.is_empty() => {}
                    End::OutOfTime => {
                        out_of_time = true;
                        break End::Complete;
                    }
                    end => break end,
                }
            }
        }
    };
    screen.finish();
    if !options.keep_work {
        // Only empty directories are left when all went well.
        let _ = std::fs::remove_dir_all(work_root(&dir));
    }
    let noted = if out_of_time { recorder.out_of_time() } else { Ok(()) };
    let stop = manifest.stop.as_ref();
    let summaries = aggregate::summarise_under(stop, out_of_time, &manifest.arms, &records);
    let csv_written = csv::write(&dir, &summaries);
    let stated = findings::findings(&manifest.arms, &summaries, &records, &manifest.left_out);
    say::show(&summary::text(&summaries, &stated, &dir, summary::style()));
    let result = match end {
        End::Complete | End::OutOfTime => noted
            .and(csv_written)
            .map(|()| outcome::exit(&manifest.arms, &summaries, &manifest.left_out))
            .map_err(|e| Failure::new(e.exit(), e)),
        End::Interrupted { missing } if health.poisoned().is_some() => Err(Failure::with_help(
            Exit::HostUnusable,
            format!("stopped: {}", health.poisoned().unwrap_or_default()),
            format!(
                "results from here on would mean nothing. Restart the machine, then go on with `run … --resume {}` ({} missing).",
                dir.display(),
                plural(missing, "run")
            ),
        )),
        End::Interrupted { missing } => {
            screen.line(&format!(
                "interrupted: {} missing; --resume {} goes on",
                plural(missing, "run"),
                dir.display()
            ));
            Ok(Exit::Interrupted)
        }
        End::SinkFailed { error, missing } => Err(Failure::with_help(
            error.exit(),
            &error,
            format!(
                "{} runs are recorded in {}, {missing} are missing. Make room, then `run … --resume {}`.",
                recorder.kept(),
                dir.display(),
                dir.display()
            ),
        )),
        End::CannotKeep { what, missing } => Err(Failure::with_help(
            Exit::CannotRecord,
            &what,
            format!(
                "{} runs are recorded in {}, {missing} are missing. Make room, then `run … --resume {}`.",
                recorder.kept(),
                dir.display(),
                dir.display()
            ),
        )),
        End::Panicked { what } => Err(Failure::new(
            Exit::Internal,
            format!("a worker thread panicked: {what} (results so far are kept)"),
        )),
    };
    if let Some(command) = &options.notify {
        let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
        notify::notify(command, &dir, exit, &screen);
    }
    result
}

/// Where the working directories of a results directory's runs are.
pub fn work_root(results: &Path) -> PathBuf {
    results.join("work")
}

type Opened = (Recorder, Vec<RunRecord>, Vec<Cell>);

fn open(manifest: &Manifest, cells: &[Cell], options: &Options, screen: &Screen) -> Result<Opened, Failure> {
    let failed = |e: ResultsError| Failure::new(e.exit(), e);
    let Some(dir) = &options.resume else {
        let recorder = Recorder::create(&options.results, manifest).map_err(failed)?;
        return Ok((recorder, Vec::new(), cells.to_vec()));
    };
    let resumed = Recorder::resume(dir, manifest).map_err(failed)?;
    if resumed.dropped_bytes > 0 {
        screen.line(&format!(
            "resume   a run was being written when the last run ended: its {} bytes are dropped, it runs again",
            resumed.dropped_bytes
        ));
    }
    let done = resumed.done();
    let missing: Vec<Cell> = cells
        .iter()
        .copied()
        .filter(|cell| {
            manifest.arms.get(cell.arm).is_some_and(|arm| !done.contains(&(arm.id.clone(), cell.repeat)))
        })
        .collect();
    screen.line(&format!(
        "resume   {}: {} recorded, {} to do",
        dir.display(),
        plural(done.len(), "run"),
        if missing.is_empty() { "nothing is left".to_owned() } else { missing.len().to_string() }
    ));
    Ok((resumed.recorder, resumed.records, missing))
}
