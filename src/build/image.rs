//! One image: from the cache, or compiled into it; once, however many builders want it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use super::cache::{self, Cache, Hit, Lookup, Origin};
use super::compile::{self, Compiler};
use super::error::{BuildError, Cause};
use super::slots::{Slots, Turn};
use super::source::GENERATOR_VERSION;
use super::target::Target;
use super::zebin;
use crate::model::arm::{ModuleFormat, Variant};

/// What all images of one variant have in common.
pub struct Images<'a> {
    pub compiler: &'a dyn Compiler,
    pub cache: &'a Cache,
    pub slots: &'a Slots,
    pub turn: Turn,
    /// For one compilation.
    pub timeout: Duration,
    pub stop: &'a AtomicBool,
    pub format: ModuleFormat,
    args: Vec<OsString>,
    identity: String,
}

/// An image of the cache.
#[derive(Debug)]
pub struct Image {
    pub hit: Hit,
    /// It was there.
    pub cached: bool,
    /// What was wrong with an entry that had to go.
    pub note: Option<String>,
}

impl<'a> Images<'a> {
    pub fn new(
        compiler: &'a dyn Compiler,
        cache: &'a Cache,
        (slots, turn): (&'a Slots, Turn),
        (timeout, stop): (Duration, &'a AtomicBool),
        (variant, target): (&Variant, &Target),
    ) -> Self {
        let args = arguments(&variant.options.join(" "), target, variant.format);
        let identity = compiler.identity();
        Images { compiler, cache, slots, turn, timeout, stop, format: variant.format, args, identity }
    }

    /// The key of the image that this text is compiled to.
    pub fn key(&self, text: &str) -> String {
        let version = GENERATOR_VERSION.to_string();
        let shown = self.args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join("\u{1f}");
        cache::key([version.as_str(), &self.identity, &shown, text])
    }

    /// The compiler's command, as a shell takes it.
    pub fn command(&self) -> String {
        compile::show(&self.compiler.command(&self.args))
    }

    /// The image with this key, if it is in the cache and whole; else what was wrong with it.
    pub fn look(&self, key: &str) -> Result<Result<Hit, Option<String>>, BuildError> {
        Ok(match self.cache.get(key).map_err(self.io("read the build cache in"))? {
            Lookup::Hit(hit) => Ok(*hit),
            Lookup::Damaged(why) => Err(Some(format!("a damaged cache entry was rebuilt ({why})"))),
            Lookup::Miss => Err(None),
        })
    }

    /// From the cache, or compiled.
    pub fn compiled(&self, text: &str) -> Result<Image, BuildError> {
        let key = self.key(text);
        self.made(&key, |work| {
            let slot = self.slots.take(self.turn, || self.stop.load(Ordering::Relaxed));
            let _slot = slot.ok_or_else(|| BuildError::early(Cause::Interrupted))?;
            self.compile(text, work)
        })
    }

    /// From the cache, or made by `make`, under the key's lock.
    pub fn made(
        &self,
        key: &str,
        make: impl FnOnce(&Path) -> Result<(Vec<u8>, Origin), BuildError>,
    ) -> Result<Image, BuildError> {
        let mut note = match self.look(key)? {
            Ok(hit) => return Ok(Image { hit, cached: true, note: None }),
            Err(damage) => damage,
        };
        let work = self.cache.workspace(key).map_err(self.io("make a directory in"))?;
        let _held = self.hold(&self.cache.lock_path(key))?;
        // Another builder may have finished while this one waited.
        match self.look(key)? {
            Ok(hit) => return Ok(Image { hit, cached: true, note }),
            Err(damage) => note = note.or(damage),
        }
        let (image, origin) = make(work.path())?;
        let hit = self.cache.put(key, &image, &origin).map_err(self.io("store a module in"))?;
        Ok(Image { hit, cached: false, note })
    }

    fn io(&self, verb: &'static str) -> impl Fn(std::io::Error) -> BuildError {
        move |error| BuildError::early(Cause::from_io(verb, self.cache.dir(), &error))
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

    fn compile(&self, text: &str, work: &Path) -> Result<(Vec<u8>, Origin), BuildError> {
        let input = work.join(INPUT);
        std::fs::write(&input, text).map_err(|e| BuildError::early(Cause::from_io("write", &input, &e)))?;
        let start = Instant::now();
        compile::run(self.compiler, &self.args, work, self.timeout, self.stop)?;
        let seconds = start.elapsed().as_secs_f64();
        let command = self.command();
        let bad = |what: String| BuildError::new(Cause::BadImage(what), command.clone(), String::new(), work);
        let output = output(work, self.format).map_err(&bad)?;
        let image = std::fs::read(&output).map_err(|e| bad(format!("{}: {e}", output.display())))?;
        zebin::inspect(&image, self.format).map_err(|e| bad(e.to_string()))?;
        Ok((image, Origin { seconds, command, parts: Vec::new() }))
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
fn output(work: &Path, format: ModuleFormat) -> Result<PathBuf, String> {
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
