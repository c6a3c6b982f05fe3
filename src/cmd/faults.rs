//! `repro-matrix faults`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cli::faults::{FaultsArgs, Injector};
use crate::cmd::Failure;
use crate::cmd::bisect::print;
use crate::cmd::prober::{Prober, prepare, stopped};
use crate::exit::Exit;
use crate::faults::{Fault, Group, POINTS, Seen, group::ranges, groups, plan};
use crate::host::Device;
use crate::model::arm::{Arm, Observer};
use crate::model::outcome::RunRecord;
use crate::model::verdict::Verdict;
use crate::plan::shard::shard_of;
use crate::probe::{Change, Probe, Stop, signature_class};
use crate::run::dispatcher::Cell;

/// Runs between two looks at the clock and two lines of progress.
const PORTION: usize = 48;
/// What strace lets fail when nothing else is asked for.
const STRACE_ERRNOS: [&str; 3] = ["ENOMEM", "EINTR", "EIO"];

pub fn faults(args: &FaultsArgs) -> Result<Exit, Failure> {
    let prepared = prepare(&args.matrix, &[], &args.search)?;
    let mut arm = prepared.one_arm(&args.arm)?;
    let simulated = matches!(prepared.device_of(&arm)?, Device::Simulated(_));
    let injector = args.inject.unwrap_or(if simulated { Injector::Device } else { Injector::Strace });
    if injector == Injector::Device && !simulated {
        return Err(Failure::with_help(Exit::Usage, "a card injects no faults", "use --inject strace"));
    }
    if injector == Injector::Strace && !arm.observers.contains(&Observer::Strace) {
        arm.observers.push(Observer::Strace);
    }
    let question = serde_json::json!({
        "verb": "faults", "arm": arm.id, "points": args.points, "errnos": args.errnos,
        "inject": format!("{injector:?}"), "shard": args.shard.map(|shard| shard.to_string()),
    });
    let mut prober = Prober::open(&prepared, std::slice::from_ref(&arm), "faults", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    let baseline = baseline(&mut prober, &arm).map_err(|stop| stopped(stop, &dir))?;
    let word = baseline.verdict.word();
    if !matches!(baseline.verdict, Verdict::Clean { .. }) {
        prober.say(&format!(
            "note     without any fault the arm is {word}: what a fault adds is seen against that"
        ));
    }
    if matches!(baseline.verdict, Verdict::Untestable { .. } | Verdict::HarnessError { .. }) {
        return Err(Failure::new(
            Exit::Inconclusive,
            format!("the arm has no verdict without any fault: {word}"),
        ));
    }
    let all = planned(args, injector, &baseline);
    let of_us = |fault: &Fault| {
        args.shard
            .is_none_or(|shard| shard_of(&format!("{} {}", arm.id, fault.rule()), shard.of) == shard.index)
    };
    let mine: Vec<Fault> = all.into_iter().filter(of_us).collect();
    if mine.is_empty() {
        let what = match args.shard {
            Some(shard) => format!("no fault falls to shard {shard}"),
            None => format!("{} makes no request at these points that can fail with these errnos", arm.id),
        };
        let known = POINTS.map(|point| format!("{}: {}", point.name, point.errnos.join(" "))).join("\n");
        return Err(Failure::with_help(
            Exit::NothingSelected,
            what,
            format!("what can fail, and how:\n{known}"),
        ));
    }
    prober.say(&format!("plan     {} faults, one a run", mine.len()));
    let timeout = limit(&arm, &baseline, args.search.timeout.is_some());
    let mut changed = Vec::new();
    for fault in &mine {
        let rule = match injector {
            Injector::Device => fault.rule(),
            Injector::Strace => format!("strace:{}@{}", fault.errno, fault.nth),
        };
        let arm = Change::Fault(rule).apply(&arm).map_err(|why| Failure::new(Exit::Usage, why))?;
        changed.push(Arm { timeout, inactivity: None, ..arm });
    }
    let end = sweep(&mut prober, &changed);
    let seen: Vec<Seen> = mine
        .iter()
        .zip(&changed)
        .filter_map(|(fault, arm)| Some(see(fault, injector, prober.record(&arm.id, 0)?)))
        .collect();
    report(args, &seen, mine.len(), &dir)?;
    match end {
        Ok(()) => Ok(exit(&seen, matches!(baseline.verdict, Verdict::Clean { .. }))),
        Err(stop) => Err(stopped(stop, &dir)),
    }
}

fn baseline(prober: &mut Prober, arm: &Arm) -> Result<RunRecord, Stop> {
    prober.run_cells(std::slice::from_ref(arm), &[Cell { arm: 0, repeat: 0 }])?;
    prober
        .record(&arm.id, 0)
        .cloned()
        .ok_or_else(|| Stop::Failed("the run without faults left no record".into()))
}

/// What the run without faults requested, as faults.
fn planned(args: &FaultsArgs, injector: Injector, baseline: &RunRecord) -> Vec<Fault> {
    match injector {
        Injector::Device => {
            let made = baseline.facts.sim.as_ref().map(|sim| &sim.summary.ioctls);
            let counts: BTreeMap<String, u64> = POINTS
                .iter()
                .filter_map(|point| Some((point.name.to_owned(), *made?.get(point.request)?)))
                .collect();
            plan(&counts, &args.points, &args.errnos)
        }
        Injector::Strace => {
            let total = baseline
                .facts
                .strace
                .as_ref()
                .map_or(0, |strace| strace.ioctls.values().map(|count| count.calls).sum());
            let errnos: Vec<String> = match args.errnos.as_slice() {
                [] => STRACE_ERRNOS.map(str::to_owned).to_vec(),
                given => given.to_vec(),
            };
            (1..=total)
                .flat_map(|nth| errnos.iter().map(move |errno| (nth, errno.clone())))
                .map(|(nth, errno)| Fault { point: "ioctl".into(), errno, nth })
                .collect()
        }
    }
}

/// A fault that makes the driver wait for ever should not cost the arm's whole patience.
fn limit(arm: &Arm, baseline: &RunRecord, stated: bool) -> Duration {
    if stated {
        return arm.timeout;
    }
    let usual = Duration::try_from_secs_f64(baseline.wall_seconds * 10.0).unwrap_or(arm.timeout);
    usual.max(Duration::from_secs(5)).min(arm.timeout)
}

fn sweep(prober: &mut Prober, arms: &[Arm]) -> Result<(), Stop> {
    let clock = Instant::now();
    let mut done = 0;
    for portion in arms.chunks(PORTION) {
        let cells: Vec<Cell> = (0..portion.len()).map(|arm| Cell { arm, repeat: 0 }).collect();
        let before = prober.fresh;
        prober.run_cells(portion, &cells)?;
        // A budget may end in the middle of a portion.
        done += portion.iter().filter(|arm| prober.record(&arm.id, 0).is_some()).count();
        if prober.fresh > before {
            let share = clock.elapsed().as_secs_f64() / done.max(1) as f64;
            let left = Duration::from_secs((share * (arms.len() - done) as f64) as u64);
            let left = humantime::format_duration(left);
            prober.say(&format!("faults   {done}/{}   about {left} left", arms.len()));
        }
    }
    Ok(())
}

fn see(fault: &Fault, injector: Injector, record: &RunRecord) -> Seen {
    let sim = record.facts.sim.as_ref();
    let reached = match injector {
        Injector::Device => sim.is_none_or(|sim| !sim.summary.injected.is_empty()),
        Injector::Strace => record.facts.strace.as_ref().is_none_or(|strace| strace.injected > 0),
    };
    let class = match &record.verdict {
        Verdict::Untestable { reason } | Verdict::HarnessError { reason } => short(reason),
        _ => signature_class(&record.signature),
    };
    Seen {
        fault: fault.clone(),
        reached,
        verdict: record.verdict.word().to_owned(),
        class,
        hazard: sim.is_some_and(|sim| sim.summary.hazards > 0),
    }
}

/// The first sentence of a reason, without the numbers that differ from run to run.
fn short(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    let plain: String = line.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).take(100).collect();
    let mut out = String::new();
    for c in plain.chars() {
        if !(c == '#' && out.ends_with('#')) {
            out.push(c);
        }
    }
    out
}

/// What the driver did not get over, and did not report either.
fn silent(group: &Group) -> bool {
    group.hazard || crate::probe::FAILURES.contains(&group.verdict.as_str())
}

/// `sound`: the arm is clean without any fault, so that what it does with one is the fault's doing.
fn exit(seen: &[Seen], sound: bool) -> Exit {
    let (groups, missed) = groups(seen);
    if !sound {
        return Exit::Inconclusive;
    }
    if groups.iter().any(silent) {
        return Exit::Unexpected;
    }
    // Faults of which nothing is known are not survived.
    let unknown = groups.iter().any(|group| group.verdict == "harness-error") || missed == seen.len();
    if unknown { Exit::Inconclusive } else { Exit::AsExpected }
}

fn report(args: &FaultsArgs, seen: &[Seen], planned: usize, dir: &std::path::Path) -> Result<(), Failure> {
    let (groups, missed) = groups(seen);
    if args.json {
        let value = serde_json::json!({
            "planned": planned, "run": seen.len(), "not_reached": missed, "groups": groups, "results": dir,
        });
        let text = serde_json::to_string_pretty(&value).map_err(|e| Failure::new(Exit::Internal, e))?;
        print(&format!("{text}\n"));
        return Ok(());
    }
    for group in &groups {
        let meaning = match group.verdict.as_str() {
            "clean" => "survived",
            "untestable" | "build-failed" => "reported by the driver",
            "harness-error" => "no verdict",
            word => word,
        };
        let hazard = if group.hazard { ", a dispatch reached lost memory" } else { "" };
        print(&format!("{:>5} × {meaning}{hazard}: {}\n", group.faults, group.class));
        for (point, list) in &group.by_point {
            print(&format!("        {point} at {}\n", ranges(list)));
        }
        if silent(group) {
            print(&format!("        smallest: --fault {}\n", group.smallest.rule()));
        }
    }
    if missed > 0 {
        print(&format!(
            "{missed:>5} × not reached: the run made fewer requests than the one without faults\n"
        ));
    }
    if seen.len() < planned {
        print(&format!("{:>5} × not run\n", planned - seen.len()));
    }
    print(&format!("{}\n", dir.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(verdict: &str, reached: bool, hazard: bool) -> Seen {
        Seen {
            fault: Fault { point: "vm_bind".into(), errno: "ENOMEM".into(), nth: 1 },
            reached,
            verdict: verdict.into(),
            class: verdict.into(),
            hazard,
        }
    }

    #[test]
    fn only_faults_that_were_reached_and_understood_are_survived() {
        let survived = seen("clean", true, false);
        assert_eq!(exit(std::slice::from_ref(&survived), true), Exit::AsExpected);
        for (other, code) in [
            (seen("untestable", true, false), Exit::AsExpected),
            (seen("clean", false, false), Exit::AsExpected),
            (seen("harness-error", true, false), Exit::Inconclusive),
            (seen("clean", true, true), Exit::Unexpected),
            (seen("corrupt", true, false), Exit::Unexpected),
        ] {
            let all = [survived.clone(), other];
            assert_eq!(exit(&all, true), code, "{all:?}");
            assert_eq!(exit(&all, false), Exit::Inconclusive, "{all:?}");
        }
        assert_eq!(exit(&[seen("clean", false, false)], true), Exit::Inconclusive, "none was reached");
    }
}
