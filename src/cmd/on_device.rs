//! Any program on a driver build and a device: for the verbs that run one command and look at what it leaves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cmd::Failure;
use crate::driver::{DriverStore, DriverTree, find_in_path};
use crate::exit::Exit;
use crate::host::{self, Device};
use crate::toolchain::ToolchainStore;

/// A driver build, a device, and a runtime in the search path.
pub struct Stand {
    pub tree: DriverTree,
    pub device: Device,
    runtime: Option<PathBuf>,
    tool: PathBuf,
}

impl Stand {
    pub fn new(driver: &str, device: &str, runtime: Option<&str>) -> Result<Stand, Failure> {
        let store = DriverStore::open().map_err(super::drivers::failure)?;
        let tree = store.resolve(driver).map_err(super::drivers::failure)?;
        let device = Device::find(device, &host::devices())
            .map_err(|error| Failure::new(Exit::HostUnusable, error))?;
        if matches!(device, Device::Simulated(_)) {
            host::simulation_possible().map_err(|why| Failure::new(Exit::HostUnusable, why))?;
        }
        let runtime = match runtime {
            None => None,
            Some(name) => {
                let found = ToolchainStore::open().and_then(|store| store.find(name));
                Some(found.map_err(|error| Failure::from_report(Exit::Usage, error))?.lib())
            }
        };
        let tool = std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(Stand { tree, device, runtime, tool })
    }

    /// The command in this process's directory, with the measured runs' environment: no caches, Level Zero only.
    pub fn command(&self, words: &[OsString]) -> Result<Command, Failure> {
        let (program, args) = words.split_first().ok_or_else(|| Failure::new(Exit::Usage, "no command"))?;
        if find_in_path(Path::new(program)).is_none() {
            let program = program.to_string_lossy();
            return Err(Failure::new(
                Exit::Usage,
                format_args!("{program} could not be started: there is no such program (here, or in PATH)"),
            ));
        }
        let launch = self.tree.launch(Path::new(program), args.iter().cloned());
        let mut spec = launch.map_err(super::drivers::failure)?;
        if let Some(runtime) = &self.runtime {
            spec = super::sycl::with_libraries(spec, runtime);
        }
        let mut command = match &self.device {
            Device::Simulated(profile) => {
                let mut command = Command::new(&self.tool);
                command.args(["sim", "--device", profile.name, "--"]).args(&spec.argv);
                command
            }
            Device::Real(_) => {
                let mut words = spec.argv.iter();
                let mut command = Command::new(words.next().cloned().unwrap_or_default());
                command.args(words);
                command
            }
        };
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        command.env("ONEAPI_DEVICE_SELECTOR", "level_zero:gpu");
        command.env("NEO_CACHE_PERSISTENT", "0").env("SYCL_CACHE_PERSISTENT", "0");
        Ok(command)
    }
}
