//! SYCL variants: one source file, built by icpx where there is one, else by the host's C++ compiler and DPC++'s
//! run-time compiler ([`crate::toolchain`]).
//!
//! icpx makes one program with its device code. The run-time compiler's way has two steps: the host half is compiled
//! once for a runtime, and the device half once for a variant, driver build and device, by the program itself on that
//! device; it is kept as SYCLBIN (native code), so that a measured run compiles nothing. A runtime that cannot save device
//! code compiles it in every run. All that is kept is in the content-addressed cache.

mod diagnose;
mod front_end;
mod image;
mod run;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use diagnose::{Diagnosis, diagnose};
pub use front_end::{FrontEndError, SyclCompiler};
pub use image::{SyclImage, images};
pub use run::SyclError;

use super::cache::{self, Cache, Hit, Lookup, Origin};
use crate::model::arm::{Split, Variant};

/// `repro-kernels/sycl/private.cpp`: host and device code of the reproducer.
pub const SOURCE: &str = include_str!("../../../repro-kernels/sycl/private.cpp");
const SOURCE_NAME: &str = "private.cpp";
/// Part of every key: raised when the command lines change in a way that their text does not show.
const VERSION: &str = "sycl-1";

/// How a program is started on a driver build and a device: the harness's own wrappers, whatever they are.
pub trait OnDevice: Sync {
    fn command(&self, program: &Path, args: &[OsString]) -> Result<Command, String>;
    /// Changes whenever the driver, its compiler or the device does.
    fn identity(&self) -> String;
}

/// A SYCL variant, ready to run.
#[derive(Clone, Debug)]
pub struct SyclBuilt {
    pub program: PathBuf,
    /// Device code, where the program does not hold it itself.
    pub bundle: Option<PathBuf>,
    /// Arguments by which the program compiles its device code in the run, where that could not be kept.
    pub compile: Vec<OsString>,
    /// Native images with their kernels; `None`: the driver compiles the program's SPIR-V.
    pub images: Option<Vec<SyclImage>>,
    /// What built it, as reports name it.
    pub front_end: String,
    /// Seconds of compiler time, whether spent now or when the cache was filled.
    pub seconds: f64,
    /// Bytes of the device code (of the program, where that holds it).
    pub image_bytes: u64,
    pub cached: bool,
    pub commands: Vec<String>,
}

impl SyclBuilt {
    /// Bytes of one hardware thread, of the image that needs most; `None` where the driver compiles the program.
    pub fn private_per_thread(&self) -> Option<u64> {
        self.images.as_ref()?.iter().map(SyclImage::private_per_thread).max()
    }

    /// Would the driver put an image on the per-dispatch path?
    pub fn predicted_per_dispatch(&self, compute_units: u64, global_memory: u64) -> Option<bool> {
        Some(self.private_per_thread()?.saturating_mul(compute_units) > global_memory)
    }
}

/// Builds variants with one front end into one cache.
pub struct SyclBuilder<'a> {
    pub compiler: &'a SyclCompiler,
    pub cache: Cache,
    pub timeout: Duration,
    pub stop: &'a AtomicBool,
}

impl SyclBuilder<'_> {
    pub fn build(&self, variant: &Variant, on: &dyn OnDevice) -> Result<SyclBuilt, SyclError> {
        check(variant)?;
        match self.compiler {
            SyclCompiler::Icpx { .. } => self.with_icpx(variant),
            SyclCompiler::RunTime { .. } => self.with_run_time_compiler(variant, on),
        }
    }

    fn with_icpx(&self, variant: &Variant) -> Result<SyclBuilt, SyclError> {
        let mut args = vec![
            format!("-DBLOAT_N={}", variant.kernels),
            format!("-DBATCH_SIZE={}", variant.batch_size),
            format!("-DSIMD={}", variant.simd),
            split_flag(variant.split).to_owned(),
        ];
        args.extend(variant.options.iter().cloned());
        let hit = self.program(&args)?;
        Ok(self.built(vec![hit], None, None))
    }

    fn with_run_time_compiler(&self, variant: &Variant, on: &dyn OnDevice) -> Result<SyclBuilt, SyclError> {
        let program = self.program(&[])?;
        if !self.compiler.saves_device_code() {
            let source = self.source()?;
            let mut built = self.built(vec![program], None, None);
            built.compile = self.device_args(variant, &source.0.path);
            return Ok(built);
        }
        let mut args = self.device_args(variant, Path::new(SOURCE_NAME));
        args.extend(["--kernels".into(), variant.kernels.to_string().into()]);
        args.extend(["--block-entries".into(), variant.batch_size.to_string().into()]);
        args.extend(["--save-bundle", OUTPUT].map(OsString::from));
        let shown: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let identity = on.identity();
        let key_parts = [VERSION, "device", SOURCE, self.compiler.identity(), &identity];
        let key = cache::key(key_parts.into_iter().chain(shown.iter().map(String::as_str)));
        let bundle = self.cached(&key, |work| {
            let mut command = on
                .command(&program.0.path, &args)
                .map_err(|what| SyclError::early(format!("the device compiler cannot be started: {what}")))?;
            command.env("ONEAPI_DEVICE_SELECTOR", "level_zero:gpu");
            command.env("SYCL_CACHE_PERSISTENT", "0").env("NEO_CACHE_PERSISTENT", "0");
            self.run(command, "DPC++'s run-time compiler", work)
        })?;
        let images = images(&bundle.0.image).map_err(|what| {
            SyclError::early(format!("the run-time compiler's SYCLBIN cannot be read: {what}"))
        })?;
        Ok(self.built(vec![program, bundle], Some(images), Some(1)))
    }

    /// What makes the program compile the variant's device code, but for what a run says anyway.
    fn device_args(&self, variant: &Variant, source: &Path) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--device-source".into(), source.into()];
        args.extend(["--simd".into(), variant.simd.to_string().into()]);
        let mut option = |text: &str| args.extend(["--option", text].map(OsString::from));
        option(split_flag(variant.split));
        self.compiler.device_options().for_each(&mut option);
        variant.options.iter().for_each(|text| option(text));
        args
    }

    /// The source as a file that stays.
    fn source(&self) -> Result<(Hit, bool), SyclError> {
        let key = cache::key([VERSION, "source", SOURCE]);
        self.cached(&key, |work| {
            let (from, to) = (work.join(SOURCE_NAME), work.join(OUTPUT));
            std::fs::copy(&from, &to).map_err(|e| SyclError::io(&to, &e))?;
            Ok(String::new())
        })
    }

    fn built(
        &self,
        hits: Vec<(Hit, bool)>,
        images: Option<Vec<SyclImage>>,
        bundle: Option<usize>,
    ) -> SyclBuilt {
        let path = |index: usize| hits.get(index).map(|(hit, _)| hit.path.clone());
        SyclBuilt {
            program: path(0).unwrap_or_default(),
            bundle: bundle.and_then(path),
            compile: Vec::new(),
            images,
            front_end: self.compiler.describe(),
            seconds: hits.iter().map(|(hit, _)| hit.entry.origin.seconds).sum(),
            image_bytes: hits.last().map_or(0, |(hit, _)| hit.entry.bytes),
            cached: hits.iter().all(|(_, cached)| *cached),
            commands: hits.into_iter().map(|(hit, _)| hit.entry.origin.command).collect(),
        }
    }

    /// The program: all of it with icpx, its host half otherwise.
    fn program(&self, defines: &[String]) -> Result<(Hit, bool), SyclError> {
        let args = self.compiler.program_args(SOURCE_NAME, OUTPUT, defines);
        let shown: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let parts = [VERSION, "program", SOURCE, self.compiler.identity()];
        let key = cache::key(parts.into_iter().chain(shown.iter().map(String::as_str)));
        let found = self.cached(&key, |work| {
            let mut command = Command::new(self.compiler.program());
            command.args(&args);
            self.run(command, self.compiler.tool(), work)
        })?;
        // The cache keeps bytes; a program must be executable too.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&found.0.path, mode).map_err(|e| SyclError::io(&found.0.path, &e))?;
        Ok(found)
    }

    fn run(&self, command: Command, tool: &str, work: &Path) -> Result<String, SyclError> {
        run::run(command, tool, work, self.timeout, self.stop)
    }

    /// From the cache, or made by `make` in a directory that holds the source; it leaves the file [`OUTPUT`].
    fn cached(
        &self,
        key: &str,
        make: impl FnOnce(&Path) -> Result<String, SyclError>,
    ) -> Result<(Hit, bool), SyclError> {
        let io = |error: std::io::Error| SyclError::io(self.cache.dir(), &error);
        if let Lookup::Hit(hit) = self.cache.get(key).map_err(io)? {
            return Ok((*hit, true));
        }
        let work = self.cache.workspace(key).map_err(io)?;
        let _held = run::hold(&self.cache.lock_path(key), self.timeout, self.stop)?;
        // Another builder may have finished while this one waited.
        if let Lookup::Hit(hit) = self.cache.get(key).map_err(io)? {
            return Ok((*hit, true));
        }
        let source = work.path().join(SOURCE_NAME);
        std::fs::write(&source, SOURCE).map_err(|e| SyclError::io(&source, &e))?;
        let start = std::time::Instant::now();
        let command = make(work.path())?;
        let seconds = start.elapsed().as_secs_f64();
        let output = work.path().join(OUTPUT);
        let bytes = std::fs::read(&output).map_err(|e| SyclError::io(&output, &e))?;
        let hit = self.cache.put(key, &bytes, &Origin { seconds, command, parts: Vec::new() }).map_err(io)?;
        Ok((hit, false))
    }
}

const OUTPUT: &str = "output";

fn split_flag(split: Split) -> &'static str {
    match split {
        Split::Off => "-fsycl-device-code-split=off",
        Split::PerSource => "-fsycl-device-code-split=per_source",
        Split::PerKernel => "-fsycl-device-code-split=per_kernel",
    }
}

/// What the Level Zero front end has and this one has not.
fn check(variant: &Variant) -> Result<(), SyclError> {
    let lacks = [
        (variant.plain_kernels > 0, "plain_kernels"),
        (variant.padding > 0, "padding"),
        (variant.format == crate::model::arm::ModuleFormat::Spirv, "format = \"spirv\""),
    ];
    match lacks.iter().find(|(set, _)| *set) {
        Some((_, what)) => Err(SyclError::early(format!("the sycl front end has no {what}"))),
        None => Ok(()),
    }
}
