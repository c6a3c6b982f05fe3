//! `bisect --components`: which part of a driver build matters (the driver itself, the compiler, gmmlib, the loader), by
//! mixing the two ends; then which release of that part.

use std::path::{Path, PathBuf};

use super::axis::{self, Axis, Source};
use super::{print, trees};
use crate::bisect::delta::minimise;
use crate::bisect::record::Question;
use crate::bisect::search::{HITS_TO_LEARN, TRIES_AT_BAD_END};
use crate::bisect::{Belief, Tally};
use crate::cli::bisect::{BisectArgs, Find};
use crate::cli::search::SearchArgs;
use crate::cmd::Failure;
use crate::cmd::prober::{Prepared, Prober, question_of, stopped};
use crate::driver::{self, Addition, DriverTree, Role};
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::probe::{Answer, Change, Probe, Stop};

/// A mixture is given up after so many runs without any answer.
const UNTESTABLE_AFTER: u32 = 2;
type Build = (String, DriverTree);
/// Parts that are replaced together.
const COMPONENTS: [(&str, &[Role]); 4] = [
    ("NEO", &[Role::Neo]),
    ("IGC", &[Role::Igc, Role::Igdfcl, Role::OpenclClang, Role::Iga]),
    ("gmmlib", &[Role::Gmmlib]),
    ("loader", &[Role::Loader]),
];

pub fn bisect(args: &BisectArgs, prepared: &Prepared) -> Result<Exit, Failure> {
    let usage = |what: &str| Failure::new(Exit::Usage, what);
    let name = args.arm.as_deref().ok_or_else(|| usage("--components needs --arm"))?;
    let list = args.axis.drivers.as_deref().ok_or_else(|| usage("--components needs --drivers"))?;
    let arm = prepared.one_arm(name)?;
    let builds: Vec<Build> = trees::of(list, &args.axis.base, prepared)?
        .into_iter()
        .map(|(name, tree)| {
            tree.map(|tree| (name.clone(), tree))
                .map_err(|why| Failure::new(Exit::DriverUnusable, format!("{name} cannot be mixed: {why}")))
        })
        .collect::<Result<_, _>>()?;
    let (Some(first), Some(last)) = (builds.first(), builds.last()) else {
        return Err(usage("--components needs at least two builds"));
    };
    let (good, bad) = if args.find == Find::Fixed { (last, first) } else { (first, last) };
    if let Some(dir) = &args.search.resume
        && let Some(parts) = under_way(&question_of(dir)?, &builds)
    {
        return releases(args, prepared, arm, &builds, &good.1, (&parts, dir));
    }
    let (parts, dir) = match which(args, prepared, &arm, good, bad)? {
        Ok(found) => found,
        Err(exit) => return Ok(exit),
    };
    if builds.len() < 3 {
        return Ok(Exit::AsExpected);
    }
    // Then the release of it: a search of its own.
    let search = SearchArgs { resume: None, ..args.search.clone() };
    releases(&BisectArgs { search, ..args.clone() }, prepared, arm, &builds, &good.1, (&parts, &dir))
}

/// The parts that matter and the results that say so, or the exit code where none can be named.
fn which(
    args: &BisectArgs,
    prepared: &Prepared,
    arm: &Arm,
    good: &Build,
    bad: &Build,
) -> Result<Result<(Vec<usize>, PathBuf), Exit>, Failure> {
    let differing: Vec<usize> =
        (0..COMPONENTS.len()).filter(|part| parts_of(&good.1, *part) != parts_of(&bad.1, *part)).collect();
    if differing.is_empty() {
        let what = "the two builds have the same driver, compiler, gmmlib and loader";
        return Err(Failure::new(Exit::Usage, what));
    }
    let question = serde_json::json!({
        "verb": "components", "arm": arm.id, "good": good.1.manifest.hash, "bad": bad.1.manifest.hash,
        "target": args.search.target(),
    });
    let arms =
        [Change::Driver(good.0.clone()), Change::Driver(bad.0.clone())].map(|change| change.apply(arm));
    let arms: Vec<Arm> =
        arms.into_iter().collect::<Result<_, _>>().map_err(|why| Failure::new(Exit::Usage, why))?;
    let mut prober = Prober::open(prepared, &arms, "components", &question, &args.search)?;
    let dir = prober.dir().to_owned();
    // The first mixture is of all parts: the bad end, at which the rate is learned.
    let mut belief = None;
    let mut mix = |taken: &[usize]| -> Result<Answer, Stop> {
        let (name, tree) = mixed(prepared, &good.1, &[(&bad.1, taken)], &dir).map_err(Stop::Failed)?;
        prober.add_driver(&name, tree)?;
        let changed = Change::Driver(name).apply(arm).map_err(Stop::Failed)?;
        let answer = match belief {
            Some(belief) => decided(&mut prober, &changed, belief, args.error)?,
            None => {
                let learned = learn(&mut prober, &changed, args)?;
                belief = Some(learned.1);
                learned.0
            }
        };
        let parts = if taken.is_empty() { "nothing".to_owned() } else { named(taken) };
        prober.say(&format!("mix      {parts} of {} in {}: {}", bad.0, good.0, answer.word()));
        Ok(answer)
    };
    let result = minimise(&differing, &mut mix);
    if result.is_ok() {
        prober.conclude()?;
    }
    let found = match result {
        Err(stop) => return Err(stopped(stop, &dir)),
        Ok(Err(why)) => {
            print(&format!("no component can be named: {why}\n{}\n", dir.display()));
            return Ok(Err(if why.not_reproduced() { Exit::NotReproduced } else { Exit::Inconclusive }));
        }
        Ok(Ok(found)) => found,
    };
    print(&format!(
        "what matters: {} of {} (in a build that is otherwise {}, {} runs)\n{}\n",
        named(&found),
        bad.0,
        good.0,
        prober.fresh,
        dir.display()
    ));
    Ok(Ok((found, dir)))
}

/// Which release of the parts: the good build with these of every release. `scratch`: a directory to put builds together in.
fn releases(
    args: &BisectArgs,
    prepared: &Prepared,
    arm: Arm,
    builds: &[Build],
    good: &DriverTree,
    (parts, scratch): (&[usize], &Path),
) -> Result<Exit, Failure> {
    let drafts = builds
        .iter()
        .map(|(name, tree)| {
            let label = label(parts, name);
            match mixed(prepared, good, &[(tree, parts)], scratch) {
                Ok((stored, tree)) => axis::Draft { label, ..axis::driver_draft(&arm, stored, Ok(tree)) },
                Err(why) => axis::Draft { label, ..axis::driver_draft(&arm, name.clone(), Err(why)) },
            }
        })
        .collect();
    let ends = BisectArgs { good: None, bad: None, ..args.clone() };
    let axis: Axis = axis::ordered(&ends, arm, drafts)?;
    debug_assert!(axis.sources.iter().all(|s| !matches!(s, Source::Commit { .. })));
    super::run(args, prepared, axis, "bisect")
}

fn named(parts: &[usize]) -> String {
    let names = parts.iter().filter_map(|part| COMPONENTS.get(*part)).map(|(name, _)| *name);
    names.collect::<Vec<_>>().join(" + ")
}

fn label(parts: &[usize], build: &str) -> String {
    format!("{} of {build}", named(parts))
}

/// The parts whose releases were searched when `question` was asked; `None`: they were still being looked for.
fn under_way(question: &serde_json::Value, builds: &[Build]) -> Option<Vec<usize>> {
    let question = serde_json::from_value::<Question>(question.clone()).ok()?;
    let first = &question.places.first()?.label;
    let names = builds.iter().find_map(|(build, _)| first.strip_suffix(&format!(" of {build}")))?;
    names.split(" + ").map(|name| COMPONENTS.iter().position(|(known, _)| *known == name)).collect()
}

/// Runs the bad end until it has failed often enough to know how often it fails.
fn learn(prober: &mut Prober, arm: &Arm, args: &BisectArgs) -> Result<(Answer, Belief), Stop> {
    let mut tally = Tally::default();
    let wanted = if args.rate.is_some() { 1 } else { HITS_TO_LEARN };
    while tally.corrupt < wanted && tally.testable() < TRIES_AT_BAD_END {
        let made = tally.testable() + tally.untestable;
        for seen in prober.probe(arm, made..made + 1)? {
            tally.add(seen.answer);
        }
        if tally.testable() == 0 && tally.untestable >= UNTESTABLE_AFTER {
            return Ok((Answer::Untestable, Belief::NOTHING));
        }
    }
    let answer = if tally.corrupt > 0 { Answer::Corrupt } else { Answer::Clean };
    let half = |count: u32| 0.5 + f64::from(count);
    let learned = Belief::Beta { a: half(tally.corrupt), b: half(tally.clean) };
    Ok((answer, args.rate.map_or(learned, Belief::Known)))
}

/// Runs until the failure shows or would have shown, at the asked error.
fn decided(prober: &mut Prober, arm: &Arm, belief: Belief, error: f64) -> Result<Answer, Stop> {
    let mut tally = Tally::default();
    loop {
        let made = tally.testable() + tally.untestable;
        for seen in prober.probe(arm, made..made + 1)? {
            tally.add(seen.answer);
        }
        if tally.corrupt > 0 {
            return Ok(Answer::Corrupt);
        }
        if tally.clean == 0 && tally.untestable >= UNTESTABLE_AFTER {
            return Ok(Answer::Untestable);
        }
        if tally.clean > 0 && belief.all_clean(0, 0, tally.clean) <= error {
            return Ok(Answer::Clean);
        }
    }
}

fn parts_of(tree: &DriverTree, part: usize) -> Vec<String> {
    let roles = COMPONENTS.get(part).map_or(&[][..], |(_, roles)| roles);
    let of = |role: &Role| {
        tree.chain().find_map(|tree| tree.manifest.library(*role)).map_or(String::new(), |l| l.sha256.clone())
    };
    roles.iter().map(of).collect()
}

/// `good` with the named parts of other builds, in the store under a name made of what it consists of.
fn mixed(
    prepared: &Prepared,
    good: &DriverTree,
    taken: &[(&DriverTree, &[usize])],
    scratch: &Path,
) -> Result<(String, DriverTree), String> {
    let mut recipe = good.manifest.hash.clone();
    let staging = tempfile::tempdir_in(scratch).map_err(|error| error.to_string())?;
    let link = |tree: &DriverTree, roles: &[Role]| -> Result<(), String> {
        for role in roles {
            // Every file of that role in the first build of the chain that has one: a library and its names.
            let Some(holder) = tree.chain().find(|tree| tree.manifest.library(*role).is_some()) else {
                continue;
            };
            for library in holder.manifest.libraries.iter().filter(|library| library.role == *role) {
                let from = holder.root.join(&library.path);
                for name in names_of(&from) {
                    let to = staging.path().join(name);
                    match std::os::unix::fs::symlink(&from, &to) {
                        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                            return Err(format!("{}: {error}", to.display()));
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    };
    for (index, (_, roles)) in COMPONENTS.iter().enumerate() {
        let from = taken.iter().find(|(_, parts)| parts.contains(&index));
        let source = from.map_or(good, |(tree, _)| tree);
        recipe.push_str(&parts_of(source, index).concat());
        // The driver has to be there in any case; what the base has need not be.
        if from.is_some() || roles.contains(&Role::Neo) {
            link(source, roles)?;
        }
    }
    let name = format!("mix-{}", driver::sha256(recipe.as_bytes()).get(..12).unwrap_or("0"));
    if let Ok(tree) = prepared.store.resolve(&name) {
        return Ok((name, tree));
    }
    let addition = Addition::Prefix(staging.path().to_owned());
    let base = good.manifest.name.clone();
    let tree = prepared.store.add(&name, &addition, Some(&base), &mut |_| {}).map_err(|e| e.to_string())?;
    Ok((name, tree))
}

/// The file's own name and every link beside it that leads to it.
fn names_of(file: &Path) -> Vec<String> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let directory = file.parent().map(Path::to_owned).unwrap_or_default();
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .map(|entries| {
            entries
                .flatten()
                .filter(|entry| entry.path().canonicalize().is_ok_and(|path| path == real))
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}
