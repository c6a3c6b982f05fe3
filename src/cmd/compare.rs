//! `repro-matrix compare`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::cli::compare::CompareArgs;
use crate::cmd::Failure;
use crate::cmd::bisect::print;
use crate::cmd::origins::{Origin, add_results, earlier, may_not_pool, origin};
use crate::cmd::prober::{Prepared, Prober, duration, prepare, stopped};
use crate::driver;
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::model::outcome::RunRecord;
use crate::plan::shard::shard_of;
use crate::probe::{Answer, Change, Probe, Stop, Target};
use crate::results::Loaded;
use crate::results::merge::{Run, run_of};
use crate::run::dispatcher::Cell;
use crate::stats::pair::{LEVEL, Pair, spurious};
use crate::stats::{Rate, Tally, rate::percent, stopping::CONFIDENCE};

pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let same = args.a == args.b;
    let (a, b) = arms(args, &prepared)?;
    let ours = pairs(args, &a, &b)?;
    let others =
        args.with.iter().map(|dir| earlier(dir, [&a, &b])).collect::<Result<Vec<Loaded>, Failure>>()?;
    let question = serde_json::json!({
        "verb": "compare", "a": a.id, "b": b.id, "until_decided": args.until_decided, "target": args.search.target(),
        "shard": args.shard.map(|shard| shard.to_string()),
    });
    let mut prober = Prober::open(&prepared, &[a.clone(), b.clone()], "compare", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    let cut = match take_turns(args, &mut prober, (&a, &b), &ours, same) {
        Ok(()) => None,
        Err(Stop::Budget(why)) => Some(why),
        Err(stop) => return Err(stopped(stop, &dir)),
    };
    let target = args.search.target();
    let mut groups: BTreeMap<&str, BTreeMap<Origin, Tally>> = BTreeMap::new();
    let here = prober.manifest().clone();
    let mut counted: BTreeSet<Run> = prober.records().map(run_of).collect();
    for record in prober.records() {
        let side = if record.arm == a.id { "a" } else { "b" };
        count(groups.entry(side).or_default().entry(origin(&here, record)).or_default(), &target, record);
    }
    for other in &others {
        add_results(other, &a, &b, &target, &mut groups, &mut counted);
    }
    let mut refused = Vec::new();
    let mut pooled = [Tally::default(), Tally::default()];
    for ((side, arm), sum) in [("a", &a), ("b", &b)].into_iter().zip(&mut pooled) {
        let of = groups.get(side).cloned().unwrap_or_default();
        *sum = of.values().fold(Tally::default(), |sum, t| add(sum, *t));
        if of.len() > 1 {
            refused.extend(may_not_pool(&arm.id, &of, args.pool));
        }
    }
    if !refused.is_empty() && !args.pool {
        return Err(Failure::with_help(
            Exit::Inconclusive,
            refused.join("\n"),
            "compare within one of them, or say --pool if they are to be added up all the same",
        ));
    }
    refused.iter().for_each(|line| prober.say(line));
    let [ta, tb] = pooled;
    let pair = Pair::of(ta, tb);
    // A against itself: its runs are one arm's, halved at random.
    let spurious_rate = same.then(|| {
        let mut hits: Vec<bool> = (prober.records())
            .map(|record| target.see(record).answer)
            .filter(|answer| *answer != Answer::Untestable)
            .map(|answer| answer == Answer::Corrupt)
            .collect();
        // The record has no order of its own.
        hits.sort_unstable();
        spurious(&hits, 1000, 7)
    });
    report(args, (&a, &b), &pair, spurious_rate, &prober, cut.as_deref())?;
    let anytime = args.until_decided;
    match (pair.differ(), cut) {
        (Some(differ), _) if (anytime && pair.differ_anytime()) || (!anytime && differ) => {
            Ok(Exit::Unexpected)
        }
        // What has not run may differ yet.
        (_, Some(why)) => Err(stopped(Stop::Budget(why), &dir)),
        (None, None) => Ok(Exit::Inconclusive),
        (Some(_), None) => Ok(Exit::AsExpected),
    }
}

/// The two arms; in an A/A comparison the second is a copy under another id.
fn arms(args: &CompareArgs, prepared: &Prepared) -> Result<(Arm, Arm), Failure> {
    let (a, mut b) = match &args.arm {
        None => (prepared.one_arm(&args.a)?, prepared.one_arm(&args.b)?),
        Some(arm) => {
            let arm = prepared.one_arm(arm)?;
            let on = |driver: &String| {
                // Its name is checked before anything runs.
                let tree = prepared.tree(driver)?;
                drop(tree);
                Change::Driver(driver.clone()).apply(&arm).map_err(|why| Failure::new(Exit::Usage, why))
            };
            (on(&args.a)?, on(&args.b)?)
        }
    };
    if a.id == b.id {
        b.id = format!("{}+again", b.id);
    }
    // One comparison: the dispatcher keeps the order of its cells.
    let together = |arm: Arm| Arm { comparison: Some("compare".to_owned()), ..arm };
    Ok((together(a), together(b)))
}

/// The repeats to run: those of the shard.
fn pairs(args: &CompareArgs, a: &Arm, b: &Arm) -> Result<Vec<u32>, Failure> {
    let mut pairs: Vec<u32> = (0..args.runs).collect();
    if let Some(shard) = args.shard {
        pairs.retain(|repeat| shard_of(&format!("{} {} {repeat}", a.id, b.id), shard.of) == shard.index);
        if pairs.is_empty() {
            let what = format!("none of {} pairs falls to shard {shard}", args.runs);
            return Err(Failure::with_help(Exit::NothingSelected, what, "more --runs, or fewer shards"));
        }
    }
    Ok(pairs)
}

/// Pairs in an order drawn anew, a few at a time.
fn take_turns(
    args: &CompareArgs,
    prober: &mut Prober,
    (a, b): (&Arm, &Arm),
    ours: &[u32],
    same: bool,
) -> Result<(), Stop> {
    let arms = [a.clone(), b.clone()];
    // Few enough to be looked at in between, many enough to keep all cores busy.
    let portion = (prober.width() as usize).max(2) * if args.until_decided { 1 } else { 4 };
    let clock = Instant::now();
    let mut done = 0;
    for repeats in ours.chunks(portion) {
        let cells: Vec<Cell> = (repeats.iter())
            .flat_map(|repeat| {
                let first = usize::from(coin(*repeat));
                [Cell { arm: first, repeat: *repeat }, Cell { arm: 1 - first, repeat: *repeat }]
            })
            .collect();
        let fresh = prober.fresh;
        prober.run_cells(&arms, &cells)?;
        // A budget may have left some of them out: asked for again, it says so.
        prober.run_cells(&arms, &cells)?;
        done += repeats.len();
        if prober.fresh > fresh {
            let left = clock.elapsed().as_secs_f64() / done as f64 * (ours.len() - done) as f64;
            let most = if args.until_decided { "at most " } else { "about " };
            prober.say(&format!("pairs    {done}/{}; {most}{} left", ours.len(), duration(left)));
        }
        if args.until_decided && !same {
            let of = |arm: &Arm, prober: &Prober| {
                let mut tally = Tally::default();
                for repeat in ours.iter().take(done) {
                    if let Some(record) = prober.record(&arm.id, *repeat) {
                        count(&mut tally, prober.target(), record);
                    }
                }
                tally
            };
            let pair = Pair::of(of(a, prober), of(b, prober));
            if pair.differ_anytime() {
                prober.say(&format!("decided  after {done} runs of each"));
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Which arm of a pair goes first. The same for a resumed comparison.
fn coin(repeat: u32) -> bool {
    let hash = driver::sha256(format!("compare {repeat}").as_bytes());
    hash.bytes().next().is_some_and(|byte| byte % 2 == 0)
}

/// Counts what the run says of the failure that is looked for.
pub(super) fn count(tally: &mut Tally, target: &Target, record: &RunRecord) {
    match target.see(record).answer {
        Answer::Corrupt => {
            tally.hits += 1;
            tally.testable += 1;
        }
        Answer::Clean => tally.testable += 1,
        Answer::Untestable if record.verdict.class().is_none() => tally.harness_errors += 1,
        Answer::Untestable => tally.untestable += 1,
    }
}

fn add(a: Tally, b: Tally) -> Tally {
    Tally {
        hits: a.hits + b.hits,
        testable: a.testable + b.testable,
        untestable: a.untestable + b.untestable,
        harness_errors: a.harness_errors + b.harness_errors,
    }
}

fn report(
    args: &CompareArgs,
    (a, b): (&Arm, &Arm),
    pair: &Pair,
    spurious_rate: Option<f64>,
    prober: &Prober,
    cut: Option<&str>,
) -> Result<(), Failure> {
    let dir = prober.dir();
    let signatures = |arm: &Arm| {
        let records: Vec<&RunRecord> = prober.records().filter(|record| record.arm == arm.id).collect();
        crate::report::rates::signatures(&records)
    };
    if args.json {
        let value = serde_json::json!({
            "a": a.id, "b": b.id, "pair": pair, "differ": pair.differ(), "spurious": spurious_rate,
            "cut": cut,
            "signatures": { "a": signatures(a), "b": signatures(b) }, "results": dir,
        });
        let text = serde_json::to_string_pretty(&value).map_err(|e| Failure::new(Exit::Internal, e))?;
        print(&format!("{text}\n"));
        return Ok(());
    }
    let width = a.id.chars().count().max(b.id.chars().count());
    for (arm, tally) in [(a, pair.a), (b, pair.b)] {
        let rate = Rate::of(tally, CONFIDENCE)
            .map_or("no run had an answer".to_owned(), |rate| rate.show(args.until_decided));
        let without = tally.untestable + tally.harness_errors;
        let without = if without > 0 { format!("; {without} without an answer") } else { String::new() };
        print(&format!("  {:<width$}  corrupt {rate}{without}\n", arm.id));
        let classes = signatures(arm);
        if classes.len() > 1 {
            classes.iter().for_each(|(class, n)| print(&format!("  {:<width$}    {n} × {class}\n", "")));
        }
    }
    let verdict = match (pair.differ(), args.until_decided, pair.differ_anytime()) {
        (None, ..) => "no answer",
        (_, true, true) | (Some(true), false, _) => "they differ",
        (Some(_), _, _) => "no difference found",
    };
    let so_far = cut.map_or(String::new(), |why| format!(" so far ({why})"));
    print(&format!("{verdict}{so_far}: {}\n", pair.text()));
    if let Some(share) = spurious_rate {
        print(&format!(
            "A/A: of 1,000 random halvings of these runs {} would be called different (p ≤ {LEVEL})\n",
            percent(share)
        ));
    }
    print(&format!("{}\n", dir.display()));
    Ok(())
}
