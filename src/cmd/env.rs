//! `repro-matrix env`.

use crate::cli::env::EnvArgs;
use crate::cmd::Failure;
use crate::driver::{DriverError, DriverStore, Manifest, Role};
use crate::exit::Exit;
use crate::host::{self, mask::mask};

pub fn env(args: &EnvArgs) -> Result<Exit, Failure> {
    let environment = host::environment();
    // No store yet is no reason to say nothing of the machine.
    let builds = DriverStore::open().and_then(|store| store.list()).unwrap_or_default();
    let text = if args.json {
        let versions: std::collections::BTreeMap<&String, String> =
            builds.iter().map(|(name, build)| (name, versions(build))).collect();
        let json = serde_json::json!({ "version": 1, "environment": environment, "drivers": versions });
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
        host::env::show::text(&environment, &drivers)
    };
    crate::cmd::say::print(&mask(&text))
}

fn versions(build: &Result<Manifest, DriverError>) -> String {
    match build {
        Ok(manifest) => manifest.versions.to_string(),
        Err(error) => format!("not usable: {error}"),
    }
}
