//! `repro-matrix env`.

use crate::build::sycl::SyclCompiler;
use crate::cli::env::EnvArgs;
use crate::cmd::Failure;
use crate::driver::{DriverError, DriverStore, Manifest, Role};
use crate::exit::Exit;
use crate::host::{self, mask::mask};
use crate::results::manifest::RuntimeIdentity;
use crate::toolchain::{Toolchain, ToolchainStore};

pub fn env(args: &EnvArgs) -> Result<Exit, Failure> {
    let mut environment = host::environment();
    // Beside the PATH, where oneAPI's own variable says.
    let icpx = SyclCompiler::icpx(None).ok();
    if environment.compiler.is_none() {
        environment.compiler = icpx.as_ref().map(SyclCompiler::describe);
    }
    let runtimes = runtimes(icpx);
    // No store yet is no reason to say nothing of the machine.
    let builds = DriverStore::open().and_then(|store| store.list()).unwrap_or_default();
    let text = if args.json {
        let versions: std::collections::BTreeMap<&String, String> =
            builds.iter().map(|(name, build)| (name, versions(build))).collect();
        let json = serde_json::json!({ "version": 1, "environment": environment, "drivers": versions, "runtimes": runtimes });
        let text =
            serde_json::to_string_pretty(&json).map_err(|error| Failure::new(Exit::Internal, error))?;
        format!("{text}\n")
    } else {
        let drivers: Vec<String> = builds
            .iter()
            .map(|(name, build)| {
                let mut lines = format!("{name}: {}", versions(build));
                let Ok(manifest) = build else { return lines };
                for role in [Role::Neo, Role::Igc, Role::Gmmlib, Role::Loader] {
                    if let Some(library) = manifest.library(role) {
                        let id = library.build_id.as_deref().unwrap_or("none");
                        lines += &format!("\n  {}  build-id {id}", library.path);
                    }
                }
                lines
            })
            .collect();
        let runtimes: Vec<String> = runtimes
            .iter()
            .map(|runtime| {
                let lines =
                    runtime.packages.iter().cloned().chain(runtime.libraries.iter().map(ToString::to_string));
                runtime.versions.clone() + &lines.map(|line| format!("\n  {line}")).collect::<String>()
            })
            .collect();
        host::env::show::text(&environment, &drivers, &runtimes)
    };
    crate::cmd::say::print(&mask(&text))
}

/// SYCL runtimes of the store and, where there is one, icpx's.
fn runtimes(icpx: Option<SyclCompiler>) -> Vec<RuntimeIdentity> {
    let store = ToolchainStore::open().and_then(|store| store.list()).unwrap_or_default();
    let of = |toolchain: &Toolchain| match SyclCompiler::run_time(toolchain.clone()) {
        Ok(compiler) => super::sycl::identity(&compiler),
        // Nothing can be built for it here, but it is there.
        Err(_) => super::sycl::runtime(
            Some(toolchain),
            crate::toolchain::libraries(&toolchain.lib()),
            "no C++ compiler here",
        ),
    };
    icpx.iter().map(super::sycl::identity).chain(store.iter().map(of)).collect()
}

fn versions(build: &Result<Manifest, DriverError>) -> String {
    match build {
        Ok(manifest) => manifest.versions.to_string(),
        Err(error) => format!("not usable: {error}"),
    }
}
