//! `repro-matrix startup`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;

use serde::Serialize;

use crate::cli::builds::{Build, Cache, StartupArgs};
use crate::cmd::Failure;
use crate::cmd::on_device::Stand;
use crate::compare::times::{Median, median, ratio};
use crate::exit::Exit;
use crate::host::Device;

/// Times of one build under one kind of cache, seconds.
#[derive(Serialize)]
struct Row {
    build: String,
    cache: &'static str,
    seconds: Vec<f64>,
    median: Option<Median>,
    /// To the first build, within each repetition.
    ratio: Option<Median>,
    /// Of warm starts: the start that fills the cache left something in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    filled: Option<bool>,
}

pub fn startup(args: &StartupArgs) -> Result<Exit, Failure> {
    if args.builds.len() < 2 {
        return Err(Failure::new(
            Exit::Usage,
            "a comparison needs two builds: --build NAME=COMMAND, twice or more",
        ));
    }
    let mut names: Vec<&str> = args.builds.iter().map(|build| build.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < args.builds.len() {
        return Err(Failure::new(Exit::Usage, "two builds have one name"));
    }
    let [device] = args.on.devices.as_slice() else {
        return Err(Failure::new(Exit::Usage, "startup runs on one device"));
    };
    let stand = Stand::new(&args.on.driver, device, args.on.runtime.as_deref())?;
    let caches = tempfile::Builder::new()
        .prefix("repro-matrix-startup-")
        .tempdir()
        .map_err(|error| Failure::new(Exit::CannotRecord, error))?;
    let mut rows = Vec::new();
    for cache in &args.cache {
        rows.extend(measure(args, &stand, *cache, caches.path())?);
    }
    let simulated = matches!(stand.device, Device::Simulated(_));
    let text = if args.json {
        let value = serde_json::json!({
            "version": 1, "device": stand.device.name(), "simulated": simulated,
            "driver": stand.tree.manifest.name, "rows": rows,
        });
        serde_json::to_string_pretty(&value).map_err(|error| Failure::new(Exit::Internal, error))? + "\n"
    } else {
        table(&rows, &stand, simulated)
    };
    super::say::print(&text)?;
    Ok(Exit::AsExpected)
}

fn measure(
    args: &StartupArgs,
    stand: &Stand,
    cache: Cache,
    directory: &std::path::Path,
) -> Result<Vec<Row>, Failure> {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut filled: BTreeMap<&str, bool> = BTreeMap::new();
    if cache == Cache::Warm {
        for build in &args.builds {
            once(args, stand, build, cache, directory)?;
            let left = std::fs::read_dir(directory.join(&build.name));
            filled.insert(&build.name, left.is_ok_and(|mut left| left.next().is_some()));
        }
    }
    for repetition in 0..args.runs as usize {
        // Each build takes each place in turn: what the one before leaves behind must not always meet the same one.
        for place in 0..args.builds.len() {
            let Some(build) = args.builds.get((place + repetition) % args.builds.len()) else { continue };
            let seconds = once(args, stand, build, cache, directory)?;
            times.entry(&build.name).or_default().push(seconds);
        }
    }
    let none = Vec::new();
    let of = |build: &Build| times.get(build.name.as_str()).unwrap_or(&none);
    let base = args.builds.first().map(of);
    Ok(args
        .builds
        .iter()
        .map(|build| Row {
            build: build.name.clone(),
            cache: if cache == Cache::Cold { "cold" } else { "warm" },
            seconds: of(build).clone(),
            median: median(of(build)),
            ratio: base.and_then(|base| ratio(base, of(build))),
            filled: filled.get(build.name.as_str()).copied(),
        })
        .collect())
}

fn once(
    args: &StartupArgs,
    stand: &Stand,
    build: &Build,
    cache: Cache,
    directory: &std::path::Path,
) -> Result<f64, Failure> {
    let words: Vec<_> = build.words.iter().map(Into::into).collect();
    let mut command = stand.command(&words)?;
    if cache == Cache::Warm {
        let place = directory.join(&build.name);
        std::fs::create_dir_all(&place).map_err(|error| Failure::new(Exit::CannotRecord, error))?;
        command.env("NEO_CACHE_PERSISTENT", "1").env("NEO_CACHE_DIR", &place);
        command.env("SYCL_CACHE_PERSISTENT", "1").env("SYCL_CACHE_DIR", &place);
    }
    let log = directory.join("output");
    let file = std::fs::File::create(&log).map_err(|error| Failure::new(Exit::CannotRecord, error))?;
    let other = file.try_clone().map_err(|error| Failure::new(Exit::CannotRecord, error))?;
    command.stdin(Stdio::null()).stdout(file).stderr(other);
    let end = super::timed::run(command, args.on.timeout)?;
    if !end.success() {
        let text = std::fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n  | ");
        return Err(Failure::new(
            Exit::Inconclusive,
            format_args!("{}: {}; a failed start has no time\n  | {last}", build.name, end.describe()),
        ));
    }
    Ok(end.wall.as_secs_f64())
}

fn table(rows: &[Row], stand: &Stand, simulated: bool) -> String {
    let mut text =
        format!("device   {}\ndriver   {}\n", stand.device.name(), super::drivers::headline(&stand.tree));
    if simulated {
        text.push_str("note     a simulated device: these times are this machine's, not a card's\n");
    }
    for row in rows.iter().filter(|row| row.filled == Some(false)) {
        let _ = writeln!(
            text,
            "note     {}: no start filled its cache: its warm starts found it empty",
            row.build
        );
    }
    let _ = writeln!(
        text,
        "\n{:<16} {:<5} {:>10} {:>23} {:>8} {:>19}",
        "build", "cache", "median", "interval", "ratio", "interval"
    );
    for row in rows {
        let seconds = |m: &Median| {
            (format!("{:.1} ms", m.median * 1e3), format!("{:.1} – {:.1} ms", m.low * 1e3, m.high * 1e3))
        };
        let (middle, interval) = row.median.as_ref().map(seconds).unwrap_or_default();
        let (ratio, around) = row
            .ratio
            .as_ref()
            .map(|m| (format!("{:.3}", m.median), format!("{:.3} – {:.3}", m.low, m.high)))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "{:<16} {:<5} {middle:>10} {interval:>23} {ratio:>8} {around:>19}",
            row.build, row.cache
        );
    }
    if let Some(median) = rows.iter().find_map(|row| row.median) {
        let runs = rows.first().map_or(0, |row| row.seconds.len());
        let _ = writeln!(
            text,
            "\n{runs} starts each; the intervals cover the median with {:.1} %",
            median.coverage * 100.0
        );
    }
    text
}
