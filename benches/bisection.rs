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
        "rate  histories   rate known (wrong)   learned (wrong)   two-sided at 95 % (wrong)   at 99 % (wrong)"
    );
    for (rate, histories) in RATES {
        let ours = |rate_known| {
            calibrate(Plan { releases: RELEASES, rate, rate_known, error: ERROR, histories, seed: 1 })
        };
        let (known, learned) = (ours(true), ours(false));
        let [early, late] = two_sided::play(RELEASES, rate, [0.95, 0.99], histories);
        println!(
            "{:>3} % {histories:>10} {:>13.1} ({:>3}) {:>11.1} ({:>3}) {:>14.1} ± {:<4.1} ({:>3}) {:>10.1} ± {:<4.1} ({:>3})",
            rate * 100.0,
            known.mean_runs,
            known.wrong,
            learned.mean_runs,
            learned.wrong,
            early.mean_runs,
            early.error_of_mean,
            early.wrong,
            late.mean_runs,
            late.error_of_mean,
            late.wrong
        );
        let n = f64::from(histories);
        let most_wrong = ERROR * n + 3.0 * (ERROR * (1.0 - ERROR) * n).sqrt();
        holds &= known.mean_runs <= 0.5 * early.mean_runs;
        holds &= f64::from(known.wrong) <= most_wrong && f64::from(learned.wrong) <= most_wrong;
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
