//! SYCL runtimes for a search: versions as listed, or those that are here by pattern, the oldest first.

use std::collections::BTreeMap;

use super::axis::{Draft, Source};
use crate::cmd::Failure;
use crate::cmd::sycl;
use crate::exit::Exit;
use crate::model::arm::Arm;
use crate::plan::select::glob;
use crate::probe::Change;
use crate::results::manifest::RuntimeIdentity;
use crate::toolchain::ToolchainStore;

/// A draft for each runtime. One that is not here cannot be tested, and says how to get it.
pub(super) fn drafts(arm: &Arm, list: &str) -> Result<Vec<Draft>, Failure> {
    let names: Vec<String> = if list.contains(['*', '?']) {
        let known = ToolchainStore::open().and_then(|store| store.list());
        let known = known.map_err(|error| Failure::new(Exit::CannotRecord, error))?;
        let newest_first = known.into_iter().map(|toolchain| toolchain.manifest.version);
        newest_first.rev().filter(|version| glob(list, version)).collect()
    } else {
        list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    if names.len() < 2 {
        let help = "repro-matrix toolchains list shows what there is; toolchains fetch sycl=VERSION gets one";
        let what = format!("\"{list}\" is {} SYCL runtime(s)", names.len());
        return Err(Failure::with_help(Exit::Usage, what, help));
    }
    names.into_iter().map(|name| draft(arm, name)).collect()
}

fn draft(arm: &Arm, name: String) -> Result<Draft, Failure> {
    let change = Change::Runtime(name.clone());
    let changed = change.apply(arm).map_err(|why| Failure::new(Exit::Usage, why))?;
    let (identity, source) = match sycl::compiler(&name, None) {
        Ok(compiler) => (Some(compiler.identity().to_owned()), Source::Ready(Box::new(changed))),
        Err(reason) => (None, Source::Broken(reason)),
    };
    Ok(Draft { arm: format!("{}{change}", arm.id), label: name, identity, driver: String::new(), source })
}

/// What the runtimes of these arms are on this machine.
pub(super) fn identities(sources: &[Source]) -> BTreeMap<String, RuntimeIdentity> {
    let arms = sources.iter().filter_map(|source| match source {
        Source::Ready(arm) => Some(Arm::clone(arm)),
        Source::Commit { .. } | Source::Broken(_) => None,
    });
    sycl::identities(&sycl::compilers(&arms.collect::<Vec<_>>(), None))
}
