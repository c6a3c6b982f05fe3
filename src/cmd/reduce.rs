//! `repro-matrix reduce`.

use std::time::Instant;

use crate::cli::reduce::ReduceArgs;
use crate::cmd::Failure;
use crate::cmd::bisect::print;
use crate::cmd::compare::count;
use crate::cmd::prober::{Prober, duration, prepare, stopped};
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::probe::{Answer, Change, Probe, Stop, signature_class};
use crate::stats::{Rate, Tally, rate::percent, stopping::CONFIDENCE};

pub fn reduce(args: &ReduceArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let arm = prepared.one_arm(&args.arm)?;
    let question = serde_json::json!({
        "verb": "reduce", "arm": arm.id, "floor": args.floor, "runs": args.runs, "keep": args.keep, "target": args.search.target(),
    });
    let mut prober = Prober::open(&prepared, std::slice::from_ref(&arm), "reduce", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    // What "alike" means is what the arm does as it is written.
    let class = match first_failure(&mut prober, &arm, args.runs) {
        Ok(Ok(class)) => class,
        Ok(Err(instead)) => {
            return Err(Failure::new(
                Exit::NotReproduced,
                format!("{} did not fail in {} runs ({instead}): nothing to reduce", arm.id, args.runs),
            ));
        }
        Err(stop) => return Err(stopped(stop, &dir)),
    };
    prober.say(&format!("failure  {class}"));
    let mut target = args.search.target();
    target.class = Some(class);
    prober.set_target(target);
    let (clock, mut tried) = (Instant::now(), 0_u32);
    let reduced = crate::reduce::reduce(&arm, &args.keep, &mut |candidate, left| {
        let fails = often_enough(&mut prober, candidate, args)?;
        tried += 1;
        let change = candidate.id.strip_prefix(&arm.id).unwrap_or(&candidate.id);
        let time = duration(clock.elapsed().as_secs_f64() / f64::from(tried) * f64::from(left));
        let kept = if fails { "kept " } else { "needs" };
        prober
            .say(&format!("{kept}    {change}   ({left} more in this pass if none is superfluous, {time})"));
        Ok(fails)
    });
    let reduced = reduced.map_err(|stop| stopped(stop, &dir))?;
    let before = measured(&mut prober, &arm, args.measure);
    let after = measured(&mut prober, &reduced.arm, args.measure);
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(stop), _) | (_, Err(stop)) => return Err(stopped(stop, &dir)),
    };
    let show = |tally: Tally| {
        Rate::of(tally, CONFIDENCE).map_or("no run had an answer".to_owned(), |rate| rate.to_string())
    };
    print(&format!("as written  {}: corrupt {}\n", arm.id, show(before)));
    print(&format!("reduced     corrupt {}   ({} arms tried)\n", show(after), reduced.tried));
    if reduced.changes.is_empty() {
        print("nothing can be taken away\n");
    }
    for change in &reduced.changes {
        let from = match change {
            Change::Set(field, _) => format!("   (was {})", field.show(field.get(&arm))),
            _ => String::new(),
        };
        print(&format!("  {}{from}\n", change.to_string().trim_start_matches('+')));
    }
    let below = below_floor(before, after, args.floor);
    if let Some(why) = below {
        print(&format!("not certain: {why} the floor of {} (--floor, --runs)\n", percent(args.floor)));
    }
    print(&format!("{}\n", dir.display()));
    Ok(if below.is_some() { Exit::Inconclusive } else { Exit::AsExpected })
}

/// What was kept was held to the floor in few runs: the measurement may say otherwise, and an arm that does not meet it as it
/// is written keeps what it need not.
fn below_floor(before: Tally, after: Tally, floor: f64) -> Option<&'static str> {
    let below = |tally: Tally| (tally.hits as f64) < floor * tally.testable as f64 || tally.testable == 0;
    match (below(before), below(after)) {
        (true, _) => Some("as written the arm fails less often than"),
        (false, true) => Some("the reduced arm, measured, fails less often than"),
        (false, false) => None,
    }
}

/// The class of the arm's failure, or what its last run did instead.
fn first_failure(prober: &mut Prober, arm: &Arm, runs: u32) -> Result<Result<String, String>, Stop> {
    let mut instead = String::new();
    for repeat in 0..runs {
        for one in prober.probe(arm, repeat..repeat + 1)? {
            if one.answer == Answer::Corrupt {
                return Ok(Ok(signature_class(&one.signature)));
            }
            instead = one.reason.unwrap_or(one.verdict);
        }
    }
    Ok(Err(instead))
}

/// Whether the candidate fails in at least the floor's share of its runs; stops as soon as that is settled.
fn often_enough(prober: &mut Prober, arm: &Arm, args: &ReduceArgs) -> Result<bool, Stop> {
    let needed = ((f64::from(args.runs) * args.floor).ceil() as u32).max(1);
    let (mut hits, mut made) = (0, 0);
    while hits < needed && made - hits <= args.runs - needed {
        let width = prober.width().min(args.runs - made).max(1);
        let seen = prober.probe(arm, made..made + width)?;
        made += u32::try_from(seen.len()).unwrap_or(1);
        // A run without an answer is no sign of the failure.
        hits += seen.iter().filter(|one| one.answer == Answer::Corrupt).count() as u32;
    }
    Ok(hits >= needed)
}

fn measured(prober: &mut Prober, arm: &Arm, runs: u32) -> Result<Tally, Stop> {
    prober.probe(arm, 0..runs)?;
    let mut tally = Tally::default();
    for record in (0..runs).filter_map(|repeat| prober.record(&arm.id, repeat)) {
        count(&mut tally, prober.target(), record);
    }
    Ok(tally)
}
