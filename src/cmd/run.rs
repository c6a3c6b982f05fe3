//! `repro-matrix run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::build::Slots;
use crate::cli::run::RunArgs;
use crate::cmd::Failure;
use crate::cmd::drive::{Options, drive};
use crate::cmd::lab::{DeviceChoice, RealLab};
use crate::cmd::observe::Observers;
use crate::cmd::parts::Stages;
use crate::cmd::plan::{check_patterns, facts, load_matrix};
use crate::cmd::source_file::SourceFiles;
use crate::driver::{self, DriverStore, DriverTree};
use crate::exit::Exit;
use crate::host::{self, Device};
use crate::matrix::Matrix;
use crate::model::arm::Arm;
use crate::model::outcome::RESULTS_VERSION;
use crate::plan::{self, Plan};
use crate::report::words::plural;
use crate::results::Manifest;
use crate::results::manifest::{DriverIdentity, INJECTED, LeftOut};

pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let matrix = load_matrix(&args.matrix)?;
    let store = DriverStore::open().map_err(|error| Failure::from_report(Exit::DriverUnusable, error))?;
    let nodes = host::devices();
    let asked = args.select.device.clone().unwrap_or_else(|| "auto".to_owned());
    let device = Device::find(&asked, &nodes).map_err(|error| Failure::new(Exit::HostUnusable, error))?;
    if let Some(name) = &args.select.driver {
        store.resolve(name).map_err(|error| Failure::from_report(Exit::DriverUnusable, error))?;
    }
    let whole = plan_on(args, &matrix, &store, &device);
    check_patterns(&args.select.selection(), &whole)?;
    let mut planned = args.shard.map_or_else(|| whole.clone(), |shard| shard.cut(&whole));
    if planned.arms.is_empty() {
        let why =
            planned.excluded.iter().map(|out| format!("  {}: {}\n", out.id, out.reason)).collect::<String>();
        let what = match args.shard.filter(|_| !whole.arms.is_empty()) {
            Some(shard) => {
                format!("shard {shard} has none of the plan's {}", plural(whole.arms.len(), "arm"))
            }
            None => "no arm is left to run".to_owned(),
        };
        return Err(Failure::new(Exit::NothingSelected, format!("{what}\n{}", why.trim_end())));
    }
    if let Some(timeout) = args.timeout {
        planned.arms.iter_mut().for_each(|arm| arm.timeout = timeout);
    }

    let devices = devices_of(&planned.arms, &device, &nodes)?;
    check_simulation(&devices)?;
    let drivers = drivers_of(&planned.arms, &store)?;
    let versions =
        drivers.iter().map(|(name, tree)| (name.clone(), tree.manifest.versions.to_string())).collect();
    let really = |arm: &Arm| devices.get(&arm.device).map_or_else(|| arm.device.clone(), Device::name);
    super::expectations::apply(&args.matrix, &matrix, &mut planned, &versions, really)?;
    let _locks = lock_cards(&devices)?;
    let data = driver::data_dir().map_err(|error| Failure::from_report(Exit::DriverUnusable, error))?;
    let tool = std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, error))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::new(Exit::Internal, format!("signal handlers: {error}")))?;
    }

    let sycl = super::sycl::compilers(&planned.arms, args.compiler.as_deref());
    let planned_manifest = manifest_of(&matrix, &planned, &devices, &drivers);
    let manifest = Manifest {
        device: with_faults(&planned_manifest.device, &args.faults),
        runtimes: super::sycl::identities(&sycl),
        stop: args.stop.rule(),
        shard: args.shard.map(|shard| shard.to_string()),
        plan: args.shard.map_or_else(Vec::new, |_| whole.arms.iter().map(|arm| arm.id.clone()).collect()),
        ..planned_manifest
    };
    let header = header(&asked, &planned, &devices, &drivers);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = args.jobs.unwrap_or(cores);
    let options = Options {
        results: absolute(&args.results)?,
        resume: args.resume.as_deref().map(absolute).transpose()?,
        jobs,
        build_jobs: cores,
        plain: args.plain,
        notify: args.notify.clone(),
        keep_work: args.keep_work,
    };
    let choices = devices.iter().map(|(name, device)| (name.clone(), choice(device, &args.faults))).collect();
    let stages = Stages {
        drivers,
        devices,
        sycl,
        cache: data.join("builds"),
        tool: tool.clone(),
        observers: Observers::default(),
        slots: Slots::new(0),
        stop,
    };
    drive(&manifest, &planned.cells, &options, &header, |results| RealLab {
        parts: stages,
        devices: choices,
        tool,
        results: results.to_owned(),
        jobs,
        grace: args.grace,
        keep_work: args.keep_work,
        strace: driver::find_in_path(Path::new("strace")),
        sources: SourceFiles::new(results.join("work")),
    })
}

/// Plans with what is known of this machine, its driver builds and the device.
fn plan_on(args: &RunArgs, matrix: &Matrix, store: &DriverStore, device: &Device) -> Plan {
    let mut selection = args.select.selection();
    if let Some(most) = args.stop.rule().and_then(|rule| rule.max_runs) {
        // With a rule, as many as it allows are planned, and most are not needed.
        selection.repeats = u32::try_from(most).ok();
    }
    let mut facts = facts(device, Some(store));
    if args.compiler.is_some() {
        facts.runtimes = Some(super::sycl::available(args.compiler.as_deref()));
    }
    plan::plan(matrix, &selection, &facts)
}

/// The devices that the arms name, each found.
pub(super) fn devices_of(
    arms: &[Arm],
    auto: &Device,
    nodes: &[host::RenderNode],
) -> Result<BTreeMap<String, Device>, Failure> {
    let names: BTreeSet<&String> = arms.iter().map(|arm| &arm.device).collect();
    names
        .into_iter()
        .map(|name| {
            let device = if name == "auto" { Ok(auto.clone()) } else { Device::find(name, nodes) };
            Ok((name.clone(), device.map_err(|error| Failure::new(Exit::HostUnusable, error))?))
        })
        .collect()
}

/// Cards are measured one matrix, or one search, at a time.
pub(super) fn lock_cards(devices: &BTreeMap<String, Device>) -> Result<Vec<host::DeviceLock>, Failure> {
    let mut locks = BTreeMap::new();
    for device in devices.values() {
        if let Device::Real(node) = device
            && !locks.contains_key(&node.pci_address)
        {
            let lock = host::lock_device(&device.name(), &node.node).map_err(|error| {
                Failure::with_help(
                    Exit::HostUnusable,
                    error,
                    "wait for it to end, or run elsewhere and merge",
                )
            })?;
            locks.insert(node.pci_address.clone(), lock);
        }
    }
    Ok(locks.into_values().collect())
}

/// Before anything is built: can this machine simulate at all?
pub(super) fn check_simulation(devices: &BTreeMap<String, Device>) -> Result<(), Failure> {
    if devices.values().any(|device| matches!(device, Device::Simulated(_))) {
        host::simulation_possible().map_err(|why| {
            Failure::with_help(
                Exit::HostUnusable,
                format!("no device can be simulated here: {why}"),
                "repro-matrix doctor says what this machine lacks; with a card: --device pci:ADDRESS",
            )
        })?;
    }
    Ok(())
}

fn drivers_of(arms: &[Arm], store: &DriverStore) -> Result<BTreeMap<String, DriverTree>, Failure> {
    let names: BTreeSet<&String> = arms.iter().map(|arm| &arm.driver).collect();
    names
        .into_iter()
        .map(|name| {
            let tree = store.resolve(name).map_err(|e| Failure::from_report(Exit::DriverUnusable, e))?;
            Ok((name.clone(), tree))
        })
        .collect()
}

pub(super) fn choice(device: &Device, faults: &[String]) -> DeviceChoice {
    DeviceChoice {
        name: device.name(),
        hw_threads: device.profile().map(|profile| profile.hw_threads()),
        faults: faults.to_vec(),
    }
}

pub(super) fn manifest_of(
    matrix: &Matrix,
    planned: &Plan,
    devices: &BTreeMap<String, Device>,
    drivers: &BTreeMap<String, DriverTree>,
) -> Manifest {
    let names: BTreeSet<String> = devices.values().map(Device::name).collect();
    Manifest {
        version: RESULTS_VERSION,
        tool: env!("CARGO_PKG_VERSION").into(),
        matrix: matrix.name.clone(),
        matrix_sha256: driver::sha256(matrix.text.as_bytes()),
        matrix_text: matrix.text.to_string(),
        seed: planned.seed,
        started: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        device: names.into_iter().collect::<Vec<_>>().join(", "),
        drivers: drivers.iter().map(|(name, tree)| (name.clone(), identity_of(tree))).collect(),
        arms: planned.arms.clone(),
        excluded: planned.excluded.iter().map(|out| (out.id.clone(), out.reason.clone())).collect(),
        left_out: left_out(planned),
        stop: None,
        shard: None,
        plan: Vec::new(),
        sources: BTreeMap::new(),
        runtimes: BTreeMap::new(),
        environment: serde_json::to_value(host::environment()).unwrap_or_default(),
    }
}

fn left_out(planned: &Plan) -> Vec<LeftOut> {
    let of = |out: &plan::Excluded| LeftOut {
        arm: out.id.clone(),
        reason: out.reason.clone(),
        not_here: out.by == plan::ExcludedBy::Host,
        unanswered: out.unanswered,
        positive_control: out.positive_control,
    };
    let told = planned.excluded.iter().map(of);
    told.filter(|out| out.not_here || out.positive_control).collect()
}

/// A device that injects faults is another one: its runs say nothing of the device without them, and are neither resumed nor
/// counted together.
fn with_faults(device: &str, faults: &[String]) -> String {
    match faults {
        [] => device.to_owned(),
        rules => format!("{device}{INJECTED}{}", rules.join(" ")),
    }
}

/// What results say of a driver build.
pub(super) fn identity_of(tree: &DriverTree) -> DriverIdentity {
    DriverIdentity {
        hash: tree.manifest.hash.clone(),
        versions: tree.manifest.versions.to_string(),
        manifest: serde_json::to_value(&tree.manifest).unwrap_or_default(),
    }
}

fn header(
    asked: &str,
    planned: &Plan,
    devices: &BTreeMap<String, Device>,
    drivers: &BTreeMap<String, DriverTree>,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (name, device) in devices {
        let asked = if name == "auto" { asked } else { name };
        lines.push(format!("device   {}", device.describe(asked)));
    }
    for tree in drivers.values() {
        let id = tree.manifest.library(driver::Role::Neo).and_then(|library| library.build_id.as_deref());
        let id = id.map_or(String::new(), |id| format!(" · libze_intel_gpu {}", id.get(..8).unwrap_or(id)));
        lines.push(format!("driver   {}   {}{id}", tree.manifest.name, tree.manifest.versions));
    }
    let out = planned.excluded.len();
    let out = if out == 0 { String::new() } else { format!("; {out} left out (repro-matrix plan says why)") };
    lines.push(format!(
        "plan     {}, {}, seed {}{out}",
        plural(planned.arms.len(), "arm"),
        plural(planned.cells.len(), "run"),
        planned.seed
    ));
    lines.extend(planned.notes.iter().map(|note| format!("note     {note}")));
    lines
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(Exit::Usage, format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::with_faults;

    #[test]
    fn device_that_injects_faults_is_another_one() {
        assert_eq!(with_faults("sim:a770", &[]), "sim:a770");
        let rules = ["exec:EIO@9".to_owned(), "wait:never".to_owned()];
        assert_eq!(with_faults("sim:a770", &rules), "sim:a770 with injected faults exec:EIO@9 wait:never");
    }
}
