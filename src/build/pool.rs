//! Builds the modules of many variants on one pool of threads.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::BuiltVariant;
use super::assemble::{self, Assembled, NotJoined};
use super::cache::{Cache, Hit};
use super::compile::Compiler;
use super::error::{BuildError, Cause};
use super::image::{Image, Images};
use super::recipe::{How, Recipe};
use super::slots::Slots;
use super::target::Target;
use crate::model::arm::Variant;

/// One variant to build for one device.
#[derive(Clone, Debug)]
pub struct Request {
    pub variant: Variant,
    pub target: Target,
}

/// What the pool reports. `request` is the index in the list given to [`Builder::build_all`]. A single compilation
/// says nothing of its progress: compilations done and time passed are all there is.
#[derive(Debug)]
pub enum BuildEvent<'a> {
    Started { request: usize },
    Compiled { request: usize, done: usize, of: usize, cached: bool },
    Finished { request: usize, elapsed: Duration, result: &'a Result<BuiltVariant, BuildError> },
}

/// Builds with one compiler into one cache.
pub struct Builder<'a> {
    pub compiler: &'a dyn Compiler,
    pub cache: Cache,
    /// Compilations side by side; shared with the other builders of a run.
    pub slots: &'a Slots,
    /// For one compilation.
    pub timeout: Duration,
    /// Set by a signal handler: running compilations are stopped, waiting ones are not begun.
    pub stop: &'a AtomicBool,
}

/// A compilation of a request.
struct Task {
    request: usize,
    compilation: usize,
}

/// A variant while its compilations come in.
struct Pending<'a> {
    request: &'a Request,
    images: Images<'a>,
    started: Instant,
    stage: Mutex<Stage>,
}

struct Stage {
    recipe: Recipe,
    /// Modules that the cache had ready; their compilations are not needed.
    ready: BTreeMap<usize, Hit>,
    compiled: BTreeMap<usize, Image>,
    failed: Option<BuildError>,
    /// Compilations that are not over.
    left: usize,
    of: usize,
    notes: Vec<String>,
}

/// What to do after a compilation is over.
enum Next {
    Wait,
    /// All are over.
    Finish(Result<BuiltVariant, BuildError>),
    /// The parts could not be put together: the compiler makes the modules.
    Again(Vec<usize>),
}

type Report<'a> = dyn Fn(BuildEvent<'_>) + Sync + 'a;

impl Builder<'_> {
    /// One variant.
    pub fn build(&self, variant: &Variant, target: &Target) -> Result<BuiltVariant, BuildError> {
        let request = Request { variant: variant.clone(), target: target.clone() };
        let mut results = self.build_all(&[request], &|_| {});
        results.pop().unwrap_or_else(|| Err(BuildError::early(Cause::Interrupted)))
    }

    /// All variants, in the order given; results in the same order. `report` is called from the pool's threads, with
    /// a variant's [`BuildEvent::Finished`] as soon as the variant is complete. A failed compilation fails its variant
    /// (the variant's other compilations are not begun) and no other.
    pub fn build_all(
        &self,
        requests: &[Request],
        report: &(dyn Fn(BuildEvent<'_>) + Sync),
    ) -> Vec<Result<BuiltVariant, BuildError>> {
        let results: Vec<Mutex<Option<Result<BuiltVariant, BuildError>>>> =
            requests.iter().map(|_| Mutex::new(None)).collect();
        let finish = |request: usize, elapsed: Duration, result: Result<BuiltVariant, BuildError>| {
            report(BuildEvent::Finished { request, elapsed, result: &result });
            if let Some(slot) = results.get(request) {
                *lock(slot) = Some(result);
            }
        };
        let mut queue = VecDeque::new();
        let mut pending = BTreeMap::new();
        for (index, request) in requests.iter().enumerate() {
            match self.begin(request) {
                Err(error) => finish(index, Duration::ZERO, Err(error)),
                Ok((state, needed)) => {
                    report(BuildEvent::Started { request: index });
                    if needed.is_empty() {
                        let result = state.finished().unwrap_or_else(|why| Err(why.into_error()));
                        finish(index, state.started.elapsed(), result);
                        continue;
                    }
                    queue.extend(needed.into_iter().map(|compilation| Task { request: index, compilation }));
                    pending.insert(index, state);
                }
            }
        }
        let workers = self.slots.total().min(queue.len());
        let queue = Mutex::new(queue);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(task) = { lock(&queue).pop_front() } {
                        let Some(state) = pending.get(&task.request) else { continue };
                        match state.step(&task, report) {
                            Next::Wait => {}
                            Next::Finish(result) => finish(task.request, state.started.elapsed(), result),
                            Next::Again(needed) => lock(&queue).extend(
                                needed
                                    .into_iter()
                                    .map(|compilation| Task { request: task.request, compilation }),
                            ),
                        }
                    }
                });
            }
        });
        results
            .into_iter()
            .map(|slot| {
                let result = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
                result.unwrap_or_else(|| Err(BuildError::early(Cause::Interrupted)))
            })
            .collect()
    }

    /// The state of a request, and the compilations that it needs.
    fn begin<'a>(&'a self, request: &'a Request) -> Result<(Pending<'a>, Vec<usize>), BuildError> {
        let recipe = Recipe::of(&request.variant).map_err(|bad| BuildError::early(bad.into()))?;
        let images = Images::new(
            self.compiler,
            &self.cache,
            (self.slots, self.slots.turn()),
            (self.timeout, self.stop),
            (&request.variant, &request.target),
        );
        let started = Instant::now();
        let (mut ready, mut notes) = (BTreeMap::new(), Vec::new());
        for (index, module) in recipe.modules.iter().enumerate() {
            let How::FromParts(taken) = &module.how else { continue };
            match images.look(&assemble::key(&images, &recipe, taken))? {
                Ok(hit) => drop(ready.insert(index, hit)),
                Err(damage) => notes.extend(damage.map(|why| format!("{}: {why}", module.name))),
            }
        }
        let stage = Stage::new(recipe, ready, notes);
        let needed = stage.needed();
        Ok((Pending { request, images, started, stage: Mutex::new(stage) }, needed))
    }
}

impl Stage {
    fn new(recipe: Recipe, ready: BTreeMap<usize, Hit>, notes: Vec<String>) -> Self {
        let mut stage =
            Stage { recipe, ready, compiled: BTreeMap::new(), failed: None, left: 0, of: 0, notes };
        stage.left = stage.needed().len();
        stage.of = stage.left;
        stage
    }

    /// Compilations of the modules that are not ready.
    fn needed(&self) -> Vec<usize> {
        let modules = self.recipe.modules.iter().enumerate();
        let missing = modules.filter(|(index, _)| !self.ready.contains_key(index));
        let mut needed = BTreeSet::new();
        for (_, module) in missing {
            match &module.how {
                How::Whole(index) => drop(needed.insert(*index)),
                How::FromParts(taken) => needed.extend(taken.iter().map(|(index, _)| *index)),
            }
        }
        needed.into_iter().collect()
    }
}

impl Pending<'_> {
    fn step(&self, task: &Task, report: &Report<'_>) -> Next {
        let text = {
            let stage = lock(&self.stage);
            let compilation = stage.recipe.compilations.get(task.compilation);
            compilation.filter(|_| stage.failed.is_none()).map(|compilation| compilation.text.clone())
        };
        let result = text.map(|text| self.images.compiled(&text));
        let mut stage = lock(&self.stage);
        match result {
            // Another compilation of this variant has failed.
            None => {}
            Some(Ok(image)) => {
                let cached = image.cached;
                stage.compiled.insert(task.compilation, image);
                let (done, of) = (stage.compiled.len(), stage.of);
                report(BuildEvent::Compiled { request: task.request, done, of, cached });
            }
            Some(Err(error)) => drop(stage.failed.get_or_insert(error)),
        }
        stage.left -= 1;
        if stage.left > 0 {
            return Next::Wait;
        }
        drop(stage);
        match self.finished() {
            Ok(result) => Next::Finish(result),
            Err(why) => self.whole(why),
        }
    }

    /// The variant, once its compilations are over.
    fn finished(&self) -> Result<Result<BuiltVariant, BuildError>, NotJoined> {
        let mut stage = lock(&self.stage);
        if let Some(error) = stage.failed.take() {
            return Ok(Err(error));
        }
        let mut variant = BuiltVariant { notes: std::mem::take(&mut stage.notes), ..BuiltVariant::default() };
        // A part serves several modules; its time counts once.
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        for (index, image) in &stage.compiled {
            let name = stage.recipe.compilations.get(*index).and_then(|c| c.kernels.first().copied());
            let name =
                name.map_or_else(String::new, |kernel| format!("the compilation of {}: ", kernel.name()));
            variant.notes.extend(image.note.as_ref().map(|note| format!("{name}{note}")));
        }
        variant.cached = stage.compiled.values().all(|image| image.cached);
        for (index, module) in stage.recipe.modules.iter().enumerate() {
            let assembled = assemble::module(
                &self.images,
                &stage.recipe,
                module,
                stage.ready.get(&index),
                &stage.compiled,
            );
            match assembled {
                Ok(Assembled { module, used }) => {
                    seconds.extend(used);
                    variant.modules.push(module);
                }
                Err(NotJoined::Failed(error)) => return Ok(Err(error)),
                Err(why) => {
                    stage.notes = variant.notes;
                    return Err(why);
                }
            }
        }
        variant.build_seconds = seconds.values().sum();
        Ok(Ok(variant))
    }

    /// Begins again with one compilation a module.
    fn whole(&self, why: NotJoined) -> Next {
        let recipe = match Recipe::whole(&self.request.variant) {
            Ok(recipe) => recipe,
            Err(bad) => return Next::Finish(Err(BuildError::early(bad.into()))),
        };
        let mut stage = lock(&self.stage);
        let mut notes = std::mem::take(&mut stage.notes);
        notes.push(format!("compiled whole, because its parts cannot be put together: {why}"));
        *stage = Stage::new(recipe, BTreeMap::new(), notes);
        Next::Again(stage.needed())
    }
}

/// A panic of another thread leaves nothing half-made behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
