//! Exhaustive single faults: which requests to let fail and how, and what the failures amount to. Pure.

pub mod errnos;
pub mod group;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use errnos::{POINTS, Point};
pub use group::{Group, Seen, groups};

/// One fault of one run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    /// Name of the point in a fault rule ("vm_bind").
    pub point: String,
    pub errno: String,
    /// The N-th request at that point fails, from 1.
    pub nth: u64,
}

impl Fault {
    /// As the simulated device reads it: `vm_bind:ENOMEM@17`.
    pub fn rule(&self) -> String {
        format!("{}:{}@{}", self.point, self.errno, self.nth)
    }
}

/// Every fault of a run that made `counts` requests a point (by the point's name), the points and errnos named only
/// (empty: all). Ordered so that any beginning of the list is spread over the whole run.
pub fn plan(counts: &BTreeMap<String, u64>, points: &[String], errnos: &[String]) -> Vec<Fault> {
    let chosen = |list: &[String], name: &str| list.is_empty() || list.iter().any(|n| n == name);
    let mut faults = Vec::new();
    for point in POINTS.iter().filter(|point| chosen(points, point.name)) {
        let count = counts.get(point.name).copied().unwrap_or(0);
        for errno in point.errnos.iter().filter(|errno| chosen(errnos, errno)) {
            faults.extend((1..=count).map(|nth| Fault {
                point: point.name.to_owned(),
                errno: (*errno).to_owned(),
                nth,
            }));
        }
    }
    // Bit-reversed order: halves, then quarters…
    let bits = usize::BITS - faults.len().leading_zeros();
    let mut order: Vec<usize> = (0..1_usize << bits)
        .map(|i| i.reverse_bits() >> (usize::BITS - bits).min(usize::BITS - 1))
        .filter(|i| *i < faults.len())
        .collect();
    if faults.len() < 2 {
        order = (0..faults.len()).collect();
    }
    order.into_iter().filter_map(|i| faults.get(i).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> BTreeMap<String, u64> {
        [("vm_bind", 7_u64), ("exec", 3)].into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
    }

    #[test]
    fn every_fault_is_planned_once() {
        let faults = plan(&counts(), &[], &[]);
        let want: usize = POINTS
            .iter()
            .map(|point| point.errnos.len() * counts().get(point.name).copied().unwrap_or(0) as usize)
            .sum();
        let distinct: std::collections::BTreeSet<&Fault> = faults.iter().collect();
        assert_eq!((faults.len(), distinct.len()), (want, want));
        let rules: Vec<String> = faults.iter().map(Fault::rule).collect();
        assert!(xe_sim::fault::FaultPlan::parse(&rules).is_ok(), "the device reads them all");
    }

    #[test]
    fn a_beginning_is_spread_over_the_run() {
        let counts = BTreeMap::from([("vm_bind".to_owned(), 100)]);
        let faults = plan(&counts, &["vm_bind".into()], &["ENOMEM".into()]);
        assert_eq!(faults.len(), 100);
        let first: Vec<u64> = faults.iter().take(8).map(|fault| fault.nth).collect();
        for quarter in 0..4 {
            assert!(first.iter().any(|n| (n - 1) / 25 == quarter), "{first:?}");
        }
    }

    #[test]
    fn nothing_to_break_is_no_fault() {
        assert!(plan(&BTreeMap::new(), &[], &[]).is_empty());
        assert_eq!(plan(&BTreeMap::from([("exec".to_owned(), 1)]), &[], &["EINTR".into()]).len(), 1);
    }
}
