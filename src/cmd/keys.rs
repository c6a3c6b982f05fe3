//! `repro-matrix keys`.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::bisect::Belief;
use crate::cli::keys::KeysArgs;
use crate::cmd::Failure;
use crate::cmd::bisect::print;
use crate::cmd::prober::{Prober, duration, prepare, stopped};
use crate::exit::Exit;
use crate::judge::{NOT_ECHOED, READ_OTHERWISE};
use crate::model::arm::Arm;
use crate::plan::select::glob;
use crate::plan::shard::shard_of;
use crate::probe::{Answer, Change, FAILURES, Probe, Seen, Stop, signature_class};
use crate::run::dispatcher::Cell;

/// Chance that a key that changes nothing is called a cure.
const ERROR: f64 = 0.01;
/// Failures of the arm without any key: its rate decides how many clean runs a cure needs.
const BASELINE: u32 = 4;
const MOST_RUNS: u32 = 200;

pub fn keys(args: &KeysArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let arm = prepared.one_arm(&args.arm)?;
    let mut keys = listed(args)?;
    if let Some(shard) = args.shard {
        // All values of a key together: whether the driver knows the key follows from all of them.
        keys.retain(|(key, _)| shard_of(&format!("{} {key}", arm.id), shard.of) == shard.index);
        if keys.is_empty() {
            return Err(Failure::new(Exit::NothingSelected, format!("no key falls to shard {shard}")));
        }
    }
    let question = serde_json::json!({
        "verb": "keys", "arm": arm.id, "keys": keys, "target": args.search.target(),
        "shard": args.shard.map(|shard| shard.to_string()),
    });
    let mut prober = Prober::open(&prepared, std::slice::from_ref(&arm), "keys", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    let mut sorted: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let done = sweep(&mut prober, &arm, &keys, &mut sorted);
    for (what, names) in &sorted {
        print(&format!("{what} ({})\n", names.len()));
        names.iter().for_each(|name| print(&format!("  {name}\n")));
    }
    print(&format!("{}\n", dir.display()));
    match done {
        Err(stop) => Err(stopped(stop, &dir)),
        Ok(false) => {
            Err(Failure::new(Exit::NotReproduced, format!("{} did not fail without any key", arm.id)))
        }
        Ok(true) if sorted.contains_key(OPEN) => Ok(Exit::Inconclusive),
        Ok(true) => Ok(Exit::AsExpected),
    }
}

const CURED: &str = "cured";
const UNCHANGED: &str = "unchanged";
const NEW: &str = "new failure";
const UNKNOWN: &str = "unknown to this driver";
/// Nothing was tried: the key is known, and what the driver took is not what was asked for.
const NOT_TAKEN: &str = "value not taken";
/// Not echoed, while another value of the key was.
const DEFAULT: &str = "unchanged: the value is the driver's default";
/// Not echoed, and no other value was tried: a key that is not known and a default look alike.
const UNKNOWN_OR_DEFAULT: &str = "unknown to this driver, or its default value";
const OPEN: &str = "no answer";

/// (key, value) in order, each once.
fn listed(args: &KeysArgs) -> Result<Vec<(String, String)>, Failure> {
    let mut keys = Vec::new();
    let mut add = |text: &str, place: String, dumped: bool| -> Result<(), Failure> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(good) || !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Err(Failure::new(
                Exit::Usage,
                format!("{place}: \"{name}\" is no debug key (NAME or NAME=VALUE)"),
            ));
        }
        let values: Vec<&str> = match (value, dumped) {
            (Some(value), false) => vec![value],
            (default, _) => ["0", "1"].into_iter().filter(|v| Some(*v) != default).collect(),
        };
        keys.extend(values.into_iter().map(|value| (name.to_owned(), value.to_owned())));
        Ok(())
    };
    for key in &args.keys {
        add(key, "--keys".to_owned(), false)?;
    }
    if let Some(path) = &args.list {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::new(Exit::Usage, format!("{}: {e}", path.display())))?;
        for (n, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let name = line.split('=').next().unwrap_or_default().trim();
            if !line.is_empty() && args.pattern.as_ref().is_none_or(|pattern| glob(pattern, name)) {
                add(line, format!("{}:{}", path.display(), n + 1), true)?;
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    if keys.is_empty() { Err(Failure::new(Exit::NothingSelected, "no key is left to try")) } else { Ok(keys) }
}

/// False: the arm does not fail by itself.
fn sweep(
    prober: &mut Prober,
    arm: &Arm,
    keys: &[(String, String)],
    sorted: &mut BTreeMap<&'static str, Vec<String>>,
) -> Result<bool, Stop> {
    let (mut hits, mut clean, mut made) = (0, 0, 0);
    let mut class = None;
    while hits < BASELINE && made < MOST_RUNS {
        let seen = prober.probe(arm, made..made + prober.width())?;
        made += u32::try_from(seen.len()).unwrap_or(1);
        for one in seen {
            match one.answer {
                Answer::Corrupt => {
                    hits += 1;
                    class.get_or_insert_with(|| signature_class(&one.signature));
                }
                Answer::Clean => clean += 1,
                Answer::Untestable => {}
            }
        }
        if hits + clean == 0 && made >= BASELINE {
            break;
        }
    }
    prober.say(&format!("without  {hits}/{} runs fail", hits + clean));
    let Some(class) = class else { return Ok(false) };
    prober.say(&format!("failure  {class}"));
    let arms: Vec<Arm> = keys
        .iter()
        .map(|(key, value)| Change::Key(key.clone(), Some(value.clone())).apply(arm))
        .collect::<Result<_, _>>()
        .map_err(Stop::Failed)?;
    // The first run of all of them side by side; then those that came out clean again and again.
    first_runs(prober, &arms)?;
    let mut settled = Vec::new();
    let clock = Instant::now();
    let mut stop = None;
    for (arm, (key, value)) in arms.iter().zip(keys) {
        match settle(prober, arm, &class, (hits, clean)) {
            Ok(one) => settled.push(one),
            Err(why) => {
                stop = Some(why);
                break;
            }
        }
        let (done, left) = (settled.len(), arms.len() - settled.len());
        let time = duration(clock.elapsed().as_secs_f64() / done as f64 * left as f64);
        prober.say(&format!("keys     {done}/{}: {key}={value} is settled; about {time} left", arms.len()));
    }
    let known: std::collections::BTreeSet<&String> = (keys.iter().zip(&settled))
        .filter(|(_, (what, _))| *what != UNKNOWN)
        .map(|((key, _), _)| key)
        .collect();
    for ((key, value), (what, why)) in keys.iter().zip(&settled) {
        let what = match *what {
            UNKNOWN if known.contains(key) => DEFAULT,
            UNKNOWN if keys.iter().filter(|(other, _)| other == key).count() == 1 => UNKNOWN_OR_DEFAULT,
            what => what,
        };
        let why = why.as_ref().map(|why| format!("   ({why})")).unwrap_or_default();
        prober.say(&format!("key      {key}={value}: {what}"));
        sorted.entry(what).or_default().push(format!("{key}={value}{why}"));
    }
    stop.map_or(Ok(true), Err)
}

/// One run of each, some at a time.
fn first_runs(prober: &mut Prober, arms: &[Arm]) -> Result<(), Stop> {
    let clock = Instant::now();
    let portion = prober.width() as usize * 8;
    let mut done = 0;
    for some in arms.chunks(portion) {
        let cells: Vec<Cell> = (0..some.len()).map(|arm| Cell { arm, repeat: 0 }).collect();
        prober.run_cells(some, &cells)?;
        // A budget may end in the middle of a portion.
        done += some.iter().filter(|arm| prober.record(&arm.id, 0).is_some()).count();
        let left = clock.elapsed().as_secs_f64() / done.max(1) as f64 * (arms.len() - done) as f64;
        prober.say(&format!("first    {done}/{} keys have run; about {} left", arms.len(), duration(left)));
    }
    Ok(())
}

fn settle(
    prober: &mut Prober,
    arm: &Arm,
    class: &str,
    (hits, clean): (u32, u32),
) -> Result<(&'static str, Option<String>), Stop> {
    let mut repeat = 0;
    loop {
        let seen: Vec<Seen> = prober.probe(arm, repeat..repeat + 1)?;
        let Some(one) = seen.into_iter().next() else { return Ok((OPEN, None)) };
        repeat += 1;
        let failed = FAILURES.contains(&one.verdict.as_str());
        match one.answer {
            Answer::Corrupt if signature_class(&one.signature) == class => return Ok((UNCHANGED, None)),
            _ if failed => return Ok((NEW, Some(one.signature))),
            Answer::Corrupt | Answer::Untestable => {
                let reason = one.reason.unwrap_or_default();
                let what = match &reason {
                    reason if reason.contains(NOT_ECHOED) => UNKNOWN,
                    reason if reason.contains(READ_OTHERWISE) => NOT_TAKEN,
                    _ => OPEN,
                };
                return Ok((what, Some(reason.lines().next().unwrap_or_default().to_owned())));
            }
            Answer::Clean if Belief::NOTHING.all_clean(hits, clean, repeat) <= ERROR => {
                return Ok((CURED, Some(format!("clean in {repeat} runs"))));
            }
            Answer::Clean if repeat >= MOST_RUNS => {
                return Ok((
                    OPEN,
                    Some(format!("clean in {repeat} runs, and the arm fails too seldom to say")),
                ));
            }
            Answer::Clean => {}
        }
    }
}
