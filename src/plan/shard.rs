//! A part of a plan: which arms one of several machines runs. Depends on ids alone, so that every machine cuts alike,
//! whatever it can run itself. Arms of one comparison stay together.

use std::fmt;
use std::str::FromStr;

use super::{Cell, Plan};
use crate::model::arm::Arm;

/// "2/4": the second of four parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    pub of: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is no shard: M/N with 1 ≤ M ≤ N (2/4)");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard =
            Shard { index: index.parse().map_err(|_| wrong())?, of: of.parse().map_err(|_| wrong())? };
        if (1..=shard.of).contains(&shard.index) { Ok(shard) } else { Err(wrong()) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// What must stay together: a comparison, or an arm outside any.
pub fn group(arm: &Arm) -> String {
    match &arm.comparison {
        Some(name) => format!("comparison {name}"),
        None => format!("arm {}", arm.id),
    }
}

/// Shard of `of` (from 1) that a group falls to.
pub fn shard_of(group: &str, of: u32) -> u32 {
    let hash = crate::driver::sha256(format!("repro-matrix shard {group}").as_bytes());
    let number = hash.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
    (number % u64::from(of.max(1))) as u32 + 1
}

impl Shard {
    pub fn holds(&self, arm: &Arm) -> bool {
        shard_of(&group(arm), self.of) == self.index
    }

    /// The part of `plan`; the order of what stays is that of the whole.
    pub fn cut(&self, plan: &Plan) -> Plan {
        let kept: Vec<usize> = plan
            .arms
            .iter()
            .enumerate()
            .filter_map(|(index, arm)| self.holds(arm).then_some(index))
            .collect();
        let cells = plan
            .cells
            .iter()
            .filter_map(|cell| Some(Cell { arm: kept.binary_search(&cell.arm).ok()?, repeat: cell.repeat }))
            .collect();
        Plan {
            arms: kept.iter().filter_map(|index| plan.arms.get(*index).cloned()).collect(),
            cells,
            ..plan.clone()
        }
    }
}
