//! Many kernels in modules of a few, on all processors; what differs is reduced and written down.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use super::batch::{Batch, WIDTHS};
use super::gen_core::Gen;
use super::kernel::Case;
use super::reduce::reduce;
use crate::eu_support::zebin::LEGACY_DATA_PORTS;

/// Kernels of a module. Compilers take more than twice as long for twice as many.
const IN_MODULE: u64 = 10;
/// Every so many modules one that the device's compiler does not optimise: other instructions.
const UNOPTIMISED: u64 = 5;
/// Of those the one whose memory accesses go through the legacy data ports.
const LEGACY: u64 = 1;
/// And the one in which it makes `if`, `else`, `endif` and `while` of what it can, not `goto` and `join`.
const STRUCTURED: u64 = 2;
pub const STRUCTURED_OPTIONS: &str = "-Xfinalizer -enableStructurizer";
/// What IGC says of a fault of its own, not of the source.
const CRASHED: &str = "internal compiler error";

/// What a hunt came to.
#[derive(Debug, Default)]
pub struct Tally {
    /// Kernels compared at all widths.
    pub compared: usize,
    pub work_items: usize,
    pub instructions: u64,
    /// Seeds that the reference does not build or crashes on, or that the device's compiler crashes on: there is nothing to
    /// compare, and nothing is said of the model.
    pub untested: Vec<(u64, String)>,
    /// Seed, width, and what differs.
    pub failures: Vec<Failure>,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub simd: u32,
    pub options: String,
    pub found: Vec<String>,
}

/// Compares the kernels of `count` seeds from `first` on.
pub fn hunt(first: u64, count: u64) -> Tally {
    let starts: VecDeque<u64> = (first..first + count).step_by(IN_MODULE as usize).collect();
    let (queue, tally) = (Mutex::new(starts), Mutex::new(Tally::default()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(start) = queue.lock().expect("no worker panicked").pop_front() else { break };
                    let seeds: Vec<u64> = (start..(start + IN_MODULE).min(first + count)).collect();
                    module(&seeds, options(start / IN_MODULE), &tally);
                }
            });
        }
    });
    tally.into_inner().expect("no worker panicked")
}

fn options(module: u64) -> &'static str {
    match module % UNOPTIMISED {
        LEGACY => LEGACY_DATA_PORTS,
        STRUCTURED => STRUCTURED_OPTIONS,
        last if last == UNOPTIMISED - 1 => "-cl-opt-disable",
        _ => "",
    }
}

/// One module; where it fails as a whole, its kernels one by one.
fn module(seeds: &[u64], options: &str, tally: &Mutex<Tally>) {
    let mut batch = Batch { options: options.into(), ..Batch::default() };
    for seed in seeds {
        let kernel = Gen::kernel(*seed);
        let name = format!("k{seed}");
        batch.kernels.push((kernel.source(&name), kernel.case(&name)));
    }
    let each = || seeds.iter().for_each(|seed| module(&[*seed], options, tally));
    let theirs = match batch.reference() {
        Ok(theirs) => theirs,
        Err(_) if seeds.len() > 1 => return each(),
        Err(error) => {
            tally.lock().expect("no worker panicked").untested.push((seeds[0], error));
            return;
        }
    };
    let (mut outcomes, mut crashed) = (Vec::new(), None);
    for simd in WIDTHS {
        match batch.compare(simd, &theirs) {
            Ok(some) => outcomes.extend(some),
            Err(_) if seeds.len() > 1 => return each(),
            Err(error) if error.contains(CRASHED) => crashed = Some(error),
            Err(error) => {
                println!("seed {} at SIMD {simd} {options}: {error}", seeds[0]);
                let failure = Failure { seed: seeds[0], simd, options: options.into(), found: vec![error] };
                tally.lock().expect("no worker panicked").failures.push(failure);
                return;
            }
        }
    }
    let mut tally = tally.lock().expect("no worker panicked");
    match crashed {
        // What differs at a width that it did compile differs all the same.
        Some(error) => tally.untested.push((seeds[0], error)),
        None => {
            tally.compared += seeds.len();
            if tally.compared % 100 < seeds.len() {
                println!("{} kernels compared, {} failures", tally.compared, tally.failures.len());
            }
        }
    }
    tally.work_items += batch.kernels.iter().map(|(_, case)| case.items()).sum::<usize>();
    for outcome in outcomes {
        tally.instructions += outcome.stats.instructions;
        if !outcome.found.is_empty() {
            let (seed, simd) = (outcome.case.seed, outcome.simd);
            println!("seed {seed} at SIMD {simd}: {:?}", outcome.found);
            tally.failures.push(Failure { seed, simd, options: options.into(), found: outcome.found });
        }
    }
}

impl Tally {
    /// One line.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} kernels compared at SIMD 8, 16 and 32 ({} work-items each, {} instructions in all): {} differ",
            self.compared,
            self.work_items,
            self.instructions,
            self.failures.len()
        );
        if !self.untested.is_empty() {
            let _ = write!(text, "; {} more that a compiler crashes on", self.untested.len());
        }
        text
    }

    /// Reduces the first of the failures in at most `rounds` modules; returns the text to keep as a regression case
    /// and the file it was written to.
    pub fn explain(&self, rounds: usize) -> Option<(String, PathBuf)> {
        let failure = self.failures.first()?;
        let (kernel, found) = reduce(&Gen::kernel(failure.seed), failure.simd, &failure.options, rounds);
        let name = format!("seed{}", failure.seed);
        let mut text = format!("// {}\n", case_line(&kernel.case(&name)));
        let found = if found.is_empty() { &failure.found } else { &found };
        for line in found.iter().flat_map(|found| found.lines()) {
            let _ = writeln!(text, "// SIMD {}{}: {line}", failure.simd, failure.options);
        }
        text.push_str(&kernel.source(&name));
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("eu_differential");
        fs::create_dir_all(&dir).expect("a directory");
        let path = dir.join(format!("{name}.cl"));
        fs::write(&path, &text).expect("the reduced kernel");
        Some((text, path))
    }
}

fn case_line(case: &Case) -> String {
    serde_json::to_string(case).expect("JSON")
}

/// A kernel of the regression corpus: its launch is in its first line.
pub fn read_case(text: &str) -> Case {
    let line = text.lines().next().and_then(|line| line.strip_prefix("// "));
    serde_json::from_str(line.expect("a first line with the launch")).expect("the launch as JSON")
}
