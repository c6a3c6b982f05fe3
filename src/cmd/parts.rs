//! The real build, driver and observe stages behind [`Parts`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::build::cache::Cache;
use crate::build::sycl::{SyclBuilt, SyclCompiler};
use crate::build::{Builder, BuiltVariant, Slots, Target, TreeCompiler};
use crate::cmd::lab::{Launch, Parts};
use crate::cmd::observe::Observers;
use crate::cmd::sycl::SyclStage;
use crate::driver::{DriverTree, LaunchSpec};
use crate::frontend::level_zero::args::{self, LateModule};
use crate::host::Device;
use crate::judge::ExpectedDriver;
use crate::model::arm::{Arm, FrontEnd, Variant};
use crate::model::build::{BuildRecord, ModuleRecord, PartRecord};
use crate::model::facts::Facts;
use crate::model::outcome::RESULTS_VERSION;
use crate::run::RawRun;
use crate::run::lab::{BuildFailure, Built};

/// Part of the file name of the library that a run must be proved to have used.
const DRIVER_LIBRARY: &str = "libze_intel_gpu";
/// One compilation: hundreds of kernels that are compiled whole take minutes.
const MODULE_TIMEOUT: Duration = Duration::from_secs(900);
/// A late module must differ in private size from the first, or the driver would give it the first one's surface.
const LATE_BATCH_STEP: u32 = 8;

/// The stages of one matrix run.
pub struct Stages {
    /// By the name that arms use.
    pub drivers: BTreeMap<String, DriverTree>,
    /// By the name that arms use.
    pub devices: BTreeMap<String, Device>,
    pub cache: PathBuf,
    /// SYCL front ends by the runtime that arms name, or why there is none.
    pub sycl: BTreeMap<String, Result<SyclCompiler, String>>,
    /// This program: the reproducers are verbs of it.
    pub tool: PathBuf,
    pub observers: Observers,
    /// Compilations side by side.
    pub slots: Slots,
    /// Set by a signal: compilations stop.
    pub stop: Arc<AtomicBool>,
}

/// What an arm runs.
pub enum Reproducer {
    LevelZero(Modules),
    /// Modules that were built for the command, if any.
    Command(Option<BuiltVariant>),
    Sycl(SyclBuilt),
}

/// The modules of an arm of the Level Zero front end.
pub struct Modules {
    first: BuiltVariant,
    late: Option<BuiltVariant>,
}

impl Reproducer {
    /// Private bytes of one hardware thread, of the module that needs most; `None` where the compiler does not say, or
    /// where what is loaded is a command's own affair.
    pub fn private_per_thread(&self) -> Option<u64> {
        match self {
            Reproducer::LevelZero(modules) => modules.first.predicted_module_private(1),
            Reproducer::Sycl(built) => built.private_per_thread(),
            Reproducer::Command(_) => None,
        }
    }
}

impl Stages {
    fn tree(&self, arm: &Arm) -> Result<&DriverTree, String> {
        self.drivers
            .get(&arm.driver)
            .ok_or_else(|| format!("no driver build was found for \"{}\"", arm.driver))
    }

    fn device(&self, arm: &Arm) -> Result<&Device, String> {
        self.devices.get(&arm.device).ok_or_else(|| format!("no device was found for \"{}\"", arm.device))
    }

    fn sycl(&self, arm: &Arm) -> Result<SyclStage<'_>, String> {
        let runtime = arm.runtime.as_deref().unwrap_or("default");
        let compiler = match self.sycl.get(runtime) {
            Some(found) => found.as_ref().map_err(Clone::clone)?,
            None => return Err(format!("no SYCL front end was looked for under \"{runtime}\"")),
        };
        Ok(SyclStage { compiler, tree: self.tree(arm)?, device: self.device(arm)?, tool: &self.tool })
    }

    fn target(&self, arm: &Arm) -> Result<Target, String> {
        match self.device(arm)? {
            Device::Simulated(profile) => Target::for_profile(profile.card())
                .ok_or_else(|| format!("no ocloc device is known for {}", profile.name)),
            Device::Real(node) => Ok(Target::for_pci_id(node.device_id.into())),
        }
    }

    fn build_variant(&self, arm: &Arm, variant: &Variant) -> Result<BuiltVariant, String> {
        let tree = self.tree(arm)?;
        let target = self.target(arm)?;
        let compiler = TreeCompiler::new(tree).map_err(|error| error.to_string())?;
        let builder = Builder {
            compiler: &compiler,
            cache: Cache::new(&self.cache),
            slots: &self.slots,
            timeout: MODULE_TIMEOUT,
            stop: &self.stop,
        };
        builder.build(variant, &target).map_err(|error| error.explain())
    }
}

impl Stages {
    fn record(&self, arm: &Arm, variant: &Variant, built: &BuiltVariant) -> Result<BuildRecord, String> {
        let modules = built.modules.iter().map(|module| ModuleRecord {
            name: module.name.clone(),
            sha256: module.sha256.clone(),
            bytes: module.bytes,
            kernels: module.kernels.as_ref().map(Vec::len),
            command: module.command.clone(),
            parts: module
                .parts
                .iter()
                .map(|part| PartRecord {
                    key: part.key.clone(),
                    seconds: part.seconds,
                    kernels: part.kernels.clone(),
                })
                .collect(),
        });
        Ok(BuildRecord {
            version: RESULTS_VERSION,
            variant: variant.name.clone(),
            target: self.target(arm)?.ocloc_device,
            driver: arm.driver.clone(),
            cached: built.cached,
            compiler_seconds: built.build_seconds,
            modules: modules.collect(),
            notes: built.notes.clone(),
        })
    }
}

impl Parts for Stages {
    type Built = Reproducer;

    fn build_key(&self, arm: &Arm) -> String {
        let target = self.target(arm).map_or_else(|_| arm.device.clone(), |target| target.ocloc_device);
        let late = if arm.workload.late_module { "+late" } else { "" };
        let runtime = arm.runtime.as_ref().map_or_else(String::new, |name| format!(" with runtime {name}"));
        format!("{}{late} for {target} by {}{runtime}", arm.variant.name, arm.driver)
    }

    fn build(&self, arm: &Arm) -> Result<Built<Reproducer>, BuildFailure> {
        let failed = |what: String| BuildFailure { what: format!("{}: {what}", arm.variant.name) };
        if arm.variant.front_end == FrontEnd::Sycl {
            let stage = self.sycl(arm).map_err(failed)?;
            let built = stage.build(arm, &self.cache, MODULE_TIMEOUT, &self.stop).map_err(failed)?;
            let records = vec![sycl_record(arm, &built)];
            return Ok(Built { cached: built.cached, value: Reproducer::Sycl(built), records });
        }
        if arm.variant.front_end == FrontEnd::Command {
            let built = match arm.variant.kernels {
                0 => None,
                _ => Some(self.build_variant(arm, &arm.variant).map_err(failed)?),
            };
            let cached = built.as_ref().is_none_or(|built| built.cached);
            let records = match &built {
                Some(built) => vec![self.record(arm, &arm.variant, built).map_err(failed)?],
                None => Vec::new(),
            };
            return Ok(Built { cached, value: Reproducer::Command(built), records });
        }
        let first = self.build_variant(arm, &arm.variant).map_err(failed)?;
        let late = match arm.workload.late_module {
            true => Some(self.build_variant(arm, &late_variant(&arm.variant)).map_err(failed)?),
            false => None,
        };
        let cached = first.cached && late.as_ref().is_none_or(|late| late.cached);
        let mut records = vec![self.record(arm, &arm.variant, &first).map_err(failed)?];
        if let Some(late) = &late {
            records.push(self.record(arm, &late_variant(&arm.variant), late).map_err(failed)?);
        }
        Ok(Built { value: Reproducer::LevelZero(Modules { first, late }), cached, records })
    }

    fn launch(&self, arm: &Arm, built: &Reproducer, file: Option<&Path>) -> Result<Launch, String> {
        let built = match built {
            Reproducer::Sycl(built) => return self.sycl(arm)?.launch(arm, built, file),
            Reproducer::Command(built) => {
                let modules = built.as_ref().map_or_else(Vec::new, BuiltVariant::paths);
                return super::command::launch(arm, self.tree(arm)?, &self.tool, &modules, file);
            }
            Reproducer::LevelZero(modules) => modules,
        };
        let tree = self.tree(arm)?;
        let device = self.device(arm)?;
        let late_path = built.late.as_ref().and_then(|late| late.modules.first()).map(|module| &module.path);
        let late =
            late_path.map(|path| LateModule { path, batch_size: late_variant(&arm.variant).batch_size });
        if arm.workload.late_module && late.is_none() {
            return Err("the late module was not built".into());
        }
        let loader = tree.loader_path().map_err(|error| error.to_string())?;
        let mut arguments: Vec<OsString> = vec!["level-zero".into(), "--loader".into(), loader.into()];
        if let Device::Real(node) = device {
            arguments.extend(["--pci".into(), OsString::from(&node.pci_address)]);
        }
        arguments.extend(args::for_arm(
            &arm.variant,
            &arm.source,
            &arm.workload,
            &built.first.paths(),
            file,
            late,
        ));
        let LaunchSpec { argv, env, .. } =
            tree.launch(&self.tool, arguments).map_err(|error| error.to_string())?;
        let text = |value: OsString| {
            value.into_string().map_err(|value| format!("{} is not UTF-8", value.to_string_lossy()))
        };
        let env =
            env.into_iter().map(|(name, value)| Ok((name, text(value)?))).collect::<Result<_, String>>()?;
        Ok(Launch { argv, env })
    }

    fn predicted_per_dispatch(&self, arm: &Arm, built: &Reproducer) -> Option<bool> {
        let device = self.devices.get(&arm.device)?;
        let (threads, memory) = (device.profile()?.hw_threads(), device.global_memory()?);
        match built {
            Reproducer::LevelZero(modules) => modules.first.predicted_per_dispatch(threads, memory),
            Reproducer::Sycl(built) => built.predicted_per_dispatch(threads, memory),
            // What a command loads is its own affair.
            Reproducer::Command(_) => None,
        }
    }

    fn driver(&self, arm: &Arm) -> Option<(ExpectedDriver, String)> {
        let tree = self.drivers.get(&arm.driver)?;
        let library = tree.expected_libraries().into_iter().find(|library| library.required)?;
        let expected = ExpectedDriver {
            name: tree.manifest.name.clone(),
            library: DRIVER_LIBRARY.to_owned(),
            path: library.path.to_string_lossy().into_owned(),
            build_id: library.build_id,
            sha256: Some(library.sha256),
        };
        Some((expected, tree.manifest.hash.clone()))
    }

    fn observe(&self, arm: &Arm, raw: &RawRun) -> (Facts, Vec<String>) {
        self.observers.observe(arm, raw, self.devices.get(&arm.device))
    }
}

/// The variant that a late module is built from: the same kernels with another private size.
fn late_variant(variant: &Variant) -> Variant {
    Variant {
        name: format!("{}-late", variant.name),
        batch_size: variant.batch_size + LATE_BATCH_STEP,
        ..variant.clone()
    }
}

/// How a SYCL variant was built: each command, and the images that the driver will load.
fn sycl_record(arm: &Arm, built: &SyclBuilt) -> BuildRecord {
    let command = built.commands.last().cloned().unwrap_or_default();
    let images = built.images.iter().flatten().enumerate().map(|(index, image)| ModuleRecord {
        name: format!("image{index}"),
        sha256: image.sha256.clone(),
        bytes: image.bytes,
        kernels: Some(image.kernels.len()),
        command: command.clone(),
        parts: Vec::new(),
    });
    BuildRecord {
        version: RESULTS_VERSION,
        variant: arm.variant.name.clone(),
        target: arm.device.clone(),
        driver: arm.driver.clone(),
        cached: built.cached,
        compiler_seconds: built.seconds,
        modules: images.collect(),
        notes: vec![
            format!("front end: {}", built.front_end),
            match built.compile.is_empty() {
                true => format!("device code: {} bytes", built.image_bytes),
                false => "device code: compiled in each run, since this runtime cannot save it".to_owned(),
            },
            format!("program: {}", built.commands.first().cloned().unwrap_or_default()),
        ],
    }
}
