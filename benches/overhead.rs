//! What the harness adds to a run: spawn, watch, judge, record, beside the bare child, in one process.
//! `cargo bench --bench overhead`.
//!
//! Twice: with the results on tmpfs, which is the harness's own cost and has the limit of 5 ms, and on this
//! machine's disk, where every run also waits for the disk as much as a bare append + fdatasync does, shown beside it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");
const RUNS: u32 = 60;
const ROUNDS: usize = 3;
const LIMIT: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let memory = tempfile::tempdir_in("/dev/shm").expect("a directory on tmpfs");
    let disk = tempfile::tempdir().expect("a temporary directory");
    let (mut bare, mut own, mut on_disk, mut sync) = (vec![], vec![], vec![], vec![]);
    // The first round warms the page cache and is not counted.
    for round in 0..=ROUNDS {
        // A matrix of many runs less one of a single run: what the further runs cost, with everything.
        let of = |dir: &Path| mock_matrix(dir, RUNS + 1).saturating_sub(mock_matrix(dir, 1)) / RUNS;
        let (a, b) = (of(memory.path()), of(disk.path()));
        let children: Vec<Duration> = (0..RUNS).map(|_| bare_child()).collect();
        let syncs: Vec<Duration> = durable_appends(disk.path());
        if round > 0 {
            own.push(a);
            on_disk.push(b);
            bare.extend(children);
            sync.extend(syncs);
        }
    }
    let (bare, own, on_disk, sync) = (median(bare), median(own), median(on_disk), median(sync));
    let over = own.saturating_sub(bare);
    println!("bare child                                {:8.3} ms", ms(bare));
    println!("run, judged and recorded, tmpfs           {:8.3} ms  ratio {:.2}", ms(own), ms(own) / ms(bare));
    println!(
        "run, judged and recorded, disk            {:8.3} ms  ratio {:.2}",
        ms(on_disk),
        ms(on_disk) / ms(bare)
    );
    println!("bare 4 KiB append + fdatasync, disk       {:8.3} ms", ms(sync));
    println!("harness overhead per run (tmpfs - bare)   {:8.3} ms  limit {} ms", ms(over), LIMIT.as_millis());
    if over > LIMIT { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn bare_child() -> Duration {
    let clock = Instant::now();
    let out =
        Command::new(TOOL).args(["mock-repro", "pass"]).stdin(Stdio::null()).output().expect("the mock runs");
    assert!(out.status.success());
    clock.elapsed()
}

fn mock_matrix(dir: &Path, repeats: u32) -> Duration {
    let clock = Instant::now();
    let out = Command::new(TOOL)
        .args(["mock-run", "pass", "--repeats", &repeats.to_string(), "--results"])
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .expect("the mock matrix runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    clock.elapsed()
}

fn durable_appends(dir: &Path) -> Vec<Duration> {
    let mut file =
        OpenOptions::new().append(true).create(true).open(dir.join("probe")).expect("a probe file");
    (0..20)
        .map(|_| {
            let clock = Instant::now();
            file.write_all(&[b'x'; 4096]).and_then(|()| file.sync_data()).expect("an append");
            clock.elapsed()
        })
        .collect()
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}
