//! Delta debugging over a few parts: the smallest set of them that brings the failure along (Zeller and Hildebrandt 2002, for
//! sets that are small enough to be taken apart one by one).

use crate::probe::{Answer, Stop};

/// Why no set can be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// All parts together do not fail.
    NotReproduced(Answer),
    /// With none of them it fails already.
    FailsWithout(Answer),
    /// The set cannot be made smaller because some smaller ones cannot be tested.
    Untestable { smallest: Vec<usize> },
}

impl Unnamed {
    pub fn not_reproduced(&self) -> bool {
        matches!(self, Unnamed::NotReproduced(_))
    }
}

impl std::fmt::Display for Unnamed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unnamed::NotReproduced(answer) => write!(f, "with all of them the run is {}", answer.word()),
            Unnamed::FailsWithout(answer) => write!(f, "with none of them the run is {}", answer.word()),
            Unnamed::Untestable { smallest } => {
                write!(f, "no set smaller than {} of them can be tested", smallest.len())
            }
        }
    }
}

/// A set of `parts` that fails and of which no single part can be left out. `run` says what a set does.
pub fn minimise(
    parts: &[usize],
    run: &mut impl FnMut(&[usize]) -> Result<Answer, Stop>,
) -> Result<Result<Vec<usize>, Unnamed>, Stop> {
    match run(parts)? {
        Answer::Corrupt => {}
        other => return Ok(Err(Unnamed::NotReproduced(other))),
    }
    match run(&[])? {
        Answer::Clean => {}
        other => return Ok(Err(Unnamed::FailsWithout(other))),
    }
    // Most often one part does it.
    if parts.len() > 2 {
        for part in parts {
            if run(&[*part])? == Answer::Corrupt {
                return Ok(Ok(vec![*part]));
            }
        }
    }
    let mut set = parts.to_vec();
    let mut open = false;
    let mut at = 0;
    while let Some(part) = set.get(at).copied() {
        let without: Vec<usize> = set.iter().copied().filter(|other| *other != part).collect();
        if without.is_empty() {
            break;
        }
        match run(&without)? {
            Answer::Corrupt => {
                set = without;
                // What could not be left out before may be superfluous now.
                (at, open) = (0, false);
            }
            Answer::Clean => at += 1,
            Answer::Untestable => {
                open = true;
                at += 1;
            }
        }
    }
    Ok(if open { Err(Unnamed::Untestable { smallest: set }) } else { Ok(set) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimal(parts: &[usize], needs: &[usize]) -> Result<Vec<usize>, Unnamed> {
        let mut run = |set: &[usize]| {
            Ok(if needs.iter().all(|part| set.contains(part)) { Answer::Corrupt } else { Answer::Clean })
        };
        minimise(parts, &mut run).expect("no stop")
    }

    #[test]
    fn every_pair_and_single_part_is_found() {
        for a in 0..4 {
            assert_eq!(minimal(&[0, 1, 2, 3], &[a]), Ok(vec![a]));
            for b in a + 1..4 {
                assert_eq!(minimal(&[0, 1, 2, 3], &[a, b]), Ok(vec![a, b]));
            }
        }
        assert_eq!(minimal(&[2, 3], &[3]), Ok(vec![3]));
        assert_eq!(minimal(&[1], &[1]), Ok(vec![1]));
    }

    #[test]
    fn no_part_is_named_where_none_is_to_blame() {
        assert_eq!(minimal(&[0, 1], &[7]), Err(Unnamed::NotReproduced(Answer::Clean)));
        assert_eq!(minimal(&[0, 1], &[]), Err(Unnamed::FailsWithout(Answer::Corrupt)));
    }

    #[test]
    fn untestable_mixtures_leave_the_set_open() {
        // 0 cannot be tested without 1; the failure is 0's.
        let mut run = |set: &[usize]| {
            Ok(match (set.contains(&0), set.contains(&1)) {
                (true, true) => Answer::Corrupt,
                (true, false) => Answer::Untestable,
                (false, _) => Answer::Clean,
            })
        };
        let said = minimise(&[0, 1, 2], &mut run).expect("no stop");
        assert_eq!(said, Err(Unnamed::Untestable { smallest: vec![0, 1] }));
    }
}
