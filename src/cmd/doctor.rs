//! `repro-matrix doctor`.

use std::fmt::Write as _;

use crate::cli::doctor::DoctorArgs;
use crate::cmd::Failure;
use crate::driver::{DEFAULT, DriverError, DriverStore, DriverTree, find_in_path, host_glibc};
use crate::exit::Exit;
use crate::host::checks::{self, Check, State};
use crate::host::environment;

pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let store = DriverStore::open().map_err(super::drivers::failure)?;
    let tree = store.resolve(DEFAULT);
    let machine = environment();
    let support = xe_sim::trap::probe_host();
    let [seccomp, child_memory, kcmp] = checks::simulation(&support);
    let simulated = support.usable();
    let card = checks::usable_card(&machine.devices);
    let rows = vec![
        checks::card(&machine.devices),
        seccomp,
        child_memory,
        kcmp,
        driver_row(&tree),
        glibc_row(&tree),
        ocloc_row(&tree),
        sycl_row(),
        checks::strace(),
        checks::kernel_log(),
        checks::drop_caches(),
        checks::shared_memory(),
        checks::disk(store.directory()),
        checks::memory(&machine),
        checks::cores(&machine),
    ];
    // What `run` cannot do without: a driver, something that compiles for it, and a device of either kind.
    let ocloc = rows.iter().any(|row| row.feature == OCLOC && row.state != State::Missing);
    let (usable, sentence) = match (&tree, ocloc, card, &simulated) {
        (Err(_), ..) => (false, "run cannot work: no driver build".to_owned()),
        (Ok(_), false, ..) => (false, "run cannot work: no offline compiler".to_owned()),
        (Ok(_), true, true, Ok(())) => (true, "run works, on the card and on simulated devices".to_owned()),
        (Ok(_), true, true, Err(why)) => {
            (true, format!("run works on the card; no simulated devices: {why}"))
        }
        (Ok(_), true, false, Ok(())) => (true, "run works, on simulated devices".to_owned()),
        (Ok(_), true, false, Err(why)) => (false, format!("run cannot work: no usable card, and {why}")),
    };
    let text = if args.json {
        let value = serde_json::json!({
            "usable": usable, "summary": sentence, "checks": rows, "environment": machine,
        });
        serde_json::to_string_pretty(&value).map_err(|error| Failure::new(Exit::Internal, error))? + "\n"
    } else {
        render(&rows, &sentence)
    };
    super::say::print(&text)?;
    Ok(if usable { Exit::AsExpected } else { Exit::HostUnusable })
}

const OCLOC: &str = "ocloc";

fn driver_row(tree: &Result<DriverTree, DriverError>) -> Check {
    const PURPOSE: &str = "the driver under test (builds of the store, never installed)";
    match tree {
        Ok(tree) => {
            let found = format!("{}: {}", tree.manifest.name, tree.manifest.versions);
            Check::new("driver build", State::Ok, found, PURPOSE)
        }
        Err(DriverError::NoBuild) => Check::new("driver build", State::Missing, "none", PURPOSE)
            .or_type("repro-matrix drivers fetch debian"),
        Err(error) => Check::new("driver build", State::Missing, error.to_string(), PURPOSE)
            .or_type("repro-matrix drivers list"),
    }
}

fn glibc_row(tree: &Result<DriverTree, DriverError>) -> Check {
    const PURPOSE: &str = "loading the build's libraries";
    let host = host_glibc();
    let own = tree.as_ref().ok().and_then(|tree| {
        tree.chain().find_map(|tree| tree.manifest.versions.glibc.clone()).map(|version| (tree, version))
    });
    let here = host.map_or("none found".to_owned(), |version| version.to_string());
    let Some((tree, version)) = own else {
        return Check::new("glibc", State::Ok, format!("{here} here; the build brings none"), PURPOSE);
    };
    let Ok(probe) = tree.launch(std::path::Path::new("sh"), [""; 0]) else {
        return Check::new("glibc", State::Missing, format!("{here} here, {version} in the build"), PURPOSE)
            .or_type("repro-matrix drivers fetch debian");
    };
    let how = if probe.through_ld_so {
        "programs start through the build's own ld.so"
    } else {
        "as new or newer here: this machine's is used"
    };
    Check::new("glibc", State::Ok, format!("{here} here, {version} in the build: {how}"), PURPOSE)
}

fn ocloc_row(tree: &Result<DriverTree, DriverError>) -> Check {
    const PURPOSE: &str = "compiling the reproducer's kernels for a device";
    if let Ok(tree) = tree
        && let Ok(spec) = tree.launch_ocloc(["query", "OCL_DRIVER_VERSION"])
    {
        // ocloc query leaves a file in its directory: give it one that goes away.
        let output =
            tempfile::tempdir().and_then(|directory| spec.command().current_dir(&directory).output());
        return match output {
            Ok(output) if output.status.success() => {
                Check::new(OCLOC, State::Ok, format!("starts, from build {}", tree.manifest.name), PURPOSE)
            }
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("").to_owned();
                Check::new(
                    OCLOC,
                    State::Missing,
                    format!("does not start ({}): {why}", output.status),
                    PURPOSE,
                )
                .or_type(format!("repro-matrix drivers show {} --verify", tree.manifest.name))
            }
            Err(error) => Check::new(OCLOC, State::Missing, format!("does not start: {error}"), PURPOSE)
                .or_type(format!("repro-matrix drivers show {} --verify", tree.manifest.name)),
        };
    }
    match find_in_path(std::path::Path::new("ocloc")) {
        Some(path) => {
            Check::new(OCLOC, State::Degraded, format!("only this system's, {}", path.display()), PURPOSE)
                .or_type("repro-matrix drivers fetch debian (brings the one that belongs to the driver)")
        }
        None => {
            Check::new(OCLOC, State::Missing, "none", PURPOSE).or_type("repro-matrix drivers fetch debian")
        }
    }
}

fn sycl_row() -> Check {
    const PURPOSE: &str = "variants of the sycl front end (the others need none)";
    match super::sycl::compiler(DEFAULT, None) {
        Ok(compiler) => Check::new("SYCL front end", State::Ok, compiler.describe(), PURPOSE),
        Err(why) => {
            let action = if find_in_path(std::path::Path::new("g++")).is_none() {
                "sudo apt-get install g++; repro-matrix toolchains fetch sycl"
            } else {
                "repro-matrix toolchains fetch sycl"
            };
            Check::new("SYCL front end", State::Degraded, why, PURPOSE).or_type(action)
        }
    }
}

/// Three lines a row at most: what was found, what it is for, what to type. No table: the texts are long.
fn render(rows: &[Check], sentence: &str) -> String {
    let mut text = String::new();
    for row in rows {
        let state = match row.state {
            State::Ok => "ok",
            State::Degraded => "degraded",
            State::Missing => "MISSING",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{state:<9} {:<18} {}", row.feature, row.found);
        let _ = writeln!(text, "{:<28} for {}", "", row.purpose);
        if let Some(action) = &row.action {
            let _ = writeln!(text, "{:<28} type: {action}", "");
        }
    }
    let _ = writeln!(text, "\n{sentence}");
    text
}
