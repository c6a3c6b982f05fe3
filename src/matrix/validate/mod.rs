//! Wire tables → [`Matrix`]: defaults filled in, names resolved, and what cannot work refused with its place.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::load::{Wire, shorten};
use super::problem::Problems;
use super::units::{At, Period};
use super::{Matrix, Problem, Settings};
use crate::model::arm::Observer;

mod cells;
mod command;
mod define;
mod refer;

use refer::Names;

/// Upper limits of a variant's numbers.
pub mod limits {
    pub use super::define::{LARGEST_BATCH, MOST_KERNELS, MOST_PADDING};
}

/// Name of the key set and of the workload that exist without being written, and of the usual driver.
pub const DEFAULT: &str = "default";
/// Runs of one arm.
const MOST_REPEATS: u32 = 10_000;
/// A day: a longer limit is a slip of the unit.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// What watches a run when nothing is said.
pub const USUAL_OBSERVERS: [Observer; 3] = [Observer::NeoLog, Observer::Sim, Observer::Maps];

/// Resolves a whole file. `None` if there is no name; with problems, what is returned is for finding more of them.
pub(super) fn validate(wire: Wire, text: &str, problems: &mut Problems<'_>) -> Option<Matrix> {
    let variants = define::variants(&wire.variants, problems);
    let sources = define::sources(&wire.sources, problems);
    let keys = define::keys(&wire.keys, problems);
    let workloads = define::workloads(&wire.workloads, problems);

    let names = Names::new(&wire, problems);
    let usual = names.usual(&wire.defaults, problems);
    let base = settings(
        &Settings {
            observers: USUAL_OBSERVERS.to_vec(),
            repeats: 1,
            timeout: Duration::from_secs(60),
            inactivity: None,
        },
        Overrides {
            observers: wire.defaults.observers.as_deref(),
            repeats: wire.defaults.repeats.as_ref(),
            timeout: wire.defaults.timeout.as_ref(),
            inactivity: wire.defaults.inactivity.as_ref(),
        },
        problems,
    );
    let products: Vec<_> = wire
        .products
        .iter()
        .enumerate()
        .filter_map(|(i, product)| names.product(i, product, &wire.defaults, &usual, &base, problems))
        .collect();
    let singles: Vec<_> = wire
        .arms
        .iter()
        .filter_map(|arm| names.single(arm, &wire.defaults, &usual, &base, problems))
        .collect();
    for product in &wire.damaged_products {
        names.mentioned_by_product(product.get(), problems);
    }
    for arm in &wire.damaged_arms {
        names.mentioned_by_arm(arm.get(), problems);
    }

    // Without a head the file was not even TOML, or its first lines are wrong: said already.
    let head = wire.head?;
    good_name(head.name.get(), head.name.span(), "the name of a matrix", problems);
    if !wire.has_arms {
        let problem = Problem::new(head.name.span(), "the matrix has no arm");
        problems.push(
            problem.help("add [[arm]] or [[product]] tables; `repro-matrix schema --example` shows both"),
        );
    }
    let matrix = Matrix {
        name: head.name.get().clone(),
        description: head.description.unwrap_or_default(),
        seed: head.seed.unwrap_or(0),
        variants,
        sources,
        keys,
        workloads,
        usual,
        products,
        singles,
        text: Arc::from(text),
    };
    if problems.is_empty() {
        cells::check(&matrix, &wire.sources, problems);
    }
    Some(matrix)
}

/// Settings as one table writes them.
struct Overrides<'w> {
    observers: Option<&'w [At<Observer>]>,
    repeats: Option<&'w At<u32>>,
    timeout: Option<&'w At<Period>>,
    inactivity: Option<&'w At<Period>>,
}

fn settings(base: &Settings, over: Overrides<'_>, problems: &mut Problems<'_>) -> Settings {
    let mut settings = base.clone();
    if let Some(observers) = over.observers {
        let mut seen = BTreeSet::new();
        for observer in observers {
            if !seen.insert(*observer.get()) {
                problems.push(Problem::new(observer.span(), "this observer is named twice"));
            }
        }
        settings.observers = observers.iter().map(|observer| *observer.get()).collect();
    }
    if let Some(repeats) = over.repeats {
        settings.repeats = good_repeats(repeats, problems);
    }
    if let Some(timeout) = over.timeout {
        settings.timeout = good_period(timeout, "timeout", problems);
    }
    if let Some(inactivity) = over.inactivity {
        settings.inactivity = Some(good_period(inactivity, "inactivity", problems));
    }
    settings
}

fn good_repeats(repeats: &At<u32>, problems: &mut Problems<'_>) -> u32 {
    let number = *repeats.get();
    if number == 0 || number > MOST_REPEATS {
        problems.push(Problem::new(repeats.span(), format!("repeats is 1 to {MOST_REPEATS}, not {number}")));
    }
    number
}

fn good_period(period: &At<Period>, what: &str, problems: &mut Problems<'_>) -> Duration {
    let time = period.get().0;
    if time.is_zero() || time > LONGEST {
        problems.push(Problem::new(period.span(), format!("{what} is more than nothing and at most a day")));
    }
    time
}

/// Names become parts of ids and of directory names.
fn good_name(name: &str, at: Range<usize>, what: &str, problems: &mut Problems<'_>) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.=+".contains(c);
    let fine = !name.is_empty()
        && name.len() <= 64
        && name.chars().all(good)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !fine {
        let problem = Problem::new(at, format!("\"{}\" cannot be {what}", shorten(name)));
        problems.push(problem.help(
            "letters, digits and -_.=+ (ASCII), a letter or digit first, at most 64: it becomes part of directory names",
        ));
    }
    fine
}

/// `auto`, `sim:PROFILE`, `pci:DDDD:BB:DD.F`. Whether such a card is here is the host's matter.
pub fn is_device(text: &str) -> bool {
    if text == "auto" {
        return true;
    }
    if let Some(profile) = text.strip_prefix("sim:") {
        return !profile.is_empty()
            && profile.len() <= 32
            && profile.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    }
    let Some(address) = text.strip_prefix("pci:") else { return false };
    let hex = |part: &str, digits: usize| part.len() == digits && part.chars().all(|c| c.is_ascii_hexdigit());
    let parts: Vec<&str> = address.split([':', '.']).collect();
    matches!(parts.as_slice(), [domain, bus, device, function]
        if hex(domain, 4) && hex(bus, 2) && hex(device, 2) && matches!(function.as_bytes(), [b'0'..=b'7']))
        && address.ends_with(|c: char| c.is_ascii_digit())
        && address.matches('.').count() == 1
        && address.rfind('.') > address.rfind(':')
}

#[cfg(test)]
mod tests {
    use super::is_device;

    #[test]
    fn device_forms() {
        for good in ["auto", "sim:a770", "sim:b580", "pci:0000:09:00.0"] {
            assert!(is_device(good), "{good}");
        }
        for bad in
            ["", "a770", "sim:", "sim:A770", "pci:09:00.0", "pci:0000:09:00:0", "pci:0000.09:00.0", "gpu0"]
        {
            assert!(!is_device(bad), "{bad}");
        }
    }
}
