//! `repro-matrix bisect`.

mod axis;
mod components;
mod git;
mod ground;
mod log;
mod reuse;
mod runtimes;
mod trees;

use crate::bisect::record::{Conclusion, Question, VERSION};
use crate::bisect::{Belief, Model, Settings, Step, calibrate, hunt, text};
use crate::cli::bisect::{BisectAction, BisectArgs};
use crate::cmd::Failure;
use crate::cmd::prober::{Prepared, Prober, prepare, question_of, stopped};
use crate::exit::Exit;
use crate::probe::{Answer, Probe};
use crate::report::words::plural;
use crate::stats::{Rate, Tally, rate::percent, stopping::CONFIDENCE};

use axis::{Axis, Source};
use ground::Places;
pub(super) use reuse::same_experiment;

pub fn bisect(args: &BisectArgs) -> Result<Exit, Failure> {
    match &args.action {
        Some(BisectAction::Log { dir, json }) => log::log(dir, *json),
        Some(BisectAction::Replay { dir }) => log::replay(dir),
        Some(BisectAction::Calibrate { releases, rate, error, learn, histories, seed }) => {
            let plan = calibrate::Plan {
                releases: usize::from(*releases),
                rate: *rate,
                rate_known: !learn,
                checks: false,
                error: *error,
                histories: *histories,
                seed: *seed,
            };
            let came = calibrate::calibrate(plan);
            let tally = Tally {
                hits: came.wrong.into(),
                testable: came.histories.into(),
                untestable: 0,
                harness_errors: 0,
            };
            let wrong = Rate::of(tally, CONFIDENCE).map_or("no history".to_owned(), |rate| rate.to_string());
            print(&format!(
                "histories that named the wrong release: {wrong} (asked: at most {}); {:.1} runs in the mean\n",
                percent(*error),
                came.mean_runs
            ));
            Ok(Exit::AsExpected)
        }
        None => search(args),
    }
}

fn search(args: &BisectArgs) -> Result<Exit, Failure> {
    let Some(matrix) = &args.matrix else { return Err(Failure::new(Exit::Usage, "which MATRIX?")) };
    let prepared = prepare(matrix, &[], &args.search)?;
    if args.axis.components {
        return components::bisect(args, &prepared);
    }
    let axis = axis::axis(args, &prepared)?;
    run(args, &prepared, axis, "bisect")
}

/// Hunts over an axis and prints what came of it.
fn run(args: &BisectArgs, prepared: &Prepared, mut axis: Axis, verb: &str) -> Result<Exit, Failure> {
    let target = args.search.target();
    let reused = reuse::reuse(&mut axis, (&args.reuse, args.pool), prepared, &target)?;
    let mut question = question(args, prepared, &axis, verb);
    if let Some(dir) = &args.search.resume {
        go_on(&mut question, &question_of(dir)?, &axis, !args.reuse.is_empty());
    }
    let as_json = serde_json::to_value(&question).map_err(|e| Failure::new(Exit::Internal, e))?;
    let prober = Prober::open(prepared, &ready_arms(&axis), verb, &as_json, &args.search)?;
    let dir = prober.dir().to_owned();
    let workshop = match &args.axis.git {
        Some(repository) => Some(git::Workshop::new(args, repository, dir.join("build"))?),
        None => None,
    };
    let mut places = Places { prober, prepared, axis: &axis, question: &question, workshop };
    places.prober.say(&format!(
        "search   {} places, {} … {}, for {}; {} answers known from before",
        axis.places.len(),
        question.label(0),
        question.label(axis.places.len() - 1),
        target.verdicts.join("/"),
        question.places.iter().map(|place| place.reused.all()).sum::<u32>()
    ));
    if reused.not_built > 0 && args.search.resume.is_none() {
        let commits = plural(reused.not_built, "commit");
        places.prober.say(&format!(
            "reuse    no build of {commits} is here: earlier runs count only of the very build that this search would run"
        ));
    }
    if reused.of_others > 0 {
        let runs = plural(reused.of_others, "run");
        let how = if args.pool { "of another card" } else { "add --pool to count them" };
        places.prober.say(&format!("reuse    {runs} of another machine did not count: {how}"));
    }
    if args.axis.git.is_some() && !args.reuse.is_empty() && args.search.resume.is_some() {
        places.prober.say("reuse    earlier runs of commits count as they did when the search began");
    }
    let mut search = question.search();
    let end = hunt(&mut search, &mut places);
    let end = match end {
        Ok(end) => end,
        Err(stop) => {
            print(&text::unfinished(&question, &search));
            return Err(stopped(stop, &dir));
        }
    };
    places.prober.conclude()?;
    let conclusion = Conclusion::of(&search, &end);
    log::write(&dir, &conclusion)?;
    print(&text::text(&question, &search, &conclusion));
    if let (Step::Done(found), Some(repository)) = (&end, &args.axis.git) {
        let named = match question.looking {
            crate::bisect::record::Looking::Broken => found.first,
            crate::bisect::record::Looking::Fixed => found.last_good,
        };
        if let Some(Source::Commit { hash, .. }) = axis.sources.get(named)
            && let Some(subject) = git::subject(repository, hash)
        {
            print(&format!("commit      {subject}\n"));
        }
    }
    print(&format!("{}   again: repro-matrix bisect replay {0}\n", dir.display()));
    Ok(exit_of(&end))
}

/// Takes from the search that is resumed what may be otherwise by now and yet is the same question.
fn go_on(question: &mut Question, then: &serde_json::Value, axis: &Axis, reuses: bool) {
    let Ok(then) = serde_json::from_value::<Question>(then.clone()) else { return };
    // With another number of jobs the same places would be asked for in other portions.
    question.batch = then.batch;
    // Commits that the search itself built since: earlier runs count as they did when it began.
    for ((place, before), source) in question.places.iter_mut().zip(&then.places).zip(&axis.sources) {
        if reuses && matches!(source, Source::Commit { .. }) {
            place.reused = before.reused;
        }
    }
}

fn question(args: &BisectArgs, prepared: &Prepared, axis: &Axis, verb: &str) -> Question {
    let after = args.rate.map_or(Belief::NOTHING, Belief::Known);
    let model = if args.two_sided {
        Model::TwoSided { before: Belief::NOTHING, after }
    } else {
        Model::OneSided { after }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let simulated = axis.sources.iter().all(|source| match source {
        Source::Ready(arm) | Source::Commit { arm, .. } => {
            prepared.device_of(arm).is_ok_and(|device| matches!(device, crate::host::Device::Simulated(_)))
        }
        Source::Broken(_) => true,
    });
    let jobs = args.search.jobs.map_or(cores, usize::from);
    Question {
        version: VERSION,
        verb: verb.to_owned(),
        matrix: prepared.matrix.name.clone(),
        arm: axis.arm.id.clone(),
        looking: axis::looking(args.find),
        target: args.search.target(),
        settings: Settings { error: args.error, model, ..Settings::default() },
        // A card runs one at a time.
        batch: if simulated { u32::try_from(jobs).unwrap_or(1).max(1) } else { 1 },
        places: axis.places.clone(),
    }
}

fn ready_arms(axis: &Axis) -> Vec<crate::model::arm::Arm> {
    let ready: Vec<_> = axis
        .sources
        .iter()
        .filter_map(|source| match source {
            Source::Ready(arm) => Some((**arm).clone()),
            Source::Commit { .. } | Source::Broken(_) => None,
        })
        .collect();
    // Commits bring their drivers later; the arm as written says which device and base are needed now.
    if ready.is_empty() { vec![axis.arm.clone()] } else { ready }
}

pub(super) fn exit_of(end: &Step) -> Exit {
    use crate::bisect::Oddity;
    match end {
        Step::Done(found) if found.certain && found.oddities.is_empty() => Exit::AsExpected,
        Step::Contradiction(Oddity::NotReproduced { .. }) => Exit::NotReproduced,
        Step::Contradiction(Oddity::EndUntestable { .. }) => Exit::DriverUnusable,
        Step::Done(_) | Step::Contradiction(_) | Step::Run { .. } => Exit::Inconclusive,
    }
}

/// What an answer is to `git bisect run`.
pub(super) fn git_code(answer: Answer) -> Exit {
    match answer {
        Answer::Clean => Exit::AsExpected,
        Answer::Corrupt => Exit::Internal,
        Answer::Untestable => Exit::Skip,
    }
}

pub(super) fn print(text: &str) {
    super::say::show(text);
}
