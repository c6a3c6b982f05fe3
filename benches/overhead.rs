//! What the harness adds to a run: spawn, watch, judge, record, beside the bare child, interleaved in one process.
//! `cargo bench --bench overhead`. Ends with 1 if the median overhead is above 5 ms.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");
const ROUNDS: usize = 60;
const LIMIT: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    let tmp = tempfile::tempdir().expect("temporary directory");
    let mut bare = Vec::new();
    let mut whole = Vec::new();

    // A whole mock matrix of N runs against one of 1 run: the difference is N - 1 runs with everything.
    // The first round warms the page cache.
    for round in 0..3 {
        let small = mock_matrix(tmp.path(), 1);
        let large = mock_matrix(tmp.path(), ROUNDS + 1);
        let runs = (0..ROUNDS).map(|_| bare_child()).collect::<Vec<_>>();
        if round > 0 {
            whole.push(large.saturating_sub(small) / ROUNDS as u32);
            bare.extend(runs);
        }
    }
    let (bare, whole) = (median(bare), median(whole));
    let over = whole.saturating_sub(bare);
    println!("bare child                 {:8.3} ms (median of {})", ms(bare), 2 * ROUNDS);
    println!("run, judged and recorded   {:8.3} ms (mean of {ROUNDS}, the slower of two)", ms(whole));
    println!("overhead per run           {:8.3} ms, ratio {:.2}", ms(over), ms(whole) / ms(bare).max(1e-6));
    if over > LIMIT {
        println!("above the limit of {} ms", LIMIT.as_millis());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn bare_child() -> Duration {
    let clock = Instant::now();
    let out =
        Command::new(TOOL).args(["mock-repro", "pass"]).stdin(Stdio::null()).output().expect("the mock runs");
    assert!(out.status.success());
    clock.elapsed()
}

fn mock_matrix(tmp: &Path, repeats: usize) -> Duration {
    let clock = Instant::now();
    let out = Command::new(TOOL)
        .args(["mock-run", "pass", "--repeats", &repeats.to_string(), "--results"])
        .arg(tmp)
        .stdin(Stdio::null())
        .output()
        .expect("the mock matrix runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    clock.elapsed()
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}
