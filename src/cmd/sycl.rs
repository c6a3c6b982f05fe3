//! The SYCL half of a matrix run: which front end an arm's runtime stands for, its build, its command line.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::build::cache::Cache;
use crate::build::sycl::{OnDevice, SyclBuilder, SyclBuilt, SyclCompiler};
use crate::cmd::lab::Launch;
use crate::driver::{DriverTree, LaunchSpec};
use crate::frontend::sycl::for_arm;
use crate::host::Device;
use crate::model::arm::Arm;
use crate::results::manifest::RuntimeIdentity;
use crate::toolchain::{self, Library, Toolchain, ToolchainStore};

/// The name that stands for icpx on the runtime axis.
const ICPX: &str = "icpx";
const DEFAULT: &str = "default";
/// How a report learns the front end; the program says it in its result.
const FRONT_END_ENV: &str = "REPRO_MATRIX_FRONT_END";

/// What the runtime axis can take on this machine.
pub fn available(icpx: Option<&Path>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ToolchainStore::open()
        .and_then(|store| store.list())
        .into_iter()
        .flatten()
        .map(|toolchain| toolchain.manifest.version)
        .collect();
    if SyclCompiler::icpx(icpx).is_ok() {
        names.insert(ICPX.to_owned());
    }
    if !names.is_empty() {
        names.insert(DEFAULT.to_owned());
    }
    names
}

/// `default`: icpx where it is, else the newest runtime.
pub fn compiler(runtime: &str, icpx: Option<&Path>) -> Result<SyclCompiler, String> {
    let say = |error: crate::build::sycl::FrontEndError| error.to_string();
    match runtime {
        ICPX => SyclCompiler::icpx(icpx).map_err(say),
        DEFAULT if icpx.is_some() || SyclCompiler::icpx(None).is_ok() => {
            SyclCompiler::icpx(icpx).map_err(say)
        }
        name => {
            let store = ToolchainStore::open().map_err(|error| error.to_string())?;
            let toolchain = store.find(name).map_err(|error| {
                format!("{error}; `repro-matrix toolchains fetch sycl` gets a SYCL runtime")
            })?;
            SyclCompiler::run_time(toolchain).map_err(say)
        }
    }
}

/// The front ends of one matrix run, by the name that arms use.
pub fn compilers(arms: &[Arm], icpx: Option<&Path>) -> BTreeMap<String, Result<SyclCompiler, String>> {
    let names: BTreeSet<&String> = arms.iter().filter_map(|arm| arm.runtime.as_ref()).collect();
    names.into_iter().map(|name| (name.clone(), compiler(name, icpx))).collect()
}

/// What results say of them. One that is not there has none: its arms say why.
pub fn identities(
    compilers: &BTreeMap<String, Result<SyclCompiler, String>>,
) -> BTreeMap<String, RuntimeIdentity> {
    let of = |(name, compiler): (&String, &Result<SyclCompiler, String>)| {
        Some((name.clone(), identity(compiler.as_ref().ok()?)))
    };
    compilers.iter().filter_map(of).collect()
}

/// Versions and libraries of one front end's runtime.
pub fn identity(compiler: &SyclCompiler) -> RuntimeIdentity {
    let toolchain = match compiler {
        SyclCompiler::Icpx { .. } => None,
        SyclCompiler::RunTime { toolchain, .. } => Some(toolchain),
    };
    let libraries =
        compiler.library_dir().map_or_else(Vec::new, |directory| toolchain::libraries(&directory));
    let hashes = libraries.iter().map(|library| library.sha256.as_str());
    let hash = crate::build::cache::key(std::iter::once(compiler.identity()).chain(hashes));
    RuntimeIdentity { hash, ..runtime(toolchain, libraries, &compiler.describe()) }
}

/// The same of a runtime by itself. `compiler`: what to say of what compiles for it.
pub fn runtime(toolchain: Option<&Toolchain>, libraries: Vec<Library>, compiler: &str) -> RuntimeIdentity {
    let packages: Vec<String> = toolchain
        .iter()
        .flat_map(|toolchain| &toolchain.manifest.packages)
        .map(|package| format!("{} {}", package.name, package.version))
        .collect();
    let of_file = |stem: &str| {
        libraries.iter().find(|library| library.file.starts_with(stem)).and_then(|l| l.version.clone())
    };
    let sycl =
        toolchain.map(|toolchain| toolchain.manifest.version.clone()).or_else(|| of_file("libsycl.so"));
    let parts = [
        sycl.map(|version| format!("SYCL runtime {version}")),
        of_file("libur_loader.so").map(|version| format!("Unified Runtime {version}")),
        Some(compiler.to_owned()),
    ];
    RuntimeIdentity {
        hash: toolchain.map(|toolchain| toolchain.manifest.hash.clone()).unwrap_or_default(),
        versions: parts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
        packages,
        libraries,
    }
}

/// One driver build and one device for one front end.
pub struct SyclStage<'a> {
    pub compiler: &'a SyclCompiler,
    pub tree: &'a DriverTree,
    pub device: &'a Device,
    /// This program: the simulated device is a verb of it.
    pub tool: &'a Path,
}

impl SyclStage<'_> {
    pub fn build(
        &self,
        arm: &Arm,
        cache: &Path,
        timeout: Duration,
        stop: &AtomicBool,
    ) -> Result<SyclBuilt, String> {
        let builder = SyclBuilder { compiler: self.compiler, cache: Cache::new(cache), timeout, stop };
        builder.build(&arm.variant, self).map_err(|error| error.explain())
    }

    /// The reproducer's command line, without the simulated device around it.
    pub fn launch(&self, arm: &Arm, built: &SyclBuilt, file: Option<&Path>) -> Result<Launch, String> {
        let mut args = for_arm(&arm.variant, &arm.source, &arm.workload, built.bundle.as_deref(), file);
        args.extend(built.compile.iter().cloned());
        if let Device::Real(node) = self.device {
            args.extend(["--pci".into(), OsString::from(&node.pci_address)]);
        }
        let spec = self.spec(&built.program, &args)?;
        let mut env: Vec<(String, String)> = vec![(FRONT_END_ENV.to_owned(), built.front_end.clone())];
        for (name, value) in spec.env {
            let value =
                value.into_string().map_err(|value| format!("{} is not UTF-8", value.to_string_lossy()))?;
            env.push((name, value));
        }
        Ok(Launch { argv: spec.argv, env })
    }

    fn spec(&self, program: &Path, args: &[OsString]) -> Result<LaunchSpec, String> {
        let spec = self.tree.launch(program, args.iter().cloned()).map_err(|error| error.to_string())?;
        match self.compiler.library_dir() {
            Some(directory) => Ok(with_libraries(spec, &directory)),
            None => Ok(spec),
        }
    }
}

impl OnDevice for SyclStage<'_> {
    fn command(&self, program: &Path, args: &[OsString]) -> Result<Command, String> {
        let spec = self.spec(program, args)?;
        let mut words = spec.argv.iter();
        let mut command = match self.device {
            Device::Simulated(profile) => {
                let mut command = Command::new(self.tool);
                command.args(["sim", "--device", profile.name, "--"]).args(words);
                command
            }
            Device::Real(_) => {
                let mut command = Command::new(words.next().cloned().unwrap_or_default());
                command.args(words);
                command
            }
        };
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn identity(&self) -> String {
        // The driver and its compiler decide the native code; the device's name stands for its IP version.
        format!("{} on {}", self.tree.manifest.hash, self.device.name())
    }
}

/// Adds a directory to where the program's libraries are looked for, behind the driver build's own.
pub fn with_libraries(mut spec: LaunchSpec, directory: &Path) -> LaunchSpec {
    let append = |to: &mut OsString| {
        to.push(":");
        to.push(directory);
    };
    let after_flag = spec.argv.iter().position(|word| word == "--library-path").map(|at| at + 1);
    match after_flag.filter(|_| spec.through_ld_so).and_then(|at| spec.argv.get_mut(at)) {
        Some(path) => append(path),
        None => match spec.env.iter_mut().find(|(name, _)| name == "LD_LIBRARY_PATH") {
            Some((_, path)) => append(path),
            None => spec.env.push(("LD_LIBRARY_PATH".to_owned(), PathBuf::from(directory).into())),
        },
    }
    spec
}
