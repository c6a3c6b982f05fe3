//! Driver ranges: ">=23.39.27427, <27".

use std::fmt;
use std::str::FromStr;

/// A driver version as numbers; what is absent counts as 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(Vec<u64>);

impl Version {
    fn at(&self, i: usize) -> u64 {
        self.0.get(i).copied().unwrap_or(0)
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let places = self.0.len().max(other.0.len());
        (0..places)
            .map(|i| self.at(i).cmp(&other.at(i)))
            .find(|o| o.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no version: numbers with dots (26.18.38308.1)");
        let numbers: Result<Vec<u64>, _> = text.trim().split('.').map(str::parse).collect();
        numbers.map(Version).map_err(|_| wrong())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

/// Versions from (inclusive) to (exclusive); `None` = no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    pub from: Option<Version>,
    pub below: Option<Version>,
}

impl Range {
    /// An unknown version is in the range without ends only.
    pub fn holds(&self, version: Option<&Version>) -> bool {
        match version {
            Some(version) => {
                self.from.as_ref().is_none_or(|from| version >= from)
                    && self.below.as_ref().is_none_or(|below| version < below)
            }
            None => self.from.is_none() && self.below.is_none(),
        }
    }

    /// No version is in it.
    pub fn is_empty(&self) -> bool {
        matches!((&self.from, &self.below), (Some(from), Some(below)) if from >= below)
    }

    /// Every version of `other` is in this one too.
    pub fn covers(&self, other: &Range) -> bool {
        let from = match (&self.from, &other.from) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine <= theirs,
        };
        let below = match (&self.below, &other.below) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(theirs)) => mine >= theirs,
        };
        from && below
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut range = Range { from: None, below: None };
        if text.trim() == "*" {
            return Ok(range);
        }
        for part in text.split(',').map(str::trim) {
            let end = if let Some(version) = part.strip_prefix(">=") {
                (&mut range.from, version)
            } else if let Some(version) = part.strip_prefix('<').filter(|rest| !rest.starts_with('=')) {
                (&mut range.below, version)
            } else {
                return Err(format!(
                    "\"{part}\": a range is \"*\", \">=26.18\", \"<27\" or both with a comma between them"
                ));
            };
            if end.0.replace(end.1.parse()?).is_some() {
                return Err(format!("\"{text}\" says the same end twice"));
            }
        }
        Ok(range)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.below) {
            (None, None) => f.write_str("*"),
            (Some(from), None) => write!(f, ">={from}"),
            (None, Some(below)) => write!(f, "<{below}"),
            (Some(from), Some(below)) => write!(f, ">={from}, <{below}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        text.parse().unwrap()
    }

    fn holds(r: &str, v: &str) -> bool {
        range(r).holds(Some(&v.parse().unwrap()))
    }

    #[test]
    fn versions_are_numbers() {
        assert!(holds(">=23.39.27427, <27", "26.18.38308.1"));
        assert!(holds(">=26.9", "26.18"));
        assert!(!holds("<26.18", "26.18.0"));
        assert!(holds(">=26.18", "26.18"));
        assert!(!holds(">=26.18", "23.35.27191.42"));
        assert!(holds("*", "1") && range("*").holds(None) && !range(">=1").holds(None));
    }

    #[test]
    fn empty_and_covering_ranges_are_seen() {
        assert!(
            range(">=27, <26").is_empty()
                && range(">=26, <26.0").is_empty()
                && !range(">=26, <26.0.1").is_empty()
        );
        assert!(range(">=23").covers(&range(">=26, <27")) && !range("<27").covers(&range("<27.1")));
        assert_eq!(range(" >=26.18 ,<27").to_string(), ">=26.18, <27");
    }

    #[test]
    fn what_is_no_range_says_what_one_is() {
        for text in ["26", "<=26", ">=a", ">=26, >=27", ""] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }
}
