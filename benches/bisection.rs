//! Runs that a bisection over 32 releases takes, beside the two-sided baseline: the table of `docs/searches.md`.
//! `cargo bench --bench bisection`. The exit code says whether the asked error is kept at half of the baseline's runs.

#[path = "../tests/support/two_sided.rs"]
mod two_sided;

use std::process::ExitCode;

use repro_matrix::bisect::calibrate::{Plan, calibrate};

const RELEASES: usize = 32;
const ERROR: f64 = 0.01;
/// (rate, histories)
const RATES: [(f64, u32); 5] = [(0.5, 2000), (0.2, 1000), (0.05, 500), (0.02, 300), (0.01, 300)];

fn main() -> ExitCode {
    let mut holds = true;
    println!(
        "Mean runs (wrong answers). rate, histories; rate stated, learned, stated with checks; two-sided at 95 %, at 99 %"
    );
    for (rate, histories) in RATES {
        let ours = |rate_known, checks| {
            calibrate(Plan { releases: RELEASES, rate, rate_known, checks, error: ERROR, histories, seed: 1 })
        };
        let (known, learned, whole) = (ours(true, false), ours(false, false), ours(true, true));
        let [early, late] = two_sided::play(RELEASES, rate, [0.95, 0.99], histories);
        print!("{:>3} % {histories:>10}", rate * 100.0);
        for played in [known, learned, whole] {
            print!(" {:>12.1} ({:>3})", played.mean_runs, played.wrong);
        }
        for played in [early, late] {
            print!(" {:>12.1} ± {:<4.1} ({:>3})", played.mean_runs, played.error_of_mean, played.wrong);
        }
        println!("   {} not reproduced", whole.unnamed);
        let n = f64::from(histories);
        let most_wrong = ERROR * n + 3.0 * (ERROR * (1.0 - ERROR) * n).sqrt();
        holds &= known.mean_runs <= 0.5 * early.mean_runs;
        holds &= [known, learned, whole].iter().all(|played| f64::from(played.wrong) <= most_wrong);
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
