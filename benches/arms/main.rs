//! What whole arms take, beside a bare loop over the same bytes in the same minute: `cargo bench --bench arms`.
//!
//! The arms are the trigger of `matrices/dg2-private.toml` with the module of `matrices/smoke.toml`: 942 copies of 11 MiB
//! from a read-only file mapping, whose binds fail, and from writable anonymous memory, which is bound as it is. Each on the
//! device that executes kernels, so that every byte is moved once or twice more, and on the one that does not. The bare
//! loop copies as many bytes into fresh mappings of recycled memfd pages.
//!
//! Limits: the file arm at most 1.5 times the bare loop and the anonymous arm at most 0.5 s where no kernel is executed,
//! smoke.toml at most 3 s; the exit status says so. Needs a driver build (`repro-matrix drivers fetch debian`).

mod sys;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::Value;

const TOOL: &str = env!("CARGO_BIN_EXE_repro-matrix");
const COPIES: usize = 942;
const BYTES: usize = 11 << 20;
const LOOP_LIMIT: f64 = 1.5;
const ANON_LIMIT: f64 = 0.5;
const SMOKE_LIMIT: f64 = 3.0;
const FILE: &str = "over/file-r";
const ANON: &str = "over/anon-rw";
const EXECUTES: &str = "sim:a770";
const RESIDENCY: &str = "sim:a770-residency";

const MATRIX: &str = r#"name = "arms"
[defaults]
workload = "long"
observers = ["neo-log", "sim", "maps"]
timeout = "2m"
[variants.over]
kernels = 87
simd = 32
[sources.file-r]
kind = "file"
prot = "r"
size = "64MiB"
[sources.anon-rw]
kind = "anon"
prot = "rw"
size = "64MiB"
[workloads.long]
copies = 942
chunk = "11MiB"
[[product]]
variants = ["over"]
sources = ["file-r", "anon-rw"]
"#;

fn main() -> ExitCode {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let matrix = dir.path().join("arms.toml");
    std::fs::write(&matrix, MATRIX).expect("the matrix is written");
    let smoke = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/smoke.toml");
    // Builds are not measured.
    for matrix in [&matrix, &smoke] {
        run(dir.path(), matrix, EXECUTES, None);
    }
    let bare = bare_loop().as_secs_f64();
    println!("bare loop, {COPIES} copies of 11 MiB       {bare:6.2} s");
    let mut good = true;
    for (device, arm) in [(EXECUTES, FILE), (EXECUTES, ANON), (RESIDENCY, FILE), (RESIDENCY, ANON)] {
        let (seconds, verdict) = wall(dir.path(), &matrix, device, arm);
        let limit = match (device, arm) {
            (RESIDENCY, ANON) => Some(ANON_LIMIT),
            (RESIDENCY, _) => Some(LOOP_LIMIT * bare),
            _ => None,
        };
        println!(
            "{device:20} {arm:14} {seconds:6.2} s  ratio {:.2}  {verdict}{}",
            seconds / bare,
            says(seconds, limit)
        );
        good &= limit.is_none_or(|limit| seconds <= limit);
    }
    let clock = Instant::now();
    run(dir.path(), &smoke, EXECUTES, None);
    let seconds = clock.elapsed().as_secs_f64();
    println!("smoke.toml, the whole command       {seconds:6.2} s{}", says(seconds, Some(SMOKE_LIMIT)));
    if good && seconds <= SMOKE_LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn says(seconds: f64, limit: Option<f64>) -> String {
    let yes = |limit: f64| if seconds <= limit { "yes" } else { "NO" };
    limit.map_or_else(String::new, |limit| format!("  at most {limit:.2} s: {}", yes(limit)))
}

/// Runs a matrix, or one arm of it; the records.
fn run(dir: &Path, matrix: &Path, device: &str, arm: Option<&str>) -> Vec<Value> {
    let results = tempfile::tempdir_in(dir).expect("a directory for results");
    let mut command = Command::new(TOOL);
    command.arg("run").arg(matrix).args(["--plain", "--device", device, "--results"]).arg(results.path());
    if let Some(arm) = arm {
        command.args(["--arm", arm]);
    }
    let out = command.output().expect("the tool starts");
    assert!(out.status.success(), "{}{}", text(&out.stdout), text(&out.stderr));
    let name = matrix.file_stem().expect("a file's name");
    let of_run = std::fs::read_dir(results.path().join(name)).expect("results").flatten().next();
    let lines =
        std::fs::read_to_string(of_run.expect("a run").path().join("runs.jsonl")).expect("runs.jsonl");
    lines.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn wall(dir: &Path, matrix: &Path, device: &str, arm: &str) -> (f64, String) {
    let records = run(dir, matrix, device, Some(arm));
    let record = records.first().expect("one run");
    let verdict = record["verdict"].as_str().unwrap_or_default().to_owned();
    (record["wall_seconds"].as_f64().expect("its time"), verdict)
}

/// The least that copying the arm's bytes takes on this machine.
fn bare_loop() -> Duration {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(&vec![1u8; 2 * BYTES]).expect("its bytes");
    let source = sys::source(&file).expect("a mapping");
    let memfd = nix::sys::memfd::memfd_create(c"bare", nix::sys::memfd::MFdFlags::empty()).expect("a memfd");
    let memfd = File::from(memfd);
    memfd.set_len(4 * BYTES as u64).expect("its size");
    let copy = |n: usize| {
        let mut to = sys::target(&memfd, (n % 4 * BYTES) as u64, BYTES).expect("a mapping");
        to.copy_from_slice(&source[..BYTES]);
    };
    // The pages are recycled ones from here on.
    (0..4).for_each(copy);
    let clock = Instant::now();
    (0..COPIES).for_each(copy);
    clock.elapsed()
}
