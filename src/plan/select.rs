//! What the command line asks of a matrix: some arms only, another seed, another device.

use crate::matrix::problem::nearest;
use crate::model::arm::Arm;

/// Filters and overrides. Everything absent: the matrix as it is.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Arm ids: a substring, or a pattern if it has `*` or `?`. An arm that matches one of them is kept.
    pub arms: Vec<String>,
    /// Patterns of variant, source, key-set, workload names; as `arms`, but the whole name.
    pub variants: Vec<String>,
    pub sources: Vec<String>,
    pub keys: Vec<String>,
    pub workloads: Vec<String>,
    pub seed: Option<u64>,
    /// Stands in for `auto`; arms that name another device are left out.
    pub device: Option<String>,
    /// Stands in for the driver `default`; arms that name another driver keep it.
    pub driver: Option<String>,
    pub repeats: Option<u32>,
}

impl Selection {
    /// Keeps the arm, with the overrides put in, or says why not.
    pub fn apply(&self, arm: &mut Arm) -> Result<(), String> {
        if !self.arms.is_empty() && !self.arms.iter().any(|pattern| id_matches(pattern, &arm.id)) {
            return Err(format!("not selected by --arm {}", self.arms.join(" --arm ")));
        }
        for (flag, patterns, name) in [
            ("variant", &self.variants, &arm.variant.name),
            ("source", &self.sources, &arm.source.name),
            ("keys", &self.keys, &arm.keys.name),
            ("workload", &self.workloads, &arm.workload.name),
        ] {
            if !patterns.is_empty() && !patterns.iter().any(|pattern| glob(pattern, name)) {
                return Err(format!("not selected by --only-{flag} {}", patterns.join(" ")));
            }
        }
        if let Some(device) = &self.device {
            if arm.device == "auto" {
                arm.device = device.clone();
            } else if arm.device != *device {
                return Err(format!("it is for device {}, and --device says {device}", arm.device));
            }
        }
        if let Some(driver) = &self.driver
            && arm.driver == "default"
        {
            arm.driver = driver.clone();
        }
        if let Some(repeats) = self.repeats {
            arm.repeats = repeats.max(1);
        }
        Ok(())
    }

    /// The first `--arm` pattern that fits none of `ids` (all arms of the matrix), told with the nearest name. Beside a
    /// pattern that does fit, a misspelt one would go unseen, and its arms unrun.
    pub fn unmatched_arm(&self, ids: &[&str]) -> Option<String> {
        let pattern =
            self.arms.iter().find(|pattern| !ids.iter().any(|id| id_matches(pattern.as_str(), id)))?;
        let parts = ids.iter().flat_map(|id| id.split('/'));
        let near = nearest(pattern, ids.iter().copied()).or_else(|| nearest(pattern, parts));
        let hint = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
        Some(format!("--arm {pattern} fits no arm of the matrix{hint}"))
    }
}

/// A substring, or a pattern if it has `*` or `?`.
pub fn id_matches(pattern: &str, id: &str) -> bool {
    if pattern.contains(['*', '?']) { glob(pattern, id) } else { id.contains(pattern) }
}

/// `*` matches any text, slashes too; `?` one character.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on if the text after the last star turns out not to fit: linear memory, no recursion.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == '?' || Some(&c) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    retry = Some((after_star, from + 1));
                    p = after_star;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::{glob, id_matches};

    #[test]
    fn glob_stars_and_question_marks() {
        for (pattern, text, fits) in [
            ("over/*", "over/file-r", true),
            ("*/file-r", "over/file-r", true),
            ("*file*r", "over/file-rw/x/r", true),
            ("over", "over/file-r", false),
            ("b64-17?", "b64-174", true),
            ("b64-17?", "b64-17", false),
            ("*", "", true),
            ("", "", true),
            ("a*b*c", "aXbXbYc", true),
            ("a*b*c", "aXbXbY", false),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn arm_without_star_is_a_substring() {
        assert!(id_matches("file-r", "over/file-rw"));
        assert!(!id_matches("file-r*x", "over/file-rw"));
    }
}
