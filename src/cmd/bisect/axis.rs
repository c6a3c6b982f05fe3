//! From the command line to the places of a search.

use std::collections::{BTreeMap, BTreeSet};

use super::{git, runtimes, trees};
use crate::bisect::Tally;
use crate::bisect::record::{Looking, Place};
use crate::cli::bisect::{BisectArgs, Find};
use crate::cmd::Failure;
use crate::cmd::prober::Prepared;
use crate::driver::DriverTree;
use crate::exit::Exit;
use crate::matrix::units::Size;
use crate::model::arm::Arm;
use crate::probe::{Change, Field};

/// How the arm of a place comes to be.
#[derive(Clone, Debug)]
pub enum Source {
    Ready(Box<Arm>),
    /// Cannot be run, whatever is tried.
    Broken(String),
    /// Built when it is first asked for.
    Commit {
        hash: String,
        driver: String,
        arm: Box<Arm>,
    },
}

/// Places in the order of the search (0 is good), each with its source.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The arm as the matrix has it.
    pub arm: Arm,
    pub places: Vec<Place>,
    pub sources: Vec<Source>,
}

/// One place before it is put in order.
pub(super) struct Draft {
    pub label: String,
    /// Equal and adjacent means: the same build.
    pub identity: Option<String>,
    pub driver: String,
    pub arm: String,
    pub source: Source,
}

/// Reads the axis that the arguments describe.
pub fn axis(args: &BisectArgs, prepared: &Prepared) -> Result<Axis, Failure> {
    let mut axis = match &args.axis.arms {
        Some(pattern) => over_arms(args, prepared, pattern)?,
        None => over_one_arm(args, prepared)?,
    };
    each_once(&axis)?;
    name_builds(&mut axis, prepared)?;
    Ok(axis)
}

/// One arm in several forms.
fn over_one_arm(args: &BisectArgs, prepared: &Prepared) -> Result<Axis, Failure> {
    let usage = |what: &str| Failure::new(Exit::Usage, what);
    let name = args.arm.as_deref().ok_or_else(|| usage("--arm names the arm that shows the failure"))?;
    let arm = prepared.one_arm(name)?;
    let drafts = if let Some(list) = &args.axis.drivers {
        over_drivers(&arm, trees::of(list, &args.axis.base, prepared)?)
    } else if let Some(list) = &args.axis.runtimes {
        runtimes::drafts(&arm, list)?
    } else if let Some(values) = &args.axis.values {
        over_values(&arm, values)?
    } else if let Some(repository) = &args.axis.git {
        git::drafts(&arm, repository, args)?
    } else {
        return Err(usage("say what to search: --drivers, --runtimes, --values, --arms or --git"));
    };
    ordered(args, arm, drafts)
}

fn over_arms(args: &BisectArgs, prepared: &Prepared, pattern: &str) -> Result<Axis, Failure> {
    let arms: Vec<Arm> = (prepared.planned.arms.iter())
        .filter(|arm| crate::plan::select::id_matches(pattern, &arm.id))
        .cloned()
        .collect();
    let Some(first) = arms.first().cloned() else {
        return Err(Failure::new(Exit::NothingSelected, format!("no arm fits \"{pattern}\"")));
    };
    let drafts = arms
        .into_iter()
        .map(|arm| Draft {
            label: arm.id.clone(),
            identity: None,
            driver: String::new(),
            arm: arm.id.clone(),
            source: Source::Ready(Box::new(arm)),
        })
        .collect();
    ordered(args, Arm { id: pattern.to_owned(), ..first }, drafts)
}

fn over_drivers(arm: &Arm, trees: Vec<(String, Result<DriverTree, String>)>) -> Vec<Draft> {
    trees.into_iter().map(|(name, tree)| driver_draft(arm, name, tree)).collect()
}

pub(super) fn driver_draft(arm: &Arm, name: String, tree: Result<DriverTree, String>) -> Draft {
    let change = Change::Driver(name.clone());
    let changed = tree.and_then(|tree| Ok((identity(&tree), tree.manifest.hash, change.apply(arm)?)));
    let (identity, driver, source) = match changed {
        Ok((identity, hash, arm)) => (Some(identity), hash, Source::Ready(Box::new(arm))),
        Err(reason) => (None, String::new(), Source::Broken(reason)),
    };
    Draft { arm: format!("{}{change}", arm.id), label: name, identity, driver, source }
}

/// What a run of the build executes: two builds with equal files behave alike.
fn identity(tree: &DriverTree) -> String {
    tree.expected_libraries().iter().map(|library| format!("{} ", library.sha256)).collect()
}

fn over_values(arm: &Arm, text: &str) -> Result<Vec<Draft>, Failure> {
    let (field, values) =
        values(text).map_err(|why| Failure::new(Exit::Usage, format!("--values {text}: {why}")))?;
    Ok(values
        .into_iter()
        .map(|value| {
            let change = Change::Set(field, value);
            Draft {
                label: format!("{}={}", field.name(), field.show(value)),
                identity: None,
                driver: String::new(),
                arm: format!("{}{change}", arm.id),
                source: change.apply(arm).map_or_else(Source::Broken, |arm| Source::Ready(Box::new(arm))),
            }
        })
        .collect())
}

/// `copies=1,2,4`, `kernels=150..200` (every legal value), sizes as `11MiB`.
pub fn values(text: &str) -> Result<(Field, Vec<u64>), String> {
    const MOST: u64 = 4096;
    let (name, list) = text.split_once('=').ok_or("NAME=VALUES, as in copies=1,2,4")?;
    let known = || Field::ALL.map(|(name, _)| name).join(", ");
    let field = Field::by_name(name).ok_or_else(|| format!("\"{name}\" is none of {}", known()))?;
    let number = |text: &str| -> Result<u64, String> {
        match text.trim().parse() {
            Ok(number) => Ok(number),
            Err(_) => Size::parse(text.trim())
                .map(|size| size.0)
                .ok_or_else(|| format!("\"{text}\" is neither a number nor a size such as 11MiB")),
        }
    };
    if let Some((from, to)) = list.split_once("..") {
        let (from, to) = (number(from)?, number(to.trim_start_matches('='))?);
        let count = to.checked_sub(from).ok_or("the first value is above the last")? / field.step() + 1;
        if count > MOST {
            return Err(format!("{count} values, at most {MOST}; give fewer, or use `threshold`"));
        }
        return legal(field, (0..count).map(|i| from + i * field.step()).collect());
    }
    legal(field, list.split(',').map(number).collect::<Result<_, _>>()?)
}

/// A value that no arm can have is a mistake, not a place that cannot be tested.
fn legal(field: Field, values: Vec<u64>) -> Result<(Field, Vec<u64>), String> {
    let (least, most) = field.limits();
    let wrong = |value: &&u64| !(least..=most).contains(*value) || !value.is_multiple_of(field.step());
    if let Some(wrong) = values.iter().find(wrong) {
        let step = if field.step() > 1 { format!(", a multiple of {}", field.step()) } else { String::new() };
        return Err(format!(
            "{} is {} to {}{step}, not {}",
            field.name(),
            field.show(least),
            field.show(most),
            field.show(*wrong)
        ));
    }
    Ok((field, values))
}

/// Puts drafts in the order of the search, between the two ends, same builds together.
pub(super) fn ordered(args: &BisectArgs, arm: Arm, mut drafts: Vec<Draft>) -> Result<Axis, Failure> {
    let usage = |what: String| Failure::new(Exit::Usage, what);
    let at = |wanted: &str| {
        drafts.iter().position(|draft| draft.label == wanted).ok_or_else(|| {
            let labels: Vec<&str> = drafts.iter().take(40).map(|draft| draft.label.as_str()).collect();
            usage(format!("\"{wanted}\" is no place of the axis: {}", labels.join(", ")))
        })
    };
    if drafts.len() < 2 {
        return Err(usage(format!("{} place is not enough for a search", drafts.len())));
    }
    let fixed = args.find == Find::Fixed;
    let last = drafts.len() - 1;
    // A git range starts behind its good end and ends at its bad one already.
    let named = args.axis.git.is_none();
    let end = |text: &Option<String>, usual: usize| match text {
        Some(text) if named => at(text),
        _ => Ok(usual),
    };
    let good = end(&args.good, if fixed { last } else { 0 })?;
    let bad = end(&args.bad, if fixed { 0 } else { last })?;
    if (good < bad) == fixed || good == bad {
        return Err(usage(if fixed {
            "with --find fixed the bad place is before the good one; leave it out to find what broke it"
                .to_owned()
        } else {
            "the good place is before the bad one; to find what fixed a failure: --find fixed".to_owned()
        }));
    }
    let mut drafts: Vec<Draft> = drafts.drain(good.min(bad)..=good.max(bad)).collect();
    if fixed {
        drafts.reverse();
    }
    let mut axis = Axis { arm, places: Vec::new(), sources: Vec::new() };
    let mut before: Option<String> = None;
    for draft in drafts {
        if draft.identity.is_some()
            && draft.identity == before
            && let Some(place) = axis.places.last_mut()
        {
            place.same_as.push(draft.label);
            continue;
        }
        before = draft.identity;
        let broken = match &draft.source {
            Source::Broken(reason) => Some(reason.clone()),
            Source::Ready(_) | Source::Commit { .. } => None,
        };
        axis.places.push(Place {
            label: draft.label,
            same_as: Vec::new(),
            arm: draft.arm,
            driver: draft.driver,
            broken,
            reused: Tally::default(),
        });
        axis.sources.push(draft.source);
    }
    if axis.places.len() < 2 {
        return Err(usage("all places are the very same build: there is no change to find".to_owned()));
    }
    Ok(axis)
}

/// A place that is on the axis twice has one set of runs, which would count for both.
fn each_once(axis: &Axis) -> Result<(), Failure> {
    let mut arms = BTreeSet::new();
    match axis.places.iter().find(|place| !arms.insert(&place.arm)) {
        None => Ok(()),
        Some(twice) => {
            let what = format!("{} is on the axis more than once", twice.label);
            Err(Failure::with_help(
                Exit::Usage,
                what,
                "each place has to be another one, in the order of the search",
            ))
        }
    }
}

/// The driver build of the places that do not choose one: the one that their runs will record.
fn name_builds(axis: &mut Axis, prepared: &Prepared) -> Result<(), Failure> {
    let mut builds: BTreeMap<&str, String> = BTreeMap::new();
    for (place, source) in axis.places.iter_mut().zip(&axis.sources) {
        let Source::Ready(arm) = source else { continue };
        if place.driver.is_empty() {
            let hash = match builds.get(arm.driver.as_str()) {
                Some(hash) => hash.clone(),
                None => prepared.tree(&arm.driver)?.manifest.hash,
            };
            place.driver.clone_from(&hash);
            builds.insert(&arm.driver, hash);
        }
    }
    Ok(())
}

pub fn looking(find: Find) -> Looking {
    match find {
        Find::Broken => Looking::Broken,
        Find::Fixed => Looking::Fixed,
    }
}
