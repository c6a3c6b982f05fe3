//! Builds the modules of many variants on one pool of threads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use super::cache::{self, Cache, Hit, Lookup};
use super::compile::{self, Compiler};
use super::error::{BuildError, Cause};
use super::source::{self, GENERATOR_VERSION, ModuleSource};
use super::target::Target;
use super::zebin;
use super::{BuiltModule, BuiltVariant};
use crate::model::arm::{ModuleFormat, Variant};

/// One variant to build for one device.
#[derive(Clone, Debug)]
pub struct Request {
    pub variant: Variant,
    pub target: Target,
}

/// What the pool reports. `request` is the index in the list given to [`Builder::build_all`]. A single compilation
/// says nothing of its progress: modules done and time passed are all there is.
#[derive(Debug)]
pub enum BuildEvent<'a> {
    Started { request: usize },
    Module { request: usize, done: usize, of: usize, cached: bool },
    Finished { request: usize, elapsed: Duration, result: &'a Result<BuiltVariant, BuildError> },
}

/// Builds with one compiler into one cache.
pub struct Builder<'a> {
    pub compiler: &'a dyn Compiler,
    pub cache: Cache,
    /// Compilations side by side; 0 = one for each core.
    pub jobs: usize,
    /// For one module.
    pub timeout: Duration,
    /// Set by a signal handler: running compilations are stopped, waiting ones are not begun.
    pub stop: &'a AtomicBool,
}

struct Task {
    request: usize,
    module: usize,
}

/// A module, the compiler's seconds, and what was wrong with a cache entry that had to go.
type Done = (BuiltModule, f64, Option<String>);

/// A variant while its modules come in.
struct Pending {
    sources: Vec<ModuleSource>,
    built: Mutex<Vec<Option<Done>>>,
    failed: Mutex<Option<BuildError>>,
    left: AtomicUsize,
    started: Mutex<Option<Instant>>,
}

impl Builder<'_> {
    /// One variant.
    pub fn build(&self, variant: &Variant, target: &Target) -> Result<BuiltVariant, BuildError> {
        let request = Request { variant: variant.clone(), target: target.clone() };
        let mut results = self.build_all(&[request], &|_| {});
        results.pop().unwrap_or_else(|| Err(BuildError::early(Cause::Interrupted)))
    }

    /// All variants, in the order given; results in the same order. `report` is called from the pool's threads, with
    /// a variant's [`BuildEvent::Finished`] as soon as the variant is complete. A failed module fails its variant
    /// (the variant's other modules are not begun) and no other.
    pub fn build_all(
        &self,
        requests: &[Request],
        report: &(dyn Fn(BuildEvent<'_>) + Sync),
    ) -> Vec<Result<BuiltVariant, BuildError>> {
        let results: Vec<Mutex<Option<Result<BuiltVariant, BuildError>>>> =
            requests.iter().map(|_| Mutex::new(None)).collect();
        let finish = |request: usize, elapsed: Duration, result: Result<BuiltVariant, BuildError>| {
            report(BuildEvent::Finished { request, elapsed, result: &result });
            *lock(&results[request]) = Some(result);
        };
        let mut queue = VecDeque::new();
        let mut pending = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let sources = match source::generate(&request.variant) {
                Ok(sources) => sources,
                Err(bad) => {
                    finish(index, Duration::ZERO, Err(BuildError::early(bad.into())));
                    Vec::new()
                }
            };
            queue.extend((0..sources.len()).map(|module| Task { request: index, module }));
            pending.push(Pending {
                built: Mutex::new(sources.iter().map(|_| None).collect()),
                left: AtomicUsize::new(sources.len()),
                sources,
                failed: Mutex::new(None),
                started: Mutex::new(None),
            });
        }
        let workers = self.workers().min(queue.len());
        let queue = Mutex::new(queue);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(task) = { lock(&queue).pop_front() } {
                        let state = &pending[task.request];
                        self.step(&requests[task.request], &task, state, report);
                        if state.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                            let elapsed =
                                lock(&state.started).map(|start| start.elapsed()).unwrap_or_default();
                            finish(task.request, elapsed, state.result());
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

    fn workers(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }

    fn step(
        &self,
        request: &Request,
        task: &Task,
        state: &Pending,
        report: &(dyn Fn(BuildEvent<'_>) + Sync),
    ) {
        {
            let mut started = lock(&state.started);
            if started.is_none() {
                *started = Some(Instant::now());
                report(BuildEvent::Started { request: task.request });
            }
        }
        if lock(&state.failed).is_some() {
            return;
        }
        let Some(source) = state.sources.get(task.module) else { return };
        match self.module(request, source) {
            Ok((module, seconds, note)) => {
                let cached = module.cached;
                let mut built = lock(&state.built);
                if let Some(slot) = built.get_mut(task.module) {
                    *slot = Some((module, seconds, note));
                }
                let done = built.iter().flatten().count();
                let of = built.len();
                drop(built);
                report(BuildEvent::Module { request: task.request, done, of, cached });
            }
            Err(error) => {
                lock(&state.failed).get_or_insert(error);
            }
        }
    }

    /// From the cache, or compiled.
    fn module(&self, request: &Request, source: &ModuleSource) -> Result<Done, BuildError> {
        let variant = &request.variant;
        let options = variant.options.join(" ");
        let identity = self.compiler.identity();
        let version = GENERATOR_VERSION.to_string();
        let args = arguments(&options, &request.target, variant.format);
        let shown = args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join("\u{1f}");
        let key = cache::key([version.as_str(), &identity, &shown, &source.text]);
        let io = |verb: &'static str| {
            move |error: std::io::Error| BuildError::early(Cause::from_io(verb, self.cache.dir(), &error))
        };
        let module = |hit: Hit, cached: bool| -> Result<(BuiltModule, f64), BuildError> {
            let kernels = zebin::inspect(&hit.image, variant.format)
                .map_err(|e| BuildError::early(Cause::BadImage(e.to_string())))?;
            let Hit { path, entry, .. } = hit;
            let name = source.name.clone();
            let built =
                BuiltModule { name, path, bytes: entry.bytes, command: entry.command, cached, kernels };
            Ok((built, entry.seconds))
        };
        let damage = |why: String| format!("{}: a damaged cache entry was rebuilt ({why})", source.name);
        let mut note = match self.cache.get(&key).map_err(io("read the build cache in"))? {
            Lookup::Hit(hit) => {
                let (built, seconds) = module(*hit, true)?;
                return Ok((built, seconds, None));
            }
            Lookup::Damaged(why) => Some(damage(why)),
            Lookup::Miss => None,
        };
        let work = self.cache.workspace(&key).map_err(io("make a directory in"))?;
        let _held = self.hold(&self.cache.lock_path(&key))?;
        // Another builder may have finished while this one waited.
        match self.cache.get(&key).map_err(io("read the build cache in"))? {
            Lookup::Hit(hit) => {
                let (built, seconds) = module(*hit, true)?;
                return Ok((built, seconds, note));
            }
            Lookup::Damaged(why) => note = Some(damage(why)),
            Lookup::Miss => {}
        }
        let (image, seconds, command) = self.compile(&args, source, variant.format, work.path())?;
        let hit = self.cache.put(&key, &image, seconds, &command).map_err(io("store a module in"))?;
        let (built, seconds) = module(hit, false)?;
        Ok((built, seconds, note))
    }

    /// Takes the lock of one key, across threads and processes; it goes with the returned guard.
    fn hold(&self, path: &Path) -> Result<Flock<File>, BuildError> {
        let failed = |error: &std::io::Error| BuildError::early(Cause::from_io("lock", path, error));
        let mut file = File::options().create(true).append(true).open(path).map_err(|e| failed(&e))?;
        let start = Instant::now();
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(held) => return Ok(held),
                Err((back, nix::errno::Errno::EWOULDBLOCK)) => file = back,
                Err((_, errno)) => return Err(failed(&errno.into())),
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(BuildError::early(Cause::Interrupted));
            }
            // The holder gives up after its own timeout; twice that means that it is stuck elsewhere.
            if start.elapsed() > self.timeout * 2 {
                return Err(BuildError::early(Cause::Timeout(self.timeout * 2)));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn compile(
        &self,
        args: &[OsString],
        source: &ModuleSource,
        format: ModuleFormat,
        work: &Path,
    ) -> Result<(Vec<u8>, f64, String), BuildError> {
        let input = work.join(INPUT);
        std::fs::write(&input, &source.text)
            .map_err(|e| BuildError::early(Cause::from_io("write", &input, &e)))?;
        let start = Instant::now();
        compile::run(self.compiler, args, work, self.timeout, self.stop)?;
        let seconds = start.elapsed().as_secs_f64();
        let command = compile::show(&self.compiler.command(args));
        let bad = |what: String| BuildError::new(Cause::BadImage(what), command.clone(), String::new(), work);
        let output = output(work, format).map_err(&bad)?;
        let image = std::fs::read(&output).map_err(|e| bad(format!("{}: {e}", output.display())))?;
        zebin::inspect(&image, format).map_err(|e| bad(e.to_string()))?;
        Ok((image, seconds, command))
    }
}

const INPUT: &str = "module.cl";
const OUTPUT: &str = "module.bin";

/// Relative names only: the command runs in a directory of its own, and its text must not change the cache key.
fn arguments(options: &str, target: &Target, format: ModuleFormat) -> Vec<OsString> {
    let mut args = vec!["compile", "-file", INPUT, "-device", &target.ocloc_device];
    match format {
        // Without the IR the image is what the driver needs and nothing else.
        ModuleFormat::Native => args.extend(["-exclude_ir", "-o", OUTPUT]),
        ModuleFormat::Spirv => args.extend(["-spv_only", "-output", "module"]),
    }
    if !options.is_empty() {
        args.extend(["-options", options]);
    }
    args.into_iter().map(OsString::from).collect()
}

/// SPIR-V's file name carries the device's family, chosen by `ocloc`: take the only one there is.
fn output(work: &Path, format: ModuleFormat) -> Result<std::path::PathBuf, String> {
    match format {
        ModuleFormat::Native => Ok(work.join(OUTPUT)),
        ModuleFormat::Spirv => {
            let entries = std::fs::read_dir(work).map_err(|e| e.to_string())?;
            let found: Vec<_> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "spv"))
                .collect();
            match found.as_slice() {
                [only] => Ok(only.clone()),
                other => Err(format!("{} .spv files were written, not one", other.len())),
            }
        }
    }
}

impl Pending {
    fn result(&self) -> Result<BuiltVariant, BuildError> {
        if let Some(error) = lock(&self.failed).take() {
            return Err(error);
        }
        let mut variant =
            BuiltVariant { modules: Vec::new(), build_seconds: 0.0, cached: true, notes: Vec::new() };
        for slot in lock(&self.built).iter_mut() {
            let Some((module, seconds, note)) = slot.take() else {
                return Err(BuildError::early(Cause::Interrupted));
            };
            variant.build_seconds += seconds;
            variant.cached &= module.cached;
            variant.notes.extend(note);
            variant.modules.push(module);
        }
        Ok(variant)
    }
}

/// A panic of another thread leaves nothing half-made behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
