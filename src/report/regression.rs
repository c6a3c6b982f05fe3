//! Arms that differ in the driver build alone: the last good and the first bad one.

use std::collections::BTreeMap;

use super::aggregate::ArmSummary;
use super::axes;
use super::section::Report;

/// Good and bad builds of the same experiment, by version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regression {
    /// The arm's id with the first build that was looked at.
    pub arm: String,
    /// Newest build that is clean and older than every bad one.
    pub last_good: Option<String>,
    /// Oldest build that is not clean.
    pub first_bad: String,
    /// Builds newer than the first bad one that are clean again.
    pub fixed: Vec<String>,
}

/// Builds of one experiment by version: (arm, version as written, faulty).
type Builds = BTreeMap<Vec<u64>, (String, String, bool)>;

/// "26.27.39122.14" as numbers, so that 26.9 comes before 26.18.
fn ordered(version: &str) -> Vec<u64> {
    version.split(['.', '-', '~', '+']).map_while(|part| part.parse().ok()).collect()
}

/// NEO's version of the driver line ("NEO 26.27.39122.14 · IGC …").
pub fn neo_version(versions: &str) -> Option<&str> {
    versions.split(" · ").find_map(|part| part.trim().strip_prefix("NEO ")).map(str::trim)
}

/// Experiments that were run under at least two driver builds, with at least one bad result.
pub fn regressions(report: &Report) -> Vec<Regression> {
    // Experiment without its driver → version → (arm, bad).
    let mut experiments: BTreeMap<String, Builds> = BTreeMap::new();
    for section in &report.sections {
        for (arm, summary) in section.arms.iter().zip(&section.summaries).filter(|(_, s)| told(s)) {
            let Some(driver) = section.drivers.get(&arm.driver) else { continue };
            let Some(version) = neo_version(&driver.versions) else { continue };
            let mut point = axes::point(arm);
            point.remove("driver");
            let experiment = format!("{} {} {point:?}", section.key.matrix, section.key.device);
            let bad = summary.verdict.word != "clean";
            let entry = experiments
                .entry(experiment)
                .or_default()
                .entry(ordered(version))
                .or_insert_with(|| (arm.id.clone(), version.to_owned(), bad));
            // The same build on two machines: one bad result is bad.
            entry.2 |= bad;
        }
    }
    experiments
        .into_values()
        .filter(|builds| builds.len() > 1)
        .filter_map(|builds| {
            let bad_at = builds.values().position(|(_, _, bad)| *bad)?;
            let list: Vec<&(String, String, bool)> = builds.values().collect();
            let (before, from) = list.split_at_checked(bad_at)?;
            let (arm, first_bad, _) = from.first()?;
            Some(Regression {
                arm: arm.clone(),
                last_good: before.last().map(|(_, version, _)| version.clone()),
                first_bad: first_bad.clone(),
                fixed: from
                    .iter()
                    .filter(|(_, _, bad)| !bad)
                    .map(|(_, version, _)| version.clone())
                    .collect(),
            })
        })
        .collect()
}

/// Clean, or bad in a way that speaks of the driver.
fn told(summary: &ArmSummary) -> bool {
    summary.conclusive() && summary.verdict.word != "build-failed"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_not_text() {
        assert!(ordered("26.9.1") < ordered("26.18.38308.1"));
        assert_eq!(neo_version("NEO 26.27.39122.14 · IGC 2.40.14"), Some("26.27.39122.14"));
        assert_eq!(neo_version("none"), None);
    }
}
