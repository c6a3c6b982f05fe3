//! `repro-matrix plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli::plan::PlanArgs;
use crate::cmd::Failure;
use crate::driver::DriverStore;
use crate::exit::Exit;
use crate::host::{self, Device, RenderNode};
use crate::matrix::{self, Matrix};
use crate::model::arm::Arm;
use crate::plan::{self, HostFacts};

/// Reads the matrix or fails with every problem and its place.
pub fn load_matrix(path: &Path) -> Result<Matrix, Failure> {
    matrix::load(path).map_err(|error| Failure::from_report(Exit::InvalidMatrix, error))
}

/// What is known of this machine, the device that `auto` stands for, and the driver builds: what `plan` shows is what
/// `run` does.
pub fn facts(device: &Device, store: Option<&DriverStore>) -> HostFacts {
    let cards = host::devices().into_iter().filter(RenderNode::usable_driver).map(Device::Real);
    let cards: Vec<Device> = cards.collect();
    let memory = |device: &Device| Some((device.name(), device.profile()?.vram_bytes));
    let mut device_memory: BTreeMap<String, u64> = cards.iter().filter_map(memory).collect();
    device_memory.extend(xe_sim::profile::all().map(|p| (format!("sim:{}", p.name), p.vram_bytes)));
    device_memory.extend(memory(device).map(|(_, bytes)| ("auto".to_owned(), bytes)));
    HostFacts {
        auto_is_simulated: Some(matches!(device, Device::Simulated(_))),
        device_memory,
        drivers: store.and_then(|store| store.list().ok()).map(|builds| {
            let aliases = ["default", "debian", "system"].map(str::to_owned);
            builds.into_keys().chain(aliases).collect()
        }),
        runtimes: Some(super::sycl::available(None)),
        cards: Some(cards.iter().map(Device::name).collect()),
        profiles: Some(xe_sim::profile::all().map(|profile| profile.name.to_owned()).collect()),
        ..HostFacts::probe()
    }
}

/// Refuses `--arm` patterns that fit no arm of the matrix. `plan` is what `selection` made of it.
pub fn check_patterns(selection: &plan::Selection, plan: &plan::Plan) -> Result<(), Failure> {
    let planned = plan.arms.iter().map(|arm| arm.id.as_str());
    let ids: Vec<&str> = planned.chain(plan.excluded.iter().map(|out| out.id.as_str())).collect();
    match selection.unmatched_arm(&ids) {
        Some(what) => Err(Failure::with_help(
            Exit::NothingSelected,
            what,
            "repro-matrix plan MATRIX lists the arms; a pattern is a part of an id, or has * or ?",
        )),
        None => Ok(()),
    }
}

/// What the driver builds of `arms` say of themselves, by the name that the arms use.
fn versions(arms: &[Arm], store: Option<&DriverStore>) -> BTreeMap<String, String> {
    let names: BTreeSet<&String> = arms.iter().map(|arm| &arm.driver).collect();
    let of = |name: &String| {
        let tree = store?.resolve(name).ok()?;
        Some((name.clone(), tree.manifest.versions.to_string()))
    };
    names.into_iter().filter_map(of).collect()
}

pub fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let matrix = load_matrix(&args.matrix)?;
    let asked = args.select.device.as_deref().unwrap_or("auto");
    let device =
        Device::find(asked, &host::devices()).map_err(|error| Failure::new(Exit::HostUnusable, error))?;
    // No store yet is no reason to show no plan.
    let store = DriverStore::open().ok();
    let facts = facts(&device, store.as_ref());
    let selection = args.select.selection();
    let mut plan = plan::plan(&matrix, &selection, &facts);
    check_patterns(&selection, &plan)?;
    // What `run` judges by.
    let versions = versions(&plan.arms, store.as_ref());
    let really = |arm: &Arm| if arm.device == "auto" { device.name() } else { arm.device.clone() };
    super::expectations::apply(&args.matrix, &matrix, &mut plan, &versions, really)?;
    let text = if let Some(scheduler) = args.format {
        super::schedule::text(args, scheduler, &matrix, &plan)?
    } else if args.json {
        let json = serde_json::json!({ "version": 1, "matrix": matrix.name, "plan": plan });
        let text =
            serde_json::to_string_pretty(&json).map_err(|error| Failure::new(Exit::Internal, error))?;
        format!("{text}\n")
    } else {
        let title = match matrix.description.as_str() {
            "" => matrix.name.clone(),
            description => format!("{}: {description}", matrix.name),
        };
        plan::show::text(&plan, &title)
    };
    crate::cmd::say::print(&text)?;
    Ok(if plan.arms.is_empty() { Exit::NothingSelected } else { Exit::AsExpected })
}
